// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/aead_protection.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lib/base/assert.hpp"
#include "lib/crypto/aead.hpp"
#include "lib/crypto/key_schedule.hpp"

namespace longhaul::crypto {
namespace {

constexpr std::size_t kBatch = 32;
constexpr std::uint8_t kPhaseMask = 3;
constexpr std::uint64_t kAesForgeriesMax = std::uint64_t{1} << 52;
constexpr std::uint64_t kChaChaForgeriesMax = std::uint64_t{1} << 36;

std::uint8_t phase_of(std::byte first) noexcept {
  return std::to_integer<std::uint8_t>(first) >> 2 & kPhaseMask;
}

/// A key as packets need it. Made once, given another secret's key later on.
class KeySlot {
 public:
  KeySlot(PacketCipher cipher, AeadEngine engine)
      : cipher_(cipher), aead_(make_aead(cipher, engine)) {
    LONGHAUL_ASSERT(aead_ != nullptr);
  }
  void set(const Secret& secret) {
    PacketKey key;
    derive(secret, cipher_, key);
    aead_->set_key(key.key());
    iv_ = key.iv;
  }
  /// IV xor (0 u16 ‖ space u16 ‖ packet number u64).
  Aead::Nonce nonce(std::uint16_t space, std::uint64_t packet_number) const noexcept {
    Aead::Nonce nonce = iv_;
    nonce[2] ^= static_cast<std::byte>(space >> 8);
    nonce[3] ^= static_cast<std::byte>(space);
    for (std::size_t i = 0; i < 8; ++i) {
      nonce[4 + i] ^= static_cast<std::byte>(packet_number >> (56 - 8 * i));
    }
    return nonce;
  }
  Aead& aead() noexcept { return *aead_; }

 private:
  PacketCipher cipher_;
  std::unique_ptr<Aead> aead_;
  Aead::Nonce iv_{};
};

}  // namespace

class AeadProtection::Impl {
 public:
  Impl(const TrafficSecrets& secrets, const AeadLimits& limits, AeadEngine engine)
      : limits_(limits),
        send_secret_(secrets.send),
        send_(secrets.cipher, engine),
        receive_{KeySlot(secrets.cipher, engine), KeySlot(secrets.cipher, engine),
                 KeySlot(secrets.cipher, engine)},
        next_secret_(next_secret(secrets.receive)) {
    if (limits_.forgeries_max == 0) {
      limits_.forgeries_max =
          secrets.cipher == PacketCipher::aes_128_gcm ? kAesForgeriesMax : kChaChaForgeriesMax;
    }
    send_.set(send_secret_);
    receive_[kPresent].set(secrets.receive);
    receive_[kNext].set(next_secret_);
  }

  void seal(std::span<const SealJob> burst);
  void open(std::span<OpenJob> burst);
  void on_acked(Timestamp now, std::uint8_t phase, Duration rtt);
  bool exhausted() const noexcept {
    return forgeries_ >= limits_.forgeries_max || sealed_ / 2 >= limits_.packets_per_key;
  }
  std::uint8_t send_phase() const noexcept { return send_phase_ & kPhaseMask; }
  std::uint64_t key_updates() const noexcept { return send_phase_ + receive_phase_; }

 private:
  // Places in receive_.
  static constexpr std::size_t kPrevious = 0;
  static constexpr std::size_t kPresent = 1;
  static constexpr std::size_t kNext = 2;

  Aead::Sealing sealing_of(const SealJob& job);
  void open_with(std::size_t slot, std::span<OpenJob> jobs);
  std::optional<std::size_t> slot_of(const OpenJob& job) const noexcept;
  void turn_receive_keys();

  AeadLimits limits_;
  Secret send_secret_;
  KeySlot send_;
  std::uint64_t send_phase_ = 0;  // counts on; packets carry its low bits
  std::uint64_t sealed_ = 0;      // with the present key
  bool acked_ = false;            // one of those
  std::optional<Timestamp> phase_began_;

  std::array<KeySlot, 3> receive_;
  Secret next_secret_;  // the one of receive_[kNext]
  std::uint64_t receive_phase_ = 0;
  std::uint64_t forgeries_ = 0;
};

Aead::Sealing AeadProtection::Impl::sealing_of(const SealJob& job) {
  base::TxDatagram& datagram = *job.datagram;
  const std::size_t text_begin = job.header_bytes + Aead::kTagBytes;
  const bool fits = datagram.head_size >= text_begin &&
                    datagram.head.size() - datagram.head_size >= datagram.payload.size();
  LONGHAUL_ASSERT(fits);
  // Then the packet goes on without content: nothing may leave unencrypted.
  if (!fits) {
    datagram.head_size = text_begin;
    datagram.payload = {};
  }
  Aead::Sealing sealing;
  sealing.nonce = send_.nonce(job.space, job.packet_number);
  sealing.associated_data = datagram.head.first(job.header_bytes);
  sealing.tag = datagram.head.subspan(job.header_bytes, Aead::kTagBytes);
  sealing.text = datagram.head.first(datagram.head_size).subspan(text_begin);
  sealing.more = datagram.payload;
  datagram.head_size += datagram.payload.size();
  datagram.payload = {};
  return sealing;
}

void AeadProtection::Impl::seal(std::span<const SealJob> burst) {
  sealed_ += burst.size();
  while (!burst.empty()) {
    std::array<Aead::Sealing, kBatch> batch;
    const std::size_t count = std::min(burst.size(), batch.size());
    std::ranges::transform(burst.first(count), batch.begin(),
                           [this](const SealJob& job) { return sealing_of(job); });
    send_.aead().seal(std::span(batch).first(count));
    burst = burst.subspan(count);
  }
}

std::optional<std::size_t> AeadProtection::Impl::slot_of(const OpenJob& job) const noexcept {
  const base::RxDatagram& datagram = *job.datagram;
  if (datagram.damaged || datagram.data.size() < job.header_bytes + Aead::kTagBytes) {
    return std::nullopt;
  }
  const auto ahead =
      static_cast<std::uint8_t>(phase_of(datagram.data[0]) - receive_phase_) & kPhaseMask;
  if (ahead == 0) return kPresent;
  if (ahead == 1) return kNext;
  if (ahead == kPhaseMask && receive_phase_ > 0) return kPrevious;
  return std::nullopt;
}

/// All of `jobs` belong to that key.
void AeadProtection::Impl::open_with(std::size_t slot, std::span<OpenJob> jobs) {
  std::array<Aead::Opening, kBatch> batch;
  KeySlot& key = receive_[slot];
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto data = jobs[i].datagram->data;
    Aead::Opening& opening = batch[i];
    opening.nonce = key.nonce(jobs[i].space, jobs[i].packet_number);
    opening.associated_data = data.first(jobs[i].header_bytes);
    opening.tag = data.subspan(jobs[i].header_bytes, Aead::kTagBytes);
    opening.text = data.subspan(jobs[i].header_bytes + Aead::kTagBytes);
  }
  key.aead().open(std::span(batch).first(jobs.size()));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].ok = batch[i].ok;
    if (!batch[i].ok) ++forgeries_;
  }
}

void AeadProtection::Impl::open(std::span<OpenJob> burst) {
  while (!burst.empty()) {
    const std::optional<std::size_t> slot = slot_of(burst.front());
    if (!slot) {
      burst.front().ok = false;
      burst = burst.subspan(1);
      continue;
    }
    // Which key the packets behind one of the next phase need is known only when it was opened.
    const std::size_t limit = slot == kNext ? 1 : std::min(kBatch, burst.size());
    std::size_t count = 1;
    while (count < limit && slot_of(burst[count]) == slot) ++count;
    open_with(*slot, burst.first(count));
    if (slot == kNext && burst.front().ok) turn_receive_keys();
    burst = burst.subspan(count);
  }
}

void AeadProtection::Impl::turn_receive_keys() {
  ++receive_phase_;
  // What was previous becomes next, and its key is gone with that.
  std::ranges::rotate(receive_, receive_.begin() + kPresent);
  next_secret_ = next_secret(next_secret_);
  receive_[kNext].set(next_secret_);
}

void AeadProtection::Impl::on_acked(Timestamp now, std::uint8_t phase, Duration rtt) {
  if ((phase & kPhaseMask) == send_phase()) acked_ = true;
  if (!acked_ || sealed_ < limits_.packets_per_key) return;
  if (phase_began_ && now - *phase_began_ < rtt) return;
  send_secret_ = next_secret(send_secret_);
  send_.set(send_secret_);
  ++send_phase_;
  sealed_ = 0;
  acked_ = false;
  phase_began_ = now;
}

AeadProtection::AeadProtection(const TrafficSecrets& secrets, const AeadLimits& limits,
                               AeadEngine engine)
    : impl_(std::make_unique<Impl>(secrets, limits, engine)) {}
AeadProtection::~AeadProtection() = default;

std::size_t AeadProtection::overhead() const {
  return Aead::kTagBytes;
}

void AeadProtection::seal(std::span<const SealJob> burst) {
  impl_->seal(burst);
}

void AeadProtection::open(std::span<OpenJob> burst) {
  impl_->open(burst);
}

std::uint8_t AeadProtection::key_phase() const {
  return impl_->send_phase();
}

void AeadProtection::on_acked(Timestamp now, std::uint8_t key_phase, Duration rtt) {
  impl_->on_acked(now, key_phase, rtt);
}

bool AeadProtection::exhausted() const {
  return impl_->exhausted();
}

std::uint64_t AeadProtection::key_updates() const {
  return impl_->key_updates();
}

}  // namespace longhaul::crypto
