// SPDX-License-Identifier: Apache-2.0
// Hosts with keys for the network of network.hpp.
#pragma once

#include <algorithm>
#include <memory>

#include "lib/crypto/credentials.hpp"
#include "tests/support/certificates.hpp"
#include "tests/unit/connection/network.hpp"

namespace longhaul::endpoint {

inline std::shared_ptr<crypto::Credentials> psk(unsigned char fill = 7) {
  crypto::PskKey key;
  key.identity = "test";
  std::ranges::fill(key.secret.writable(), std::byte{fill});
  return crypto::Credentials::from_psk(key).value();
}

inline std::shared_ptr<crypto::Credentials> certificates(const tests::Certified& own,
                                                         std::string ca_pem,
                                                         std::string peer_name = {}) {
  return crypto::Credentials::from_certificates({own.certificate_pem,
                                                 own.private_key_pem,
                                                 std::move(ca_pem),
                                                 std::move(peer_name),
                                                 {}})
      .value();
}

inline Host& add_secure(Network& network, std::uint8_t number,
                        std::shared_ptr<crypto::Credentials> credentials,
                        const EndpointConfig& config = Network::config(),
                        crypto::AeadLimits limits = {}) {
  Environment environment = Network::environment(number);
  environment.credentials = std::move(credentials);
  environment.aead_limits = limits;
  return network.add(number, config, environment);
}

}  // namespace longhaul::endpoint
