// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace longhaul::io::kernel {
namespace {

/// The system is short of room and will have some again; anything else is about this datagram.
bool is_shortage(int cause) noexcept {
  return cause == EAGAIN || cause == ENOBUFS || cause == ENOMEM;
}

/// A message of many datagrams fails with these where the single datagrams may well pass: segments
/// above the MTU, or a device or transform (IPsec) that cannot cut messages.
bool is_about_segmentation(int cause) noexcept {
  return cause == EMSGSIZE || cause == EINVAL || cause == EIO;
}

/// What the system says about the way to a destination, not about the datagram.
std::optional<base::Hindrance> hindrance_of(int cause) noexcept {
  if (cause == ENETUNREACH || cause == EHOSTUNREACH) return base::Hindrance::no_route;
  if (cause == EPERM || cause == EACCES) return base::Hindrance::forbidden;
  return std::nullopt;
}

}  // namespace

Engine::Engine(const Socket& socket, bool segmentation, std::size_t receive_messages)
    : socket_(socket),
      segmentation_(segmentation && socket.segmentation()),
      grouped_(std::make_unique<TxBatch>()),
      single_(std::make_unique<TxBatch>()),
      received_(receive_messages) {}

std::size_t Engine::transmit(std::span<const base::TxDatagram> burst) noexcept {
  std::size_t done = 0;
  while (done < burst.size()) {
    const auto rest = burst.subspan(done);
    const std::size_t filled = grouped_->fill(rest, train_limits());
    const Progress progress = send_batch(*grouped_, rest.first(filled));
    done += progress.datagrams;
    if (progress.blocked) {
      ++stats_.blocked;
      break;
    }
  }
  return done;
}

Engine::Progress Engine::send_batch(TxBatch& batch,
                                    std::span<const base::TxDatagram> datagrams) noexcept {
  std::size_t next = 0;
  std::size_t done = 0;
  bool asked_again = false;
  while (next < batch.messages().size()) {
    const Sent sent = send(batch, next, datagrams.subspan(done));
    for (std::size_t i = 0; i < sent.messages; ++i, ++next) {
      stats_.datagrams_sent += batch.datagrams(next);
      done += batch.datagrams(next);
    }
    if (sent.messages > 0) asked_again = false;
    if (sent.error == 0) continue;
    if (is_maybe_stale(sent.error) && !asked_again) {
      asked_again = true;
      continue;
    }
    asked_again = false;
    const std::size_t count = batch.datagrams(next);
    const Progress progress = settle(sent.error, datagrams.subspan(done, count));
    done += progress.datagrams;
    if (progress.blocked) return {done, true};
    ++next;
  }
  return {done, false};
}

// With errors watched for, what ICMP says of an earlier datagram is reported on this one, and is
// cleared by that. What comes again is our own system's answer.
bool Engine::is_maybe_stale(int cause) const noexcept {
  return cause == ECONNREFUSED || cause == EINTR ||
         (socket_.watches_refusals() && hindrance_of(cause).has_value());
}

Engine::Progress Engine::settle(int cause, std::span<const base::TxDatagram> message) noexcept {
  if (is_shortage(cause)) return {0, true};
  if (message.size() > 1 && is_about_segmentation(cause)) return send_singly(cause, message);
  // Unreachable, forbidden or malformed: the caller could only send it again and get the same.
  if (cause == EMSGSIZE) {
    stats_.too_big += message.size();
    too_big_.add({message.front().remote, static_cast<std::uint32_t>(message.front().size())});
  } else {
    stats_.send_errors += message.size();
  }
  if (const auto hindrance = hindrance_of(cause)) {
    socket_.note_refusal({message.front().remote, *hindrance});
  }
  return {message.size(), false};
}

Engine::Progress Engine::send_singly(int cause,
                                     std::span<const base::TxDatagram> message) noexcept {
  // EIO is about the device or the route's transform and will come every time.
  if (cause == EIO) segmentation_ = false;
  const std::size_t filled = single_->fill(message, {.segmentation = false});
  return send_batch(*single_, message.first(filled));
}

std::size_t Engine::receive(Timestamp now, std::span<base::RxDatagram> out) noexcept {
  if (out.empty()) return 0;
  if (!received_.pending() && !read(now, out.size())) return 0;
  stats_.receive_dropped += received_.take_lost();
  const std::size_t taken = received_.take(out);
  stats_.datagrams_received += taken;
  return taken;
}

}  // namespace longhaul::io::kernel
