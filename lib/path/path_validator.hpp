// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/random_source.hpp"
#include "longhaul/address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::path {

/// RFC 9000 §8.2 and §9: a peer seen under a new address (the candidate) is challenged there, and
/// where it was (home) is asked too. The path moves once the candidate has answered and home has
/// not: whoever copies the peer's packets and is faster than it can answer in its place, but not
/// keep home from answering. One candidate at a time; at most three times the bytes heard from it
/// are sent to it before it answers.
class PathValidator {
 public:
  /// A valid packet with a new highest number came from `candidate`, not from `home`.
  void on_new_address(Timestamp now, const SocketAddress& candidate, const SocketAddress& home,
                      std::size_t bytes, Duration pto, base::RandomSource& random);
  /// A challenge of `bytes` to send now, if any. Call until there is none.
  struct Challenge {
    SocketAddress to;
    std::uint64_t data = 0;
  };
  std::optional<Challenge> poll_challenge(Timestamp now, std::size_t bytes);
  /// The candidate's answer has to come from there. Home's may come from anywhere: it proves that
  /// somebody receives at home, whoever brought it.
  void on_response(Timestamp now, const SocketAddress& from, std::uint64_t data);
  /// The address to move to, once that is decided. Ask after a response and when time has come.
  std::optional<SocketAddress> take_decision(Timestamp now);
  Timestamp next_timeout() const noexcept;

 private:
  struct Question {
    SocketAddress to{};
    std::uint64_t data = 0;
    int tries = 0;  // also those that the limit did not let out
    bool asked = false;
    Timestamp due = kNever;
  };
  void ask_home(Timestamp now, const SocketAddress& home, base::RandomSource& random);
  void end() noexcept;

  bool active_ = false;
  Question candidate_;
  Question home_;
  bool answered_ = false;  // by the candidate
  std::uint64_t bytes_heard_ = 0;
  std::uint64_t bytes_sent_ = 0;
  Duration pto_{};
  Timestamp decide_at_ = kNever;
  Timestamp settled_until_ = Timestamp::min();
};

}  // namespace longhaul::path
