// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/dscp.hpp"
#include "apps/perf/flags.hpp"
#include "apps/perf/plan.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr Duration kSecond = std::chrono::seconds(1);
constexpr std::uint32_t kParallelMax = 16384;
constexpr std::uint64_t kCpuMax = 1023;
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
                "-s, -c, --make-sample and --generate-key exclude each other; start one process "
                "for each");
  }
  options.role = role;
  return {};
}

Result<void> apply_client(Options& options, std::string_view value) {
  if (auto host = text<&Options::host>(options, value); !host) return host;
  return become(options, Role::client);
}

template <Direction Wanted>
Result<void> go(Options& options, std::string_view) {
  if (options.direction != Direction::forward && options.direction != Wanted) {
    return fail(ErrorCode::invalid_argument,
                "-R lets only the server send and --bidir both ends; give one of them");
  }
  options.direction = Wanted;
  return {};
}

template <AddressFamily Wanted>
Result<void> only(Options& options, std::string_view) {
  if (options.family && *options.family != Wanted) {
    return fail(ErrorCode::invalid_argument,
                "-4 and -6 exclude each other; leave both out to take what there is");
  }
  options.family = Wanted;
  return {};
}

Result<void> apply_bind(Options& options, std::string_view value) {
  const std::size_t percent = value.find('%');
  if (auto host = text<&Options::bind>(options, value.substr(0, percent)); !host) {
    return fail(ErrorCode::invalid_argument,
                "an interface needs an address before it, such as 0.0.0.0%eth0 or ::%eth0");
  }
  if (percent == std::string_view::npos) return {};
  return text<&Options::device>(options, value.substr(percent + 1));
}

Result<void> apply_affinity(Options& options, std::string_view value) {
  const std::size_t comma = value.find(',');
  if (auto stored = store(options.cpu, parse_number(value.substr(0, comma), kCpuMax)); !stored) {
    return stored;
  }
  if (comma == std::string_view::npos) return {};
  return store(options.server_cpu, parse_number(value.substr(comma + 1), kCpuMax));
}

Result<void> set_dscp(Options& options, Result<std::uint8_t> value) {
  if (value && options.dscp) {
    return fail(ErrorCode::invalid_argument, "-S and --dscp say the same thing; give one of them");
  }
  return store(options.dscp, std::move(value));
}

Result<void> apply_connect_timeout(Options& options, std::string_view value) {
  const auto millisecond = std::chrono::milliseconds(1);
  if (auto stored = store(options.connect_timeout, parse_duration(value, millisecond)); !stored) {
    return stored;
  }
  return positive(*options.connect_timeout, "the time to connect");
}

Result<void> apply_interval(Options& options, std::string_view value) {
  auto stored = store(options.interval, parse_duration(value, kSecond));
  if (stored && options.interval.count() != 0 && options.interval < kIntervalMin) {
    return fail(ErrorCode::invalid_argument,
                "marks closer than 1ms measure the clock; choose a longer interval, or 0 for none");
  }
  return stored;
}

Result<void> apply_port(Options& options, std::string_view value) {
  return store(options.port, parse_number(value, std::numeric_limits<std::uint16_t>::max(), 1));
}

Result<void> apply_time(Options& options, std::string_view value) {
  if (auto stored = store(options.time, parse_duration(value, kSecond)); !stored) return stored;
  return positive(*options.time, "the time of a test");
}

Result<void> apply_number(Options& options, std::string_view value) {
  if (has_size_suffix(value)) return store(options.amount.bytes, parse_size(value));
  return store(options.amount.transfers,
               parse_number(value, std::numeric_limits<std::uint32_t>::max(), 1));
}

Result<void> apply_parallel(Options& options, std::string_view value) {
  return store(options.parallel, parse_number(value, kParallelMax, 1));
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
  return store(options.mtu, parse_number(value, kMtuMax, kMtuMin));
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

Result<void> apply_new_key(Options& options, std::string_view value) {
  if (auto path = text<&Options::new_key_path>(options, value); !path) return path;
  return become(options, Role::generate_key);
}

Result<void> apply_security(Options& options, std::string_view value) {
  if (value != "psk" && value != "certificates" && value != "none") {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there is no \"{}\"; there are psk, certificates and none", printable(value)));
  }
  options.security = value;
  return {};
}

Result<void> apply_fingerprints(Options& options, std::string_view value) {
  for (;;) {
    const std::size_t comma = value.find(',');
    options.peer_fingerprints.emplace_back(value.substr(0, comma));
    if (comma == std::string_view::npos) return {};
    value.remove_prefix(comma + 1);
  }
}

constexpr auto kEither = FlagGroup::either;
constexpr auto kClient = FlagGroup::client;
constexpr auto kServer = FlagGroup::server;
constexpr auto kSecurity = FlagGroup::security;
constexpr auto kFaults = FlagGroup::faults;
constexpr auto kTools = FlagGroup::tools;

constexpr std::array kFlags{
    Flag{kServer, 's', "server", "", "wait for clients and receive what they send",
         [](Options& o, std::string_view) { return become(o, Role::server); }},
    Flag{kServer, 'D', "daemon", "", "go into the background once listening",
         set<&Options::daemon>},
    Flag{kServer, '1', "one-off", "", "exit after one test", set<&Options::one_off>},
    Flag{kServer, '\0', "reset-key", "FILE",
         "secret by which clients know a restarted server at once; made if it does not exist",
         text<&Options::reset_key_path>},
    Flag{kServer, '\0', "output", "FILE",
         "write the file a client sends with --file, in place of one that is there; it appears "
         "complete or not at all",
         text<&Options::output>},

    Flag{kClient, 'c', "client", "HOST", "send tensors to the server on HOST (name or address)",
         apply_client},
    Flag{kClient, 't', "time", "SEC", "send for this long (10)", apply_time},
    Flag{kClient, 'n', "number", "N[KMG]",
         "send N transfers, or with a suffix so many bytes (in whole transfers), instead of -t",
         apply_number, "bytes"},
    Flag{kClient, 'O', "omit", "SEC", "leave the first seconds out of the result (0)",
         [](Options& o, std::string_view v) { return store(o.omit, parse_duration(v, kSecond)); }},
    Flag{kClient, 'P', "parallel", "N",
         "transfers kept in flight (4; with --file 256): the next one starts before the last ended",
         apply_parallel},
    Flag{kClient, 'R', "reverse", "", "the server sends and the client receives",
         go<Direction::reverse>},
    Flag{kClient, '\0', "bidir", "", "both send at once, on one connection", go<Direction::both>},
    Flag{kClient, 'l', "size", "SIZE", "bytes of each transfer (64M); 0 with -n is for empty ones",
         [](Options& o, std::string_view v) { return store(o.size, parse_size(v)); }, "length"},
    Flag{kClient, '\0', "shape", "AxBx..", "shape of each transfer, instead of --size",
         [](Options& o, std::string_view v) { return store(o.extents, parse_extents(v)); }},
    Flag{kClient, '\0', "dtype", "NAME",
         "element type: u8 i8 ... u64 i64 f16 bf16 f32 f64 f8e4m3 f8e5m2 bool (u8)",
         [](Options& o, std::string_view v) { return store(o.dtype, parse_dtype(v)); }},
    Flag{kClient, '\0', "file", "FILE",
         "send every tensor of a .safetensors file by name, once; the server verifies each",
         text<&Options::file>},
    Flag{kClient, '\0', "get-server-output", "", "print what the server prints, too",
         set<&Options::server_output>},
    Flag{kClient, '\0', "connect-timeout", "MS", "give up connecting after so many ms (10000)",
         apply_connect_timeout},

    Flag{kSecurity, '\0', "key", "FILE",
         "pre-shared key, the same at both ends; --generate-key makes one",
         text<&Options::key_path>},
    Flag{kSecurity, '\0', "cert", "FILE",
         "instead: own certificate and its chain (PEM); both ends show one",
         text<&Options::certificate_path>},
    Flag{kSecurity, '\0', "cert-key", "FILE", "private key to it (PEM)",
         text<&Options::private_key_path>},
    Flag{kSecurity, '\0', "ca", "FILE",
         "authorities the other end's certificate has to come from (PEM)", text<&Options::ca_path>},
    Flag{kSecurity, '\0', "peer-name", "NAME",
         "name it has to be made out to (any that --ca vouches for)", text<&Options::peer_name>},
    Flag{kSecurity, '\0', "peer-fingerprint", "HEX[,..]",
         "SHA-256 of the only certificates the other end may show, instead of --ca",
         apply_fingerprints},
    Flag{kSecurity, '\0', "security", "NAME",
         "insist on psk or certificates, or do without a key: none, for closed lines, is neither "
         "encrypted nor authenticated and has to be said (by the key given)",
         apply_security},

    Flag{kEither, 'p', "port", "PORT", "UDP port of the server (5201)", apply_port},
    Flag{kEither, 'B', "bind", "HOST[%DEV]",
         "local address, and interface, to use (any; a server takes IPv4 and IPv6)", apply_bind},
    Flag{kEither, '4', "version4", "", "IPv4 only", only<AddressFamily::ipv4>},
    Flag{kEither, '6', "version6", "", "IPv6 only", only<AddressFamily::ipv6>},
    Flag{kEither, 'i', "interval", "SEC", "time between report lines, 0 = none (1)",
         apply_interval},
    Flag{kEither, 'J', "json", "", "print one JSON object instead of lines", set<&Options::json>},
    Flag{kEither, '\0', "json-stream", "", "print one JSON object a line: start, intervals, end",
         set<&Options::json_stream>},
    Flag{kEither, '\0', "logfile", "FILE", "append reports and errors to FILE instead of stdout",
         text<&Options::logfile>},
    Flag{kEither, 'I', "pidfile", "FILE",
         "write the process ID there (a server once it listens); removed at the end",
         text<&Options::pidfile>},
    Flag{kEither, 'b', "bitrate", "RATE[KMG]",
         "limit UDP payload per second, everything included, whatever -C says; without -C the "
         "controller is then fixed, which sends at this rate (for a server that sends: its tensor "
         "bits)",
         apply_rate},
    Flag{kEither, 'C', "congestion", "NAME",
         "congestion controller: cubic or fixed (fixed with -b, else cubic)",
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
    Flag{kEither, 'S', "tos", "N",
         "IP type of service of the data this end sends; decimal, 0x.. or octal 0.., such as 40 "
         "for AF11",
         [](Options& o, std::string_view v) { return set_dscp(o, dscp_of_tos(v)); }},
    Flag{kEither, '\0', "dscp", "NAME", "the same by name or number: cs0-7 af11-43 ef va le df",
         [](Options& o, std::string_view v) { return set_dscp(o, parse_dscp(v)); }},
    Flag{kEither, 'A', "affinity", "CPU[,CPU]",
         "core the worker thread stays on; at the client also the server's, for this test",
         apply_affinity},
    Flag{kEither, '\0', "engine", "NAME",
         "what moves datagrams: mmsg, io_uring, io_uring_zero_copy, or auto, which measures both "
         "for "
         "3 ms and takes the faster (auto)",
         text<&Options::engine>},
    Flag{kEither, 'v', "verbose", "", "show all of the library's log on stderr, not only warnings",
         set<&Options::verbose>},

    Flag{kFaults, '\0', "inject-loss", "P",
         "drop this share of the datagrams sent, such as 1% or 0.01",
         [](Options& o, std::string_view v) { return store(o.inject.loss, parse_probability(v)); }},
    Flag{kFaults, '\0', "inject-delay", "TIME", "hold every datagram back this long, such as 25ms",
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
    Flag{kFaults, '\0', "seed", "N", "seed of faults and test data (random)",
         [](Options& o, std::string_view v) {
           return store(o.seed, parse_number(v, std::numeric_limits<std::uint64_t>::max()));
         }},

    Flag{kTools, '\0', "generate-key", "FILE",
         "make a key for --key, in a new file that only you can read, and exit", apply_new_key},
    Flag{kTools, '\0', "key-name", "NAME",
         "name of that key, which the other end sees (this host's)", text<&Options::key_name>},
    Flag{kTools, '\0', "make-sample", "FILE",
         "write a new safetensors file with a small transformer's tensors and exit", apply_sample},
    Flag{kTools, '\0', "sample-size", "SIZE", "bytes of its data (64M)",
         [](Options& o, std::string_view v) { return store(o.sample_bytes, parse_size(v)); }},
};

constexpr std::array kForeign{
    ForeignFlag{"-u", "--udp", "everything is UDP here, and arrives exactly: leave it out"},
    ForeignFlag{"", "--sctp", "everything is UDP here: leave it out"},
    ForeignFlag{"-k", "--blockcount", "say the number of transfers with -n"},
    ForeignFlag{"-F", "--file-source",
                "send a model with --file, keep it with the server's --output"},
    ForeignFlag{"-w", "--window", "tables are sized by -b and --rtt-max: leave it out"},
    ForeignFlag{"-M", "--set-mss", "bound the packet size with --mtu"},
    ForeignFlag{"-N", "--no-delay", "nothing is held back here: leave it out"},
    ForeignFlag{"-Z", "--zerocopy", "tensors are sent from where they lie: leave it out"},
    ForeignFlag{"-f", "--format",
                "units are chosen by size, and -J has plain numbers: leave it out"},
    ForeignFlag{"-V", "--verbose-output", "say -v for the library's log"},
    ForeignFlag{"-T", "--title", "lines carry no title; keep apart with --logfile"},
    ForeignFlag{"", "--username", "both ends prove that they have the same key: --key FILE"},
    ForeignFlag{"", "--rsa-public-key-path", "name a key of both ends: --key FILE"},
    ForeignFlag{"", "--rsa-private-key-path", "name a key of both ends: --key FILE"},
    ForeignFlag{"", "--authorized-users-path", "name a key of both ends: --key FILE"},
    ForeignFlag{"", "--bind-dev", "say the interface behind the address: -B 0.0.0.0%eth0"},
    ForeignFlag{"", "--cport", "the client's port is chosen by the system: leave it out"},
    ForeignFlag{"", "--fq-rate", "limit the rate with -b"},
    ForeignFlag{"", "--forceflush", "every line is flushed: leave it out"},
    ForeignFlag{"", "--rcv-timeout", "a silent peer is lost after --peer-timeout"},
    ForeignFlag{"", "--snd-timeout", "a silent peer is lost after --peer-timeout"},
    ForeignFlag{"", "--idle-timeout", "a server waits as long as it lives: leave it out"},
    ForeignFlag{"", "--repeating-payload", "data is pseudo-random, from --seed: leave it out"},
    ForeignFlag{"", "--dont-fragment", "no packet is ever fragmented: leave it out"},
};

}  // namespace

std::span<const ForeignFlag> foreign_flags() noexcept {
  return kForeign;
}

std::span<const Flag> flags() noexcept {
  return kFlags;
}

}  // namespace longhaul::apps::perf
