// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/closing.hpp"

#include <algorithm>
#include <bit>

namespace longhaul::connection {
namespace {
// The first close may be lost and the peer may have nothing to send that would ask for another.
constexpr int kUnaskedCopies = 3;
constexpr Duration kCopySpacing = std::chrono::milliseconds(2);
}  // namespace

void Closing::close(Timestamp now, wire::CloseCode code, std::string reason, Duration linger) {
  if (state_ != State::open) return;
  state_ = State::closing;
  code_ = code;
  reason_ = std::move(reason);
  repeat_at_ = now;
  ends_at_ = now + linger;
}

void Closing::drain(Timestamp now, Duration linger) {
  if (state_ == State::draining || state_ == State::done) return;
  state_ = State::draining;
  ends_at_ = now + linger;
}

void Closing::on_packet() noexcept {
  if (state_ != State::closing) return;
  if (std::has_single_bit(++packets_seen_)) repeat_asked_ = true;
}

void Closing::on_close_sent(Timestamp now, Duration pto) noexcept {
  repeat_asked_ = false;
  ++sent_;
  repeat_at_ = sent_ < kUnaskedCopies ? now + std::min(pto, kCopySpacing) : kNever;
}

void Closing::handle_timeout(Timestamp now) noexcept {
  if (now >= ends_at_) state_ = State::done;
}

Timestamp Closing::next_timeout() const noexcept {
  if (state_ == State::open || state_ == State::done) return kNever;
  if (state_ == State::draining) return ends_at_;
  if (repeat_asked_) return Timestamp::min();
  return std::min(ends_at_, repeat_at_);
}

}  // namespace longhaul::connection
