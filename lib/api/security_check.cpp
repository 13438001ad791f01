// SPDX-License-Identifier: Apache-2.0
#include "lib/api/security_check.hpp"

#include <array>
#include <string>

namespace longhaul::api {
namespace {

constexpr std::array kAll{Security::psk, Security::certificates, Security::none};

tl::unexpected<Error> invalid(std::string context) {
  return fail(ErrorCode::invalid_argument, std::move(context));
}

/// The first of these settings that says something; empty if none does.
std::string psk_setting(const EndpointConfig& config) {
  if (!config.psk_file.empty()) return "psk_file";
  return config.psk.empty() ? "" : "psk";
}

std::string certificate_setting(const EndpointConfig& config) {
  if (!config.certificate_file.empty()) return "certificate_file";
  if (!config.private_key_file.empty()) return "private_key_file";
  if (!config.ca_file.empty()) return "ca_file";
  if (!config.peer_name.empty()) return "peer_name";
  return config.peer_fingerprints.empty() ? "" : "peer_fingerprints";
}

tl::unexpected<Error> nothing_set() {
  return invalid(
      "no key is set, and nothing is assumed; make one for both ends and name it:\n"
      "    longhaul-perf --generate-key FILE\n"
      "    config.psk_file = \"FILE\";\n"
      "or, on a closed line, do without it by name:\n"
      "    config.security = \"none\";");
}

tl::unexpected<Error> contradiction(std::string_view security, const std::string& setting) {
  return invalid("security is \"" + std::string(security) + "\", but " + setting +
                 " is set too; leave one of them out");
}

Result<Security> check_psk(const EndpointConfig& config) {
  if (!config.psk.empty() && !config.psk_file.empty()) {
    return invalid("psk and psk_file are both set; leave one of them out");
  }
  if (config.psk.empty() && config.psk_file.empty()) {
    return invalid("security is \"psk\", but neither psk nor psk_file is set; set one of them");
  }
  return Security::psk;
}

Result<Security> check_certificates(const EndpointConfig& config) {
  if (config.certificate_file.empty()) {
    return invalid("certificate_file is not set, but both ends show one; name a PEM file");
  }
  if (config.private_key_file.empty()) {
    return invalid("private_key_file is not set; name the PEM file of the key to certificate_file");
  }
  const bool pinned = !config.peer_fingerprints.empty();
  if (!pinned && config.ca_file.empty()) {
    return invalid(
        "neither ca_file nor peer_fingerprints is set, so no peer can be believed; set one of "
        "them");
  }
  // Nobody shall rely on a check that is not made.
  if (pinned && (!config.ca_file.empty() || !config.peer_name.empty())) {
    return invalid(std::string(config.ca_file.empty() ? "peer_name" : "ca_file") +
                   " and peer_fingerprints are both set, but fingerprints decide alone; leave one "
                   "of them out");
  }
  // OpenSSL would believe every name below it, however deep.
  if (config.peer_name.starts_with('.')) {
    return invalid("peer_name " + config.peer_name +
                   " begins with a dot, as no host's name does; give the whole name the peer's "
                   "certificate is made out to");
  }
  return Security::certificates;
}

}  // namespace

std::string_view to_string(Security security) noexcept {
  switch (security) {
    case Security::none:
      return "none";
    case Security::psk:
      return "psk";
    case Security::certificates:
      return "certificates";
  }
  return "unknown";
}

Result<Security> check_security(const EndpointConfig& config) {
  const std::string psk = psk_setting(config);
  const std::string certificate = certificate_setting(config);
  const std::string& asked = config.security;
  bool known = asked.empty();
  for (const Security one : kAll) known |= asked == to_string(one);
  if (!known) {
    return invalid("there is no security \"" + asked + "\"; there are: psk, certificates, none");
  }
  if (asked == "none" && !(psk + certificate).empty()) {
    return contradiction(asked, psk.empty() ? certificate : psk);
  }
  if (asked == "psk" && !certificate.empty()) return contradiction(asked, certificate);
  if (asked == "certificates" && !psk.empty()) return contradiction(asked, psk);
  if (!psk.empty() && !certificate.empty()) {
    return invalid(psk + " and " + certificate +
                   " are both set, but an endpoint has one kind of key; leave one of them out");
  }
  if (asked == "none") return Security::none;
  if (asked == "psk" || !psk.empty()) return check_psk(config);
  if (asked == "certificates" || !certificate.empty()) return check_certificates(config);
  return nothing_set();
}

}  // namespace longhaul::api
