// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lib/wire/frame.hpp"
#include "longhaul/status.hpp"
#include "longhaul/time.hpp"

namespace longhaul::connection {

/// RFC 9000 §10.2: closing (we end it and say so) and draining (the peer did, or is gone).
class Closing {
 public:
  enum class State : std::uint8_t { open, closing, draining, done };

  State state() const noexcept { return state_; }
  bool is_open() const noexcept { return state_ == State::open; }

  void close(Timestamp now, wire::CloseCode code, std::string reason, Duration linger);
  void drain(Timestamp now, Duration linger);
  /// Nothing to say and nobody to wait for.
  void finish() noexcept { state_ = State::done; }
  /// A packet came although we have closed: say it again, ever more rarely.
  void on_packet() noexcept;

  bool close_due(Timestamp now) const noexcept {
    return state_ == State::closing && (repeat_asked_ || now >= repeat_at_);
  }
  wire::ConnectionClose frame() const noexcept {
    return {static_cast<std::uint16_t>(code_), 0, reason_};
  }
  void on_close_sent(Timestamp now, Duration pto) noexcept;
  void handle_timeout(Timestamp now) noexcept;
  Timestamp next_timeout() const noexcept;

 private:
  State state_ = State::open;
  wire::CloseCode code_ = wire::CloseCode::no_error;
  std::string reason_;
  Timestamp ends_at_ = kNever;
  Timestamp repeat_at_ = kNever;
  bool repeat_asked_ = false;
  std::uint32_t packets_seen_ = 0;
  int sent_ = 0;
};

}  // namespace longhaul::connection
