// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longhaul/address.hpp"
#include "longhaul/config.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/time.hpp"

namespace longhaul::apps::perf {

enum class Role : std::uint8_t { none, server, client, make_sample, generate_key };

/// Who sends tensors.
enum class Direction : std::uint8_t {
  forward,  ///< the client
  reverse,  ///< the server
  both,     ///< both at once
};

/// How much a client sends: so many transfers, so many bytes, or as much as the time allows.
struct Amount {
  std::optional<std::uint64_t> transfers;
  std::optional<std::uint64_t> bytes;
};

/// The command line, understood. The flag table (flags.hpp) says what each member means.
struct Options {
  Role role = Role::none;
  std::string host;
  std::string bind;
  std::string device;  ///< interface of `bind`, empty = any
  std::optional<AddressFamily> family;
  std::uint16_t port = 5201;
  std::optional<Duration> connect_timeout;
  Direction direction = Direction::forward;

  std::optional<Duration> time;
  Amount amount;
  Duration omit{0};
  Duration interval = std::chrono::seconds(1);
  std::optional<std::uint32_t> parallel;

  std::optional<std::uint64_t> size;
  std::optional<std::vector<std::uint64_t>> extents;
  Dtype dtype = Dtype::u8;
  std::string file;
  std::string output;

  std::uint64_t rate_bps = 0;
  std::string controller;
  std::optional<std::uint32_t> mtu;
  std::optional<Duration> rtt_max;
  std::optional<Duration> peer_timeout;
  std::optional<Duration> heartbeat;
  std::string security;  ///< empty = by the key that is given
  std::string key_path;
  std::string certificate_path;
  std::string private_key_path;
  std::string ca_path;
  std::string peer_name;
  std::vector<std::string> peer_fingerprints;
  std::optional<std::uint8_t> dscp;
  std::optional<unsigned> cpu;
  std::string engine = "auto";
  std::optional<unsigned> server_cpu;  ///< what a client asks of its server
  EndpointConfig::InjectedFaults inject;
  std::optional<std::uint64_t> seed;

  bool json = false;
  bool json_stream = false;
  bool server_output = false;
  std::string logfile;
  std::string pidfile;
  bool daemon = false;
  std::string reset_key_path;
  std::string reset_key;  ///< what the file holds
  bool one_off = false;
  bool verbose = false;

  std::string sample_path;
  std::uint64_t sample_bytes = 64u << 20;
  std::string new_key_path;
  std::string key_name;  ///< empty = this host's
};

inline constexpr Duration kDefaultTime = std::chrono::seconds(10);
inline constexpr std::uint64_t kDefaultSize = 64u << 20;

}  // namespace longhaul::apps::perf
