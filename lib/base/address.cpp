// SPDX-License-Identifier: Apache-2.0
#include "longhaul/address.hpp"

#include <arpa/inet.h>

#include <charconv>
#include <system_error>

namespace longhaul {
namespace {

constexpr std::size_t kQuotedMax = 64;

tl::unexpected<Error> refuse(std::string_view host, std::string_view why) {
  std::string context = "'";
  context.append(host.substr(0, kQuotedMax)).append("' ").append(why);
  return fail(ErrorCode::invalid_argument, std::move(context));
}

}  // namespace

Result<SocketAddress> SocketAddress::parse(std::string_view host, std::uint16_t port) {
  SocketAddress address;
  address.port = port;
  const std::size_t percent = host.find('%');
  // inet_pton reads up to a NUL, so one inside would hide what follows it.
  const std::string number(host.substr(0, percent));
  const bool terminated = number.find('\0') == std::string::npos;
  if (terminated && percent == std::string_view::npos &&
      inet_pton(AF_INET, number.c_str(), address.bytes.data()) == 1) {
    return address;
  }
  if (!terminated || inet_pton(AF_INET6, number.c_str(), address.bytes.data()) != 1) {
    return refuse(host,
                  "is no numeric IP address; write 192.0.2.1 or 2001:db8::1, or resolve() it");
  }
  address.family = AddressFamily::ipv6;
  if (percent == std::string_view::npos) return address;
  const std::string_view scope = host.substr(percent + 1);
  const auto [end, error] =
      std::from_chars(scope.data(), scope.data() + scope.size(), address.scope_id);
  if (scope.empty() || error != std::errc{} || end != scope.data() + scope.size()) {
    return refuse(host, "names its interface; write the index (fe80::1%2), or resolve() it");
  }
  return address;
}

std::string to_string(const SocketAddress& address) {
  char number[INET6_ADDRSTRLEN] = {};
  const bool v6 = address.family == AddressFamily::ipv6;
  inet_ntop(v6 ? AF_INET6 : AF_INET, address.bytes.data(), number, sizeof number);
  const std::string port = std::to_string(address.port);
  if (!v6) return std::string(number).append(":").append(port);
  std::string text = "[";
  text.append(number);
  if (address.scope_id != 0) text.append("%").append(std::to_string(address.scope_id));
  return text.append("]:").append(port);
}

}  // namespace longhaul
