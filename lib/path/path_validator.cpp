// SPDX-License-Identifier: Apache-2.0
#include "lib/path/path_validator.hpp"

#include <algorithm>

namespace longhaul::path {
namespace {
constexpr std::uint64_t kAmplificationFactor = 3;  // RFC 9000 §8.1
constexpr int kTriesMax = 5;
// Home is asked three times, half a PTO apart, and has a PTO for the last: a path that moved is
// followed after two, and one that lives is not left for a packet that was lost.
constexpr int kHomeTries = 3;
constexpr std::int64_t kDecideAfter = 2;
// Home has just answered: for so long nobody else is listened to. A peer that really moves in this
// very second is followed after it.
constexpr Duration kSettled = std::chrono::seconds(1);
}  // namespace

void PathValidator::on_new_address(Timestamp now, const SocketAddress& candidate,
                                   const SocketAddress& home, std::size_t bytes, Duration pto,
                                   base::RandomSource& random) {
  if (now < settled_until_) return;
  if (!active_ || candidate_.to != candidate) {
    pto_ = pto;
    // Whoever claims one address after the other does not make us ask home each time.
    if (!active_ || now >= decide_at_) ask_home(now, home, random);
    candidate_ = {candidate, random.next(), 0, false, now};
    answered_ = false;
    bytes_heard_ = bytes_sent_ = 0;
    active_ = true;
  }
  bytes_heard_ += bytes;
}

void PathValidator::ask_home(Timestamp now, const SocketAddress& home, base::RandomSource& random) {
  home_ = {home, random.next(), 0, false, now};
  decide_at_ = now + kDecideAfter * pto_;
}

void PathValidator::end() noexcept {
  active_ = false;
  home_.due = candidate_.due = kNever;
}

std::optional<PathValidator::Challenge> PathValidator::poll_challenge(Timestamp now,
                                                                      std::size_t bytes) {
  if (!active_) return std::nullopt;
  if (now >= home_.due) {
    home_.due = ++home_.tries == kHomeTries ? kNever : now + pto_ / 2;
    home_.asked = true;
    return Challenge{home_.to, home_.data};
  }
  if (now < candidate_.due) return std::nullopt;
  if (candidate_.tries == kTriesMax) {
    end();
    return std::nullopt;
  }
  ++candidate_.tries;
  candidate_.due = now + pto_;
  if (bytes_sent_ + bytes > kAmplificationFactor * bytes_heard_) return std::nullopt;
  bytes_sent_ += bytes;
  candidate_.asked = true;
  return Challenge{candidate_.to, candidate_.data};
}

void PathValidator::on_response(Timestamp now, const SocketAddress& from, std::uint64_t data) {
  if (!active_) return;
  if (home_.asked && data == home_.data) {
    settled_until_ = now + kSettled;
    return end();
  }
  if (!candidate_.asked || data != candidate_.data || from != candidate_.to) return;
  answered_ = true;
  candidate_.due = kNever;
}

std::optional<SocketAddress> PathValidator::take_decision(Timestamp now) {
  if (!active_ || !answered_ || now < decide_at_) return std::nullopt;
  end();
  return candidate_.to;
}

Timestamp PathValidator::next_timeout() const noexcept {
  if (!active_) return kNever;
  return std::min({home_.due, candidate_.due, answered_ ? decide_at_ : kNever});
}

}  // namespace longhaul::path
