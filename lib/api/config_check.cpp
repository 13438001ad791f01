// SPDX-License-Identifier: Apache-2.0
#include "lib/api/config_check.hpp"

#include <bit>
#include <string_view>

#include "congestion/registry.hpp"
#include "lib/endpoint/endpoint.hpp"
#include "lib/io/kernel/engine_choice.hpp"

namespace longhaul::api {
namespace {

constexpr std::uint64_t kDefaultRateBps = 10'000'000'000;
constexpr std::uint64_t kRateMaxBps = 100'000'000'000'000;
// What QUIC requires of a path (RFC 9000 §14): 1200 bytes of UDP payload.
constexpr std::uint32_t kDatagramMin = 1200;
constexpr std::uint32_t kIpPacketMax = 65535;
// Packet numbers travel as 32 bits; a window has to stay below half of that.
constexpr std::uint64_t kPacketsInFlightMax = std::uint64_t{1} << 31;
constexpr unsigned kDscpMax = 63;
// The queue of those to be accepted has a place for each: 24 bytes, so 384 MiB.
constexpr std::uint32_t kConnectionsMax = std::uint32_t{1} << 24;
constexpr std::size_t kResetKeyMin = 16;
// Longer ones are typing errors, and sums of times stay far from overflowing.
constexpr Duration kTimeMax = std::chrono::hours(24);
constexpr Duration kPeerTimeoutMin = std::chrono::milliseconds(5);

tl::unexpected<Error> invalid(std::string context) {
  return fail(ErrorCode::invalid_argument, std::move(context));
}

// Numbers that are no enumerators.
Result<void> check_choices(const EndpointConfig& config) {
  const AddressFamily family = config.local.family;
  if (family != AddressFamily::ipv4 && family != AddressFamily::ipv6) {
    return invalid("local.family is neither ipv4 nor ipv6; see longhaul::AddressFamily");
  }
  if (config.threads > ThreadMode::caller_polls) {
    return invalid("threads is neither worker_threads nor caller_polls; see longhaul::ThreadMode");
  }
  return {};
}

Result<congestion::ControllerFactory> check_controller(EndpointConfig& config) {
  if (config.controller.empty()) {
    config.controller = congestion::default_controller(config.rate_bps);
  }
  const auto factory = congestion::find_controller(config.controller);
  if (factory == nullptr) {
    std::string names;
    for (const std::string_view name : congestion::controller_names()) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return invalid("there is no controller \"" + config.controller + "\"; there are: " + names);
  }
  if (config.controller == "fixed" && config.rate_bps == 0) {
    return invalid("controller \"fixed\" needs the line's rate: set rate_bps");
  }
  return factory;
}

Result<void> check_packet_sizes(const EndpointConfig& config) {
  const auto least =
      kDatagramMin + static_cast<std::uint32_t>(ip_udp_overhead(config.local.family));
  if (config.mtu_base < least) {
    return invalid("mtu_base is " + std::to_string(config.mtu_base) + ", but the handshake needs " +
                   std::to_string(least));
  }
  if (config.mtu_max < config.mtu_base || config.mtu_max > kIpPacketMax) {
    return invalid("mtu_max is " + std::to_string(config.mtu_max) +
                   ", but has to be from mtu_base (" + std::to_string(config.mtu_base) +
                   ") to 65535");
  }
  return {};
}

Result<void> check_times(const EndpointConfig& config) {
  if (config.rate_bps > kRateMaxBps)
    return invalid("rate_bps is above 100 Tbit/s: a typing error?");
  if (config.rtt_max <= Duration::zero() || config.rtt_max > std::chrono::seconds(60)) {
    return invalid("rtt_max has to be above zero and at most 60 s");
  }
  if (config.peer_timeout < kPeerTimeoutMin || config.peer_timeout > kTimeMax) {
    return invalid("peer_timeout has to be from 5 ms (five heartbeats have to fit) to 24 h");
  }
  if (config.heartbeat < Duration::zero() || config.heartbeat >= config.peer_timeout) {
    return invalid("heartbeat has to be shorter than peer_timeout, or 0 for a fifth of it");
  }
  if (config.heartbeat > Duration::zero() && config.heartbeat < std::chrono::milliseconds(1)) {
    return invalid("heartbeat is below 1 ms: the line would carry little else");
  }
  if (config.connect_timeout <= Duration::zero() || config.connect_timeout > kTimeMax) {
    return invalid("connect_timeout has to be above zero and at most 24 h");
  }
  return {};
}

Result<void> check_tables(const EndpointConfig& config) {
  if (config.transfers_max == 0) return invalid("transfers_max has to be above zero");
  if (config.connections_max == 0 || config.connections_max > kConnectionsMax) {
    return invalid("connections_max is " + std::to_string(config.connections_max) +
                   ", but has to be from 1 to " + std::to_string(kConnectionsMax));
  }
  if (config.handshakes_max_per_source == 0) {
    return invalid("handshakes_max_per_source has to be above zero, or nobody gets in");
  }
  if (!std::has_single_bit(config.completions_max) || config.completions_max < 2) {
    return invalid("completions_max is " + std::to_string(config.completions_max) +
                   ", but has to be a power of two, at least 2");
  }
  if (config.eager_max > config.eager_budget) {
    return invalid("eager_max is " + std::to_string(config.eager_max) +
                   ", more than the whole eager_budget of " + std::to_string(config.eager_budget));
  }
  for (const unsigned codepoint : config.dscp.codepoints) {
    if (codepoint > kDscpMax) {
      return invalid("DSCP " + std::to_string(codepoint) + " does not fit 6 bits");
    }
  }
  if (config.worker_cpu && config.threads == ThreadMode::caller_polls) {
    return invalid("worker_cpu is set, but with caller_polls the thread is yours: pin it yourself");
  }
  return {};
}

Result<void> check_reset_key(const EndpointConfig& config) {
  const std::size_t bytes = config.stateless_reset_key.size();
  if (bytes == 0 || bytes >= kResetKeyMin) return {};
  return invalid("stateless_reset_key has " + std::to_string(bytes) +
                 " bytes, and whoever guesses it can end connections; give it at least " +
                 std::to_string(kResetKeyMin) + " random ones");
}

Result<void> check_faults(const EndpointConfig::InjectedFaults& inject) {
  for (const double probability : {inject.loss, inject.corrupt, inject.duplicate, inject.reorder}) {
    if (!(probability >= 0 && probability <= 1)) {
      return invalid("an injected fault's probability has to be from 0 to 1");
    }
  }
  if (inject.delay < Duration::zero() || inject.reorder_delay < Duration::zero()) {
    return invalid("an injected delay cannot be negative");
  }
  if (inject.delay > kTimeMax || inject.reorder_delay > kTimeMax) {
    return invalid("an injected delay is above 24 h: a typing error?");
  }
  return {};
}

Result<void> check_engine(const EndpointConfig& config) {
  const auto engine = io::kernel::engine_named(config.engine);
  if (engine && config.threads == ThreadMode::caller_polls &&
      *engine != io::kernel::EngineChoice::automatic && *engine != io::kernel::EngineChoice::mmsg) {
    return invalid("engine \"" + config.engine +
                   "\" belongs to one thread, but with caller_polls any may turn the worker; use "
                   "\"mmsg\" or worker_threads");
  }
  if (engine) return {};
  std::string names;
  for (const io::kernel::EngineName& entry : io::kernel::kEngineNames) {
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return invalid("there is no engine \"" + config.engine + "\"; there are: " + names);
}

// What rate × RTT needs, against what packet numbers can name.
Result<void> check_pipe(const EndpointConfig& config) {
  const std::uint64_t rate = planned_rate_bps(config);
  const auto rtt_ms = static_cast<std::uint64_t>(
      std::chrono::ceil<std::chrono::milliseconds>(config.rtt_max).count());
  const std::uint64_t bytes = rate / 8 * rtt_ms / 1000;
  const std::uint64_t datagram = config.mtu_base - ip_udp_overhead(config.local.family);
  if (bytes / datagram < kPacketsInFlightMax) return {};
  return fail(ErrorCode::cannot_fill_pipe,
              std::to_string(rate) + " bit/s × " + std::to_string(rtt_ms) +
                  " ms / 8 = " + std::to_string(bytes) + " bytes in flight are " +
                  std::to_string(bytes / datagram) + " packets of " + std::to_string(datagram) +
                  " bytes, but packet numbers allow 2^31: raise mtu_base");
}

}  // namespace

std::uint64_t planned_rate_bps(const EndpointConfig& config) noexcept {
  return config.rate_bps != 0 ? config.rate_bps : kDefaultRateBps;
}

Result<CheckedConfig> check_config(EndpointConfig& config) {
  const auto security = check_security(config);
  if (!security) return tl::unexpected(security.error());
  for (auto* check : {&check_choices, &check_packet_sizes, &check_times, &check_tables,
                      &check_reset_key, &check_engine}) {
    if (auto result = check(config); !result) return tl::unexpected(result.error());
  }
  if (auto result = check_faults(config.inject); !result) return tl::unexpected(result.error());
  const auto factory = check_controller(config);
  if (!factory) return tl::unexpected(factory.error());
  if (auto result = check_pipe(config); !result) return tl::unexpected(result.error());

  CheckedConfig checked;
  checked.security = *security;
  checked.make_controller = *factory;
  checked.memory_budget = endpoint::Endpoint::memory_budget(config, checked.arithmetic);
  return checked;
}

}  // namespace longhaul::api
