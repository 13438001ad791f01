// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/crypto/openssl.hpp"

namespace longhaul::crypto {

/// Sessions a client may resume, one a peer. Each is used once (RFC 8446 appendix C.4).
class SessionCache {
 public:
  static constexpr std::size_t kPeersMax = 64;

  /// Replaces what there was for that peer; when full, the oldest goes.
  void put(std::string_view peer, SslSessionPtr session);
  /// Null if there is none.
  SslSessionPtr take(std::string_view peer);
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string peer;
    SslSessionPtr session;
  };
  std::vector<Entry> entries_;  // oldest first
};

}  // namespace longhaul::crypto
