// SPDX-License-Identifier: Apache-2.0
// What protecting a packet costs by CRC and by AEAD, and what a handshake costs both ends.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/crypto/aead_protection.hpp"
#include "lib/crypto/crc_protection.hpp"
#include "lib/crypto/credentials.hpp"
#include "lib/crypto/tls_session.hpp"
#include "lib/wire/packet.hpp"
#include "tests/support/certificates.hpp"

namespace {

using namespace longhaul;
using crypto::AeadEngine;
using crypto::PacketCipher;

constexpr std::size_t kBurst = 32;
constexpr std::size_t kTensor = std::size_t{256} << 20;  // more than any cache

struct Choice {
  std::string_view name;
  PacketCipher cipher;
  AeadEngine engine;
};
constexpr std::array kChoices{
    Choice{"crc", PacketCipher::aes_128_gcm, AeadEngine::fastest},
    Choice{"aes ipsec_mb", PacketCipher::aes_128_gcm, AeadEngine::ipsec_mb},
    Choice{"aes openssl", PacketCipher::aes_128_gcm, AeadEngine::openssl},
    Choice{"chacha openssl", PacketCipher::chacha20_poly1305, AeadEngine::openssl},
};

std::unique_ptr<crypto::PacketProtection> make(std::size_t choice) {
  const Choice& made = kChoices[choice];
  if (choice == 0) return std::make_unique<crypto::CrcProtection>(base::PayloadMode::bytes);
  if (crypto::make_aead(made.cipher, made.engine) == nullptr) return nullptr;
  crypto::TrafficSecrets secrets;
  secrets.cipher = made.cipher;
  const crypto::AeadLimits limits{~std::uint64_t{0}, ~std::uint64_t{0}};
  return std::make_unique<crypto::AeadProtection>(secrets, limits, made.engine);
}

/// Slots of a burst, with headers in them.
class Slots {
 public:
  explicit Slots(std::size_t chunk) : size_(chunk + 64), memory_(kBurst * size_) {
    wire::ShortHeader header;
    header.type = wire::PacketType::source;
    for (std::size_t i = 0; i < kBurst; ++i) wire::write_short_header(header, slot(i));
  }
  std::span<std::byte> slot(std::size_t i) { return std::span(memory_).subspan(i * size_, size_); }

 private:
  std::size_t size_;
  std::vector<std::byte> memory_;
};

void report(benchmark::State& state, std::size_t chunk) {
  state.SetLabel(std::string(kChoices[static_cast<std::size_t>(state.range(0))].name));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBurst * chunk));
}

// Bursts of chunks of a tensor that is in no cache. An AEAD copies them into the packets on the
// way; CRC only reads them.
void seal(benchmark::State& state) {
  const auto chunk = static_cast<std::size_t>(state.range(1));
  const auto protection = make(static_cast<std::size_t>(state.range(0)));
  if (protection == nullptr) return state.SkipWithError("not on this machine");
  const std::vector<std::byte> tensor(kTensor, std::byte{7});
  Slots slots(chunk);
  std::array<base::TxDatagram, kBurst> datagrams;
  std::array<crypto::SealJob, kBurst> jobs;
  std::size_t offset = 0;
  std::uint64_t number = 0;
  for (auto _ : state) {
    if (offset + kBurst * chunk > kTensor) offset = 0;
    for (std::size_t i = 0; i < kBurst; ++i) {
      datagrams[i].head = slots.slot(i);
      datagrams[i].head_size = wire::kSourceHeaderBytes + protection->overhead();
      datagrams[i].payload = std::span(tensor).subspan(offset, chunk);
      jobs[i] = {&datagrams[i], wire::kSourceHeaderBytes, 3, number++};
      offset += chunk;
    }
    protection->seal(jobs);
    benchmark::ClobberMemory();
  }
  report(state, chunk);
}
BENCHMARK(seal)->ArgsProduct({{0, 1, 2, 3}, {1444, 8944}});

// Bursts that lie in the cache, as they do when the kernel has just copied them there. After the
// first time the tags are wrong, which costs the same.
void open(benchmark::State& state) {
  const auto chunk = static_cast<std::size_t>(state.range(1));
  const auto protection = make(static_cast<std::size_t>(state.range(0)));
  if (protection == nullptr) return state.SkipWithError("not on this machine");
  Slots slots(chunk);
  std::array<base::RxDatagram, kBurst> datagrams;
  std::array<crypto::OpenJob, kBurst> jobs;
  for (std::size_t i = 0; i < kBurst; ++i) {
    datagrams[i].data =
        slots.slot(i).first(wire::kSourceHeaderBytes + protection->overhead() + chunk);
    jobs[i] = {&datagrams[i], wire::kSourceHeaderBytes, 3, i, false};
  }
  for (auto _ : state) {
    protection->open(jobs);
    benchmark::ClobberMemory();
  }
  report(state, chunk);
}
BENCHMARK(open)->ArgsProduct({{0, 1, 2, 3}, {1444, 8944}});

/// A whole handshake in memory, both ends, tickets included.
bool shake_hands(crypto::Credentials& client, crypto::Credentials& server, std::string_view peer) {
  crypto::TlsSession one(client, crypto::TlsRole::client, {}, peer);
  crypto::TlsSession other(server, crypto::TlsRole::server, {}, {});
  std::vector<std::byte> flight;
  one.receive({});
  for (int i = 0; i < 4; ++i) {
    flight.clear();
    (i % 2 == 0 ? one : other).take_output(flight);
    (i % 2 == 0 ? other : one).receive(flight);
  }
  benchmark::DoNotOptimize(one.secrets());
  benchmark::DoNotOptimize(other.secrets());
  return one.finished() && other.finished();
}

void repeat(benchmark::State& state, crypto::Credentials& both, std::string_view peer) {
  bool good = true;
  for (auto _ : state) good = good && shake_hands(both, both, peer);
  if (!good) state.SkipWithError("a handshake failed");
}

void handshake_psk(benchmark::State& state) {
  const auto credentials =
      crypto::Credentials::from_psk(crypto::PskKey::generate("bench").value()).value();
  repeat(state, *credentials, {});
}
BENCHMARK(handshake_psk)->Unit(benchmark::kMillisecond);

void handshake_certificates(benchmark::State& state) {
  constexpr std::array kKeys{tests::KeyType::p256, tests::KeyType::ed25519,
                             tests::KeyType::rsa2048};
  constexpr std::array<const char*, 3> kNames{"p256", "ed25519", "rsa2048"};
  const auto which = static_cast<std::size_t>(state.range(0));
  const tests::Authority authority;
  const tests::Certified own = authority.issue({.key = kKeys[which]});
  const auto credentials =
      crypto::Credentials::from_certificates(
          {own.certificate_pem, own.private_key_pem, authority.certificate_pem(), "", {}})
          .value();
  repeat(state, *credentials, state.range(1) == 0 ? "" : "peer");
  state.SetLabel(std::string(kNames[which]) + (state.range(1) == 0 ? "" : ", resumed"));
}
BENCHMARK(handshake_certificates)->ArgsProduct({{0, 1, 2}, {0, 1}})->Unit(benchmark::kMillisecond);

void make_protection(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make(static_cast<std::size_t>(state.range(0))));
  state.SetLabel(std::string(kChoices[static_cast<std::size_t>(state.range(0))].name));
}
BENCHMARK(make_protection)->DenseRange(1, 3)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
