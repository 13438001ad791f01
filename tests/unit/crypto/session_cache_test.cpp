// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/session_cache.hpp"

#include <gtest/gtest.h>

#include <string>

namespace longhaul::crypto {
namespace {

TEST(SessionCache, gives_each_session_once) {
  SessionCache cache;
  SSL_SESSION* const session = SSL_SESSION_new();
  cache.put("a", SslSessionPtr(session));
  EXPECT_EQ(cache.take("b"), nullptr);
  EXPECT_EQ(cache.take("a").get(), session);
  EXPECT_EQ(cache.take("a"), nullptr);
}

TEST(SessionCache, keeps_the_newest_session_of_a_peer_and_the_newest_peers) {
  SessionCache cache;
  for (std::size_t i = 0; i < 2 * SessionCache::kPeersMax; ++i) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      cache.put(std::to_string(i), SslSessionPtr(SSL_SESSION_new()));
    }
    EXPECT_EQ(cache.size(), std::min(i + 1, SessionCache::kPeersMax));
  }
  EXPECT_EQ(cache.take(std::to_string(SessionCache::kPeersMax - 1)), nullptr);
  EXPECT_NE(cache.take(std::to_string(SessionCache::kPeersMax)), nullptr);
}

}  // namespace
}  // namespace longhaul::crypto
