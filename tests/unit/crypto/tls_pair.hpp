// SPDX-License-Identifier: Apache-2.0
// Two TLS sessions and what goes to and fro between them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/crypto/credentials.hpp"
#include "lib/crypto/tls_session.hpp"
#include "tests/support/certificates.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::crypto::test {

using wire::test::Bytes;
using wire::test::hex;

inline std::shared_ptr<Credentials> psk(std::string_view identity, unsigned char fill = 7) {
  PskKey key;
  key.identity = identity;
  std::ranges::fill(key.secret.writable(), std::byte{fill});
  return Credentials::from_psk(key).value();
}

inline CertificateKeys keys_of(const tests::Certified& own, std::string ca_pem,
                               std::string peer_name = {}) {
  return {own.certificate_pem, own.private_key_pem, std::move(ca_pem), std::move(peer_name), {}};
}

inline std::shared_ptr<Credentials> certificates(const CertificateKeys& keys) {
  return Credentials::from_certificates(keys).value();
}

/// Client and server of one handshake.
struct TlsPair {
  TlsSession client;
  TlsSession server;
  std::size_t flights = 0;
  std::size_t bytes = 0;

  TlsPair(Credentials& of_client, Credentials& of_server, std::string_view peer = "server")
      : client(of_client, TlsRole::client, hex("c1c2c3"), peer),
        server(of_server, TlsRole::server, hex("5e5f"), "") {}
  /// Both with the same credentials.
  explicit TlsPair(Credentials& both) : TlsPair(both, both) {}

  /// Until nobody has anything left to say; `step` bytes at a time.
  void run(std::size_t step = 100'000) {
    client.receive({});
    while (carry(client, server, step) || carry(server, client, step)) {
    }
  }
  bool carry(TlsSession& from, TlsSession& to, std::size_t step = 100'000) {
    Bytes flight;
    from.take_output(flight);
    if (flight.empty()) return false;
    ++flights;
    bytes += flight.size();
    for (std::size_t at = 0; at < flight.size(); at += step) {
      to.receive(std::span(flight).subspan(at, std::min(step, flight.size() - at)));
    }
    return true;
  }
  bool both_finished() const {
    return client.finished() && server.finished() && !client.failure() && !server.failure();
  }
};

/// "" if there is none.
inline std::string failure_of(const TlsSession& session) {
  return session.failure().value_or("");
}

}  // namespace longhaul::crypto::test
