// SPDX-License-Identifier: Apache-2.0
#include "perf/sim_completion/cell.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "lib/api/simulation.hpp"
#include "longhaul/longhaul.hpp"

namespace longhaul::perf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kFramingBytes = 38;
constexpr std::uint32_t kIpUdpBytes = 28;
constexpr std::uint64_t kHeadersOfFormula = 56;
constexpr std::uint16_t kPort = 5201;
constexpr std::uint64_t kSendCookie = 1;
constexpr std::uint64_t kReceiveCookie = 2;
// A transfer that takes longer than this many T* is reported as an error, not waited for.
constexpr int kPatience = 1000;

// Address space for a tensor whose bytes nobody reads or writes.
class Untouched {
 public:
  explicit Untouched(std::uint64_t bytes)
      : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        bytes_(bytes) {}
  ~Untouched() {
    if (valid()) ::munmap(data_, bytes_);
  }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;
  bool valid() const noexcept { return data_ != MAP_FAILED; }
  void* data() const noexcept { return data_; }

 private:
  void* data_;
  std::uint64_t bytes_;
};

netmodel::LinkConfig link_of(const Cell& cell) {
  netmodel::LinkConfig link;
  link.rate_bps = cell.rate_bps;
  link.propagation = cell.rtt / 2;
  link.mtu = cell.mtu;
  link.jitter = cell.jitter;
  link.jitter_reorders = true;
  if (cell.burst > 1) {
    link.burst.bad_to_good = 1 / cell.burst;
    link.burst.good_to_bad = cell.loss / (1 - cell.loss) / cell.burst;
  } else {
    link.loss = cell.loss;
  }
  return link;
}

SocketAddress host_address(std::uint8_t host) {
  SocketAddress address;
  address.bytes[0] = 10;
  address.bytes[3] = host;
  address.port = kPort;
  return address;
}

EndpointConfig endpoint_config(const Cell& cell, std::uint64_t seed) {
  EndpointConfig config;
  config.local.port = kPort;
  config.controller = cell.controller;
  if (cell.controller == "fixed") {
    config.rate_bps = cell.rate_bps / (cell.mtu + kFramingBytes) * (cell.mtu - kIpUdpBytes);
  }
  config.rtt_max = cell.rtt + cell.jitter * 2 + cell.rtt / 2;
  config.mtu_max = cell.mtu;
  config.mtu_base = std::min<std::uint32_t>(1280, cell.mtu);
  config.security = "none";
  config.seed = seed;
  return config;
}

// One end: its endpoint and what it saw of the transfer under way.
struct End {
  Endpoint endpoint;
  std::optional<Completion> transfer;
  Timestamp transfer_at{};
  bool connected = false;
  bool incoming = false;

  void poll(Timestamp now) {
    std::array<Completion, 16> batch;
    while (const std::size_t count = endpoint.poll(batch)) {
      for (std::size_t i = 0; i < count; ++i) take(now, batch[i]);
    }
  }
  void take(Timestamp now, const Completion& completion) {
    switch (completion.kind) {
      case Completion::Kind::transfer:
        transfer = completion;
        transfer_at = now;
        break;
      case Completion::Kind::connected:
        connected = true;
        break;
      case Completion::Kind::incoming:
        incoming = true;
        break;
      default:
        break;
    }
  }
};

class Run {
 public:
  explicit Run(const Cell& cell)
      : cell_(cell),
        simulation_(cell.seed, base::PayloadMode::reference),
        source_(cell.bytes),
        destination_(cell.bytes) {}

  Result<void> open();
  /// Completion time of one transfer.
  Result<Duration> transfer();
  Result<std::uint64_t> bytes_sent();
  std::uint64_t trace_hash() { return simulation_.network().trace_hash(); }

 private:
  bool run_until(const std::function<bool()>& done, Duration limit) {
    return simulation_.run_until(
        [&] {
          sender_.poll(simulation_.now());
          receiver_.poll(simulation_.now());
          return done();
        },
        limit);
  }
  void run_for(Duration duration) {
    run_until([] { return false; }, duration);
  }
  Result<void> search_mtu();

  const Cell& cell_;
  api::Simulation simulation_;
  Untouched source_;
  Untouched destination_;
  End sender_;
  End receiver_;
  Connection sending_;
  Connection receiving_;
};

Result<void> Run::open() {
  if (!source_.valid() || !destination_.valid()) {
    return fail(ErrorCode::system, "cannot map address space for the tensors");
  }
  sim::HostConfig host;
  host.mtu = cell_.mtu;
  sim::Network& network = simulation_.network();
  const sim::HostId a = network.add_host(host_address(1), host);
  const sim::HostId b = network.add_host(host_address(2), host);
  network.set_link(a, b, link_of(cell_));
  network.set_link(b, a, link_of(cell_));
  auto sender = simulation_.open(a, endpoint_config(cell_, cell_.seed * 2));
  if (!sender) return tl::unexpected(sender.error());
  auto receiver = simulation_.open(b, endpoint_config(cell_, cell_.seed * 2 + 1));
  if (!receiver) return tl::unexpected(receiver.error());
  sender_.endpoint = std::move(*sender);
  receiver_.endpoint = std::move(*receiver);
  if (auto listening = receiver_.endpoint.listen(); !listening) return listening;
  auto connection = sender_.endpoint.connect_async(host_address(2));
  if (!connection) return tl::unexpected(connection.error());
  sending_ = std::move(*connection);
  if (!run_until([&] { return sender_.connected && receiver_.incoming; }, seconds(30)) ||
      sending_.status() != Status::completed) {
    return fail(ErrorCode::timed_out, "no connection: " + sending_.reason());
  }
  auto accepted = receiver_.endpoint.accept();
  if (!accepted) return tl::unexpected(accepted.error());
  receiving_ = std::move(*accepted);
  return search_mtu();
}

// The formula assumes full packets, so the search must have ended before the first transfer.
Result<void> Run::search_mtu() {
  const std::uint32_t full = cell_.mtu - kIpUdpBytes;
  for (int i = 0; i < 100; ++i) {
    run_for(std::max<Duration>(cell_.rtt * 2, milliseconds(50)));
    const auto stats = sending_.stats();
    if (!stats) return tl::unexpected(stats.error());
    if (stats->max_datagram == full) return {};
  }
  return fail(ErrorCode::internal, fmt::format("the MTU search has not found {} bytes", full));
}

Result<Duration> Run::transfer() {
  sender_.transfer.reset();
  receiver_.transfer.reset();
  ReceiveOptions receive;
  receive.cookie = kReceiveCookie;
  auto posted = receiving_.recv_tensor(1, bytes_view(destination_.data(), cell_.bytes), receive);
  if (!posted) return tl::unexpected(posted.error());
  run_for(cell_.rtt + cell_.jitter * 2 + milliseconds(1));

  SendOptions send;
  send.cookie = kSendCookie;
  const Timestamp start = simulation_.now();
  const void* source = source_.data();
  auto sent = sending_.send_tensor(1, bytes_view(source, cell_.bytes), send);
  if (!sent) return tl::unexpected(sent.error());
  const auto patience = Duration(static_cast<Duration::rep>(t_star(cell_)) * kPatience);
  if (!run_until([&] { return sender_.transfer && receiver_.transfer; }, patience)) {
    return fail(ErrorCode::timed_out, fmt::format("a transfer took more than {} T*", kPatience));
  }
  if (receiver_.transfer->status != Status::completed ||
      sender_.transfer->status != Status::completed) {
    return fail(
        ErrorCode::internal,
        fmt::format("a transfer ended {} at the sender, {} at the receiver",
                    to_string(sender_.transfer->status), to_string(receiver_.transfer->status)));
  }
  return receiver_.transfer_at - start;
}

Result<std::uint64_t> Run::bytes_sent() {
  auto stats = sending_.stats();
  if (!stats) return tl::unexpected(stats.error());
  return stats->bytes_sent;
}

}  // namespace

std::uint64_t packets_of(const Cell& cell) noexcept {
  const std::uint64_t chunk = cell.mtu - kHeadersOfFormula;
  return (cell.bytes + chunk - 1) / chunk;
}

double t_star(const Cell& cell) noexcept {
  const double tau =
      8e9 * static_cast<double>(cell.mtu + kFramingBytes) / static_cast<double>(cell.rate_bps);
  return static_cast<double>(cell.rtt.count()) / 2 +
         static_cast<double>(packets_of(cell)) * tau / (1 - cell.loss);
}

double CellResult::percentile(double share) const noexcept {
  if (ratios.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(ratios.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return ratios[std::min(index, ratios.size() - 1)];
}

Result<CellResult> run_cell(const Cell& cell, const ProgressSink& progress) {
  Run run(cell);
  if (auto opened = run.open(); !opened) return tl::unexpected(opened.error());
  const auto before = run.bytes_sent();
  if (!before) return tl::unexpected(before.error());
  CellResult result;
  for (std::uint32_t i = 0; i < cell.count; ++i) {
    const auto taken = run.transfer();
    if (!taken) return tl::unexpected(taken.error());
    result.ratios.push_back(static_cast<double>(taken->count()) / t_star(cell));
    progress(i + 1);
  }
  const auto after = run.bytes_sent();
  if (!after) return tl::unexpected(after.error());
  const double tensor_bytes = static_cast<double>(cell.bytes) * cell.count;
  result.overhead = static_cast<double>(*after - *before) / tensor_bytes - 1;
  result.mean = std::accumulate(result.ratios.begin(), result.ratios.end(), 0.0) / cell.count;
  std::sort(result.ratios.begin(), result.ratios.end());
  result.trace_hash = run.trace_hash();
  return result;
}

}  // namespace longhaul::perf
