// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/random_source.hpp"
#include "longhaul/address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::path {

/// RFC 9000 §8.2 and §9: a peer seen under a new address is challenged there; only its answer moves
/// the path. One candidate at a time; at most three times the bytes heard from it are sent to it
/// before it answers.
class PathValidator {
 public:
  /// A valid packet with a new highest number came from `address`.
  void on_new_address(Timestamp now, const SocketAddress& address, std::size_t bytes, Duration pto,
                      base::RandomSource& random);
  /// A challenge of `bytes` to send now, if any.
  struct Challenge {
    SocketAddress to;
    std::uint64_t data = 0;
  };
  std::optional<Challenge> poll_challenge(Timestamp now, std::size_t bytes);
  /// The address the answer confirms, if it does.
  std::optional<SocketAddress> on_response(std::uint64_t data);
  Timestamp next_timeout() const noexcept;

 private:
  static constexpr int kTriesMax = 5;
  bool active_ = false;
  SocketAddress candidate_{};
  std::uint64_t data_ = 0;
  std::uint64_t bytes_heard_ = 0;
  std::uint64_t bytes_sent_ = 0;
  int tries_ = 0;  // also those that the limit did not let out
  Duration pto_{};
  Timestamp due_ = kNever;
};

}  // namespace longhaul::path
