// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/endpoint_setup.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"

namespace longhaul::apps::perf {

namespace {

std::string_view flag_that_helps(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::address_in_use:
      return "choose another port with -p, or stop the server that holds this one";
    case ErrorCode::unknown_host:
      return "check the spelling of the host given with -c or -B";
    case ErrorCode::wrong_family:
      return "give -c and -B addresses of the same family, both IPv4 or both IPv6";
    case ErrorCode::cannot_fill_pipe:
      return "lower -b or --rtt-max";
    case ErrorCode::version_mismatch:
      return "install the same release on both ends";
    default:
      return "";
  }
}

struct Spelling {
  std::string_view library;
  std::string_view flag;
};

constexpr std::array kSpellings{
    Spelling{"worker_cpu", "-A"},
    Spelling{"heartbeat", "--heartbeat"},
    Spelling{"peer_timeout", "--peer-timeout"},
    Spelling{"connect_timeout", "--connect-timeout"},
    Spelling{"rtt_max", "--rtt-max"},
    Spelling{"rate_bps", "-b"},
    Spelling{"mtu_max", "--mtu"},
    Spelling{"psk_file", "--key"},
    Spelling{"certificate_file", "--cert"},
    Spelling{"private_key_file", "--cert-key"},
    Spelling{"ca_file", "--ca"},
    Spelling{"peer_name", "--peer-name"},
    Spelling{"peer_fingerprints", "--peer-fingerprint"},
    Spelling{"leave it unset", "leave it out"},
    Spelling{"or 0 for a fifth", "or left out for a fifth"},
    Spelling{"choose another port", "choose another port with -p"},
    Spelling{"choose a higher port", "choose a higher port with -p"},
};

bool in_word(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

union SystemAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t to_system(const SocketAddress& address, SystemAddress& system) noexcept {
  system = {};
  if (address.family == AddressFamily::ipv4) {
    system.v4.sin_family = AF_INET;
    system.v4.sin_port = htons(address.port);
    std::memcpy(&system.v4.sin_addr, address.bytes.data(), sizeof system.v4.sin_addr);
    return sizeof system.v4;
  }
  system.v6.sin6_family = AF_INET6;
  system.v6.sin6_port = htons(address.port);
  system.v6.sin6_scope_id = address.scope_id;
  std::memcpy(&system.v6.sin6_addr, address.bytes.data(), sizeof system.v6.sin6_addr);
  return sizeof system.v6;
}

}  // namespace

std::string in_flags(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const bool word_begins = result.empty() || !in_word(result.back());
    const auto spelling =
        std::find_if(kSpellings.begin(), kSpellings.end(), [&](const Spelling& one) {
          const std::size_t end = one.library.size();
          return word_begins && text.starts_with(one.library) &&
                 (text.size() == end || !in_word(text[end]));
        });
    if (spelling == kSpellings.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += spelling->flag;
      text.remove_prefix(spelling->library.size());
    }
  }
  return result;
}

Result<Endpoint> open_endpoint(const Options& options, const SocketAddress& local) {
  auto endpoint = Endpoint::open(endpoint_config(options, local));
  if (!endpoint) endpoint.error().context = in_flags(endpoint.error().context);
  return endpoint;
}

SocketAddress address_toward(const Options& options, const SocketAddress& local,
                             const SocketAddress& remote) {
  const SocketAddress wildcard = any_address(local.family, local.port);
  if (local != wildcard || local.family != remote.family) return local;
  const int family = local.family == AddressFamily::ipv4 ? AF_INET : AF_INET6;
  const FileDescriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string& device = options.device;
  SystemAddress system;
  const socklen_t size = to_system(remote, system);
  // Connecting a datagram socket sends nothing; it asks the routes.
  if (socket.get() < 0 ||
      (!device.empty() && ::setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                                       static_cast<socklen_t>(device.size())) != 0) ||
      ::connect(socket.get(), &system.any, size) != 0) {
    return local;
  }
  socklen_t got = sizeof system;
  if (::getsockname(socket.get(), &system.any, &got) != 0) return local;
  SocketAddress known = wildcard;
  if (family == AF_INET) {
    std::memcpy(known.bytes.data(), &system.v4.sin_addr, sizeof system.v4.sin_addr);
  } else {
    std::memcpy(known.bytes.data(), &system.v6.sin6_addr, sizeof system.v6.sin6_addr);
    known.scope_id = system.v6.sin6_scope_id;
  }
  return known;
}

SocketAddress any_address(AddressFamily family, std::uint16_t port) noexcept {
  SocketAddress address;
  address.family = family;
  address.port = port;
  return address;
}

EndpointConfig endpoint_config(const Options& options, const SocketAddress& local) {
  EndpointConfig config;
  config.local = local;
  config.controller = options.controller;
  config.rate_bps = options.rate_bps;
  config.security = options.security;
  config.psk_file = options.key_path;
  config.certificate_file = options.certificate_path;
  config.private_key_file = options.private_key_path;
  config.ca_file = options.ca_path;
  config.peer_name = options.peer_name;
  config.peer_fingerprints = options.peer_fingerprints;
  config.worker_cpu = options.cpu;
  config.engine = options.engine;
  config.device = options.device;
  config.stateless_reset_key = options.reset_key;
  if (options.dscp)
    config.dscp.codepoints[static_cast<std::size_t>(TrafficClass::bulk)] = *options.dscp;
  config.inject = options.inject;
  config.seed = options.seed;
  if (options.rtt_max) config.rtt_max = *options.rtt_max;
  if (options.peer_timeout) config.peer_timeout = *options.peer_timeout;
  if (options.heartbeat) config.heartbeat = *options.heartbeat;
  if (options.mtu) {
    config.mtu_max = *options.mtu;
    config.mtu_base = std::min(config.mtu_base, *options.mtu);
  }
  const bool verbose = options.verbose;
  config.log = [verbose](LogLevel level, std::string_view line) {
    // That there is no security this program has said itself,
    // and who was lost it says as the end of a test.
    const bool said = line.starts_with("security is none") ||
                      line.find(" ended peer_lost: ") != std::string_view::npos;
    const bool worth_it = level >= LogLevel::warning && !said;
    if (!verbose && !worth_it) return;
    std::fprintf(stderr, "longhaul: %.*s\n", static_cast<int>(line.size()), line.data());
  };
  return config;
}

std::string_view security_name(const Options& options) noexcept {
  if (!options.security.empty()) return options.security;
  return options.key_path.empty() ? "certificates" : "psk";
}

Result<SocketAddress> resolve_host(const Options& options, const std::string& host,
                                   std::uint16_t port) {
  auto address = resolve(host, port, options.family);
  if (address) return address;
  const std::size_t colon = host.rfind(':');
  const bool one_colon = colon != std::string::npos && host.find(':') == colon;
  if (address.error().code == ErrorCode::unknown_host && one_colon) {
    address.error().context += fmt::format("; name the port with -p: -c {} -p {}",
                                           host.substr(0, colon), host.substr(colon + 1));
  }
  return address;
}

Result<SocketAddress> local_address(const Options& options, AddressFamily family,
                                    std::uint16_t port) {
  if (options.bind.empty()) return any_address(family, port);
  // A link-local address is one only together with its interface.
  const bool link_local = options.bind.starts_with("fe80:") && !options.device.empty();
  return resolve_host(options, link_local ? options.bind + '%' + options.device : options.bind,
                      port);
}

Error ended_error(const Connection& connection) {
  const Status status = connection.status();
  const ErrorCode code = status == Status::peer_lost ? ErrorCode::peer_lost : ErrorCode::closed;
  const std::string reason = in_flags(printable(connection.reason()));
  if (!reason.empty()) return {code, 0, reason};
  return {code, 0, fmt::format("the connection ended ({})", longhaul::to_string(status))};
}

std::string explain(const Error& error) {
  // These say nothing that the text does not say better.
  const bool code_is_noise = error.code == ErrorCode::closed || error.code == ErrorCode::refused ||
                             error.code == ErrorCode::not_authenticated;
  if (code_is_noise && error.os_error == 0 && !error.context.empty()) return error.context;
  std::string text = to_string(error);
  const std::string_view remedy = flag_that_helps(error.code);
  // The library's remedy is the better one; it stands behind a semicolon.
  if (remedy.empty() || error.context.find(';') != std::string::npos) return text;
  return fmt::format("{}; {}", text, remedy);
}

}  // namespace longhaul::apps::perf
