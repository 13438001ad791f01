// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>

#include "apps/common/units.hpp"
#include "apps/perf/flags.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kSecond = std::chrono::seconds(1);
constexpr std::uint32_t kParallelMax = 16384;
constexpr std::uint64_t kMtuMin = 1280;
constexpr std::uint64_t kMtuMax = 65535;

/// Stores what a parser understood, or hands its error on.
template <typename Target, typename Value>
Result<void> store(Target& target, Result<Value> value) {
  if (!value) return tl::unexpected(std::move(value.error()));
  target = static_cast<Target>(*value);
  return {};
}

template <typename Target, typename Value>
Result<void> store(std::optional<Target>& target, Result<Value> value) {
  if (!value) return tl::unexpected(std::move(value.error()));
  target = static_cast<Target>(*value);
  return {};
}

template <bool Options::*Member>
Result<void> set(Options& options, std::string_view) {
  options.*Member = true;
  return {};
}

template <std::string Options::*Member>
Result<void> text(Options& options, std::string_view value) {
  if (value.empty()) return fail(ErrorCode::invalid_argument, "an empty value means nothing here");
  options.*Member = value;
  return {};
}

Result<void> positive(const Duration& duration, std::string_view what) {
  if (duration.count() > 0) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} must be longer than 0", what));
}

Result<void> become(Options& options, Role role) {
  if (options.role != Role::none && options.role != role) {
    return fail(ErrorCode::invalid_argument,
                "-s, -c and --make-sample exclude each other; start one process for each");
  }
  options.role = role;
  return {};
}

Result<void> apply_client(Options& options, std::string_view value) {
  if (auto host = text<&Options::host>(options, value); !host) return host;
  return become(options, Role::client);
}

Result<void> apply_port(Options& options, std::string_view value) {
  auto stored = store(options.port, parse_number(value, std::numeric_limits<std::uint16_t>::max()));
  if (stored && options.port == 0) {
    return fail(ErrorCode::invalid_argument, "port 0 cannot be addressed; choose 1 to 65535");
  }
  return stored;
}

Result<void> apply_time(Options& options, std::string_view value) {
  if (auto stored = store(options.time, parse_duration(value, kSecond)); !stored) return stored;
  return positive(*options.time, "the time of a test");
}

Result<void> apply_number(Options& options, std::string_view value) {
  if (has_size_suffix(value)) return store(options.amount.bytes, parse_size(value));
  auto stored = store(options.amount.transfers,
                      parse_number(value, std::numeric_limits<std::uint32_t>::max()));
  if (stored && *options.amount.transfers == 0) {
    return fail(ErrorCode::invalid_argument, "0 transfers measure nothing; ask for at least one");
  }
  return stored;
}

Result<void> apply_parallel(Options& options, std::string_view value) {
  auto stored = store(options.parallel, parse_number(value, kParallelMax));
  if (stored && *options.parallel == 0) {
    return fail(ErrorCode::invalid_argument, "with 0 transfers in flight nothing moves");
  }
  return stored;
}

Result<void> apply_rate(Options& options, std::string_view value) {
  auto stored = store(options.rate_bps, parse_rate(value));
  if (stored && options.rate_bps < 8000) {
    return fail(ErrorCode::invalid_argument,
                "a rate is in bits per second, at least 8K; for no limit leave -b out");
  }
  return stored;
}

Result<void> apply_mtu(Options& options, std::string_view value) {
  auto stored = store(options.mtu, parse_number(value, kMtuMax));
  if (stored && *options.mtu < kMtuMin) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("an MTU below {} is no path for IPv6 nor for Longhaul", kMtuMin));
  }
  return stored;
}

Result<void> apply_peer_timeout(Options& options, std::string_view value) {
  if (auto stored = store(options.peer_timeout, parse_duration(value, kSecond)); !stored) {
    return stored;
  }
  return positive(*options.peer_timeout, "the peer timeout");
}

Result<void> apply_heartbeat(Options& options, std::string_view value) {
  if (auto stored = store(options.heartbeat, parse_duration(value, kSecond)); !stored) {
    return stored;
  }
  return positive(*options.heartbeat, "the heartbeat");
}

Result<void> apply_sample(Options& options, std::string_view value) {
  if (auto path = text<&Options::sample_path>(options, value); !path) return path;
  return become(options, Role::make_sample);
}

constexpr auto kEither = FlagGroup::either;
constexpr auto kClient = FlagGroup::client;
constexpr auto kServer = FlagGroup::server;
constexpr auto kFaults = FlagGroup::faults;
constexpr auto kTools = FlagGroup::tools;

constexpr std::array kFlags{
    Flag{kServer, 's', "server", "", "wait for clients and receive what they send",
         [](Options& o, std::string_view) { return become(o, Role::server); }},
    Flag{kServer, '1', "one-off", "", "exit after one test", set<&Options::one_off>},
    Flag{kServer, '\0', "output", "FILE",
         "write the file a client sends with --file; it appears complete or not at all",
         text<&Options::output>},

    Flag{kClient, 'c', "client", "HOST", "send tensors to the server on HOST (name or address)",
         apply_client},
    Flag{kClient, 't', "time", "SEC", "send for this long (10)", apply_time},
    Flag{kClient, 'n', "number", "N[KMG]",
         "send N transfers, or with a suffix so many bytes (in whole transfers), instead of -t",
         apply_number},
    Flag{kClient, 'O', "omit", "SEC", "leave the first seconds out of the result (0)",
         [](Options& o, std::string_view v) { return store(o.omit, parse_duration(v, kSecond)); }},
    Flag{kClient, 'P', "parallel", "N",
         "transfers kept in flight (4; with --file 256): the next one starts before the last ended",
         apply_parallel},
    Flag{kClient, '\0', "size", "SIZE", "bytes of each transfer (64M)",
         [](Options& o, std::string_view v) { return store(o.size, parse_size(v)); }},
    Flag{kClient, '\0', "shape", "AxBx..", "shape of each transfer, instead of --size",
         [](Options& o, std::string_view v) { return store(o.extents, parse_extents(v)); }},
    Flag{kClient, '\0', "dtype", "NAME",
         "element type: u8 i8 ... u64 i64 f16 bf16 f32 f64 f8e4m3 f8e5m2 bool (u8)",
         [](Options& o, std::string_view v) { return store(o.dtype, parse_dtype(v)); }},
    Flag{kClient, '\0', "file", "FILE",
         "send every tensor of a .safetensors file by name, once; the server verifies each",
         text<&Options::file>},

    Flag{kEither, 'p', "port", "PORT", "UDP port of the server (5201)", apply_port},
    Flag{kEither, 'B', "bind", "HOST", "local address to use (any; a server takes IPv4 and IPv6)",
         text<&Options::bind>},
    Flag{kEither, 'i', "interval", "SEC", "time between report lines, 0 = none (1)",
         [](Options& o, std::string_view v) {
           return store(o.interval, parse_duration(v, kSecond));
         }},
    Flag{kEither, 'J', "json", "", "print one JSON object instead of lines", set<&Options::json>},
    Flag{kEither, 'b', "bitrate", "RATE[KMG]",
         "limit UDP payload per second, everything included; the controller is then fixed",
         apply_rate},
    Flag{kEither, 'C', "congestion", "NAME", "congestion controller (fixed with -b, else cubic)",
         text<&Options::controller>},
    Flag{kEither, '\0', "mtu", "BYTES", "largest IP packet the path search tries (9000)",
         apply_mtu},
    Flag{kEither, '\0', "rtt-max", "TIME", "round trip the tables are sized for (200ms)",
         [](Options& o, std::string_view v) {
           return store(o.rtt_max, parse_duration(v, std::nullopt));
         }},
    Flag{kEither, '\0', "peer-timeout", "SEC", "a peer silent for this long is lost (2)",
         apply_peer_timeout},
    Flag{kEither, '\0', "heartbeat", "SEC", "keep-alive interval (a fifth of --peer-timeout)",
         apply_heartbeat},
    Flag{kEither, '\0', "security", "NAME",
         "protection of the packets; only none exists, it is the default and it is warned about",
         text<&Options::security>},
    Flag{kEither, 'A', "affinity", "CPU", "core the worker thread stays on",
         [](Options& o, std::string_view v) { return store(o.cpu, parse_number(v, 1023)); }},
    Flag{kEither, '\0', "engine", "NAME",
         "what moves datagrams: mmsg, io_uring, io_uring_zero_copy, or auto: the faster (auto)",
         text<&Options::engine>},
    Flag{kEither, 'v', "verbose", "", "show the library's log on stderr", set<&Options::verbose>},

    Flag{kFaults, '\0', "inject-loss", "P", "drop this share of the datagrams sent (1% or 0.01)",
         [](Options& o, std::string_view v) { return store(o.inject.loss, parse_probability(v)); }},
    Flag{kFaults, '\0', "inject-delay", "TIME", "hold every datagram back this long (25ms)",
         [](Options& o, std::string_view v) {
           return store(o.inject.delay, parse_duration(v, std::nullopt));
         }},
    Flag{kFaults, '\0', "inject-reorder", "P", "hold this share back, so that others overtake",
         [](Options& o, std::string_view v) {
           return store(o.inject.reorder, parse_probability(v));
         }},
    Flag{kFaults, '\0', "inject-reorder-delay", "TIME", "how long reordered ones are held (2ms)",
         [](Options& o, std::string_view v) {
           return store(o.inject.reorder_delay, parse_duration(v, std::nullopt));
         }},
    Flag{kFaults, '\0', "inject-corrupt", "P", "flip a bit in this share",
         [](Options& o, std::string_view v) {
           return store(o.inject.corrupt, parse_probability(v));
         }},
    Flag{kFaults, '\0', "inject-duplicate", "P", "send this share twice",
         [](Options& o, std::string_view v) {
           return store(o.inject.duplicate, parse_probability(v));
         }},
    Flag{kFaults, '\0', "seed", "N", "seed of faults, connection IDs and test data (random)",
         [](Options& o, std::string_view v) {
           return store(o.seed, parse_number(v, std::numeric_limits<std::uint64_t>::max()));
         }},

    Flag{kTools, '\0', "make-sample", "FILE",
         "write a safetensors file with a small transformer's tensors and exit", apply_sample},
    Flag{kTools, '\0', "sample-size", "SIZE", "bytes of its data (64M)",
         [](Options& o, std::string_view v) { return store(o.sample_bytes, parse_size(v)); }},
};

}  // namespace

std::span<const Flag> flags() noexcept {
  return kFlags;
}

}  // namespace longhaul::apps::perf
