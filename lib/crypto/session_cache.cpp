// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/session_cache.hpp"

#include <algorithm>
#include <utility>

namespace longhaul::crypto {

void SessionCache::put(std::string_view peer, SslSessionPtr session) {
  (void)take(peer);
  if (entries_.size() == kPeersMax) entries_.erase(entries_.begin());
  entries_.push_back({std::string(peer), std::move(session)});
}

SslSessionPtr SessionCache::take(std::string_view peer) {
  const auto found = std::ranges::find(entries_, peer, &Entry::peer);
  if (found == entries_.end()) return nullptr;
  SslSessionPtr session = std::move(found->session);
  entries_.erase(found);
  return session;
}

}  // namespace longhaul::crypto
