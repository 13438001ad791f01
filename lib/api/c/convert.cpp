// SPDX-License-Identifier: Apache-2.0
#include "lib/api/c/convert.hpp"

#include <algorithm>
#include <cstring>

#include "lib/api/c/structs.hpp"

namespace longhaul::api::c {

Result<bool> to_bool(std::uint32_t value, std::string_view name) {
  if (value <= 1) return value == 1;
  return invalid(std::string(name) + " is " + std::to_string(value) + "; it is 0 or 1");
}

Result<MemoryKind> to_memory_kind(longhaul_memory_kind kind) {
  return to_enum(kind, MemoryKind::host, MemoryKind::managed, "longhaul_memory_kind");
}

Result<std::string_view> to_text(const char* text, std::string_view name) {
  if (text == nullptr) return invalid(std::string(name) + " is NULL");
  return std::string_view(text);
}

std::optional<Duration> to_wait(std::int64_t timeout_ns) noexcept {
  return timeout_ns < 0 ? std::nullopt : std::optional(Duration(timeout_ns));
}

Duration to_duration(std::int64_t timeout_ns) noexcept {
  return to_wait(timeout_ns).value_or(Duration::max());
}

Result<SocketAddress> to_address(const longhaul_address* address) {
  const auto given = read(address, longhaul_address{}, "longhaul_address");
  if (!given) return tl::unexpected(given.error());
  if (given->reserved != 0) return invalid("longhaul_address.reserved has to be 0");
  if (given->family != LONGHAUL_IPV4 && given->family != LONGHAUL_IPV6) {
    return invalid("longhaul_address.family is " + std::to_string(given->family) +
                   "; it is LONGHAUL_IPV4 (4) or LONGHAUL_IPV6 (6)");
  }
  SocketAddress result;
  result.family = static_cast<AddressFamily>(given->family);
  result.port = given->port;
  result.scope_id = given->scope_id;
  std::copy_n(given->bytes, result.bytes.size(), result.bytes.begin());
  return result;
}

longhaul_address from_address(const SocketAddress& address) noexcept {
  longhaul_address result{};
  result.family = static_cast<std::int32_t>(address.family);
  result.port = address.port;
  result.scope_id = address.scope_id;
  std::copy(address.bytes.begin(), address.bytes.end(), result.bytes);
  return result;
}

Result<void> give_address(const SocketAddress& address, longhaul_address* out) {
  const auto size = size_of(out, "longhaul_address");
  if (!size) return tl::unexpected(size.error());
  write(out, *size, from_address(address));
  return {};
}

longhaul_completion from_completion(const Completion& completion) noexcept {
  longhaul_completion result{};
  result.kind = static_cast<longhaul_completion_kind>(completion.kind);
  result.status = static_cast<longhaul_status>(completion.status);
  result.cookie = completion.cookie;
  result.transfer_id = completion.transfer_id;
  result.connection_id = completion.connection_id;
  result.tag = completion.tag;
  result.bytes = completion.bytes;
  result.range_begin = completion.range.begin;
  result.range_end = completion.range.end;
  return result;
}

longhaul_connection_stats from_stats(const ConnectionStats& stats) noexcept {
  longhaul_connection_stats result{};
  result.max_datagram = stats.max_datagram;
  result.packets_sent = stats.packets_sent;
  result.packets_received = stats.packets_received;
  result.packets_lost = stats.packets_lost;
  result.spurious_losses = stats.spurious_losses;
  result.bytes_sent = stats.bytes_sent;
  result.bytes_received = stats.bytes_received;
  result.tensor_bytes_sent = stats.tensor_bytes_sent;
  result.tensor_bytes_verified = stats.tensor_bytes_verified;
  result.retransmitted_bytes = stats.retransmitted_bytes;
  result.repair_bytes = stats.repair_bytes;
  result.duplicate_bytes = stats.duplicate_bytes;
  result.pieces_refetched = stats.pieces_refetched;
  result.bytes_in_flight = stats.bytes_in_flight;
  result.congestion_window = stats.congestion_window;
  result.pacing_rate_bps = stats.pacing_rate_bps;
  result.mtu_black_holes = stats.mtu_black_holes;
  result.migrations = stats.migrations;
  result.min_rtt_ns = stats.min_rtt.count();
  result.smoothed_rtt_ns = stats.smoothed_rtt.count();
  result.rtt_variation_ns = stats.rtt_variation.count();
  result.reordering_window_ns = stats.reordering_window.count();
  result.limited_by_congestion_ns = stats.limited_by_congestion.count();
  result.limited_by_receiver_ns = stats.limited_by_receiver.count();
  result.limited_by_application_ns = stats.limited_by_application.count();
  copy_text(result.controller, sizeof result.controller, stats.controller);
  copy_text(result.peer_identity, sizeof result.peer_identity, stats.peer_identity);
  copy_text(result.cipher, sizeof result.cipher, stats.cipher);
  result.key_updates = stats.key_updates;
  return result;
}

longhaul_endpoint_stats from_stats(const EndpointStats& stats) noexcept {
  longhaul_endpoint_stats result{};
  static_assert(kDropReasons <= std::size(decltype(result.dropped){}));
  result.connections = stats.connections;
  result.datagrams_sent = stats.datagrams_sent;
  result.datagrams_received = stats.datagrams_received;
  result.transmit_blocked = stats.transmit_blocked;
  result.memory_budget_bytes = stats.memory_budget_bytes;
  copy_text(result.engine, sizeof result.engine, stats.engine);
  std::copy(stats.dropped.begin(), stats.dropped.end(), result.dropped);
  return result;
}

}  // namespace longhaul::api::c
