// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/mmsg_engine.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace longhaul::io::kernel {
namespace {

/// Pending socket errors one `receive` clears before it leaves the rest to the next.
constexpr int kReadAttempts = 4;

/// The system is short of room and will have some again; anything else is about this datagram.
bool is_shortage(int cause) noexcept {
  return cause == EAGAIN || cause == ENOBUFS || cause == ENOMEM;
}

/// A message of many datagrams fails with these where the single datagrams may well pass: segments
/// above the MTU, or a device or transform (IPsec) that cannot cut messages.
bool is_about_segmentation(int cause) noexcept {
  return cause == EMSGSIZE || cause == EINVAL || cause == EIO;
}

}  // namespace

MmsgEngine::MmsgEngine(const Socket& socket, bool segmentation, std::size_t receive_messages)
    : socket_(socket),
      segmentation_(segmentation && socket.segmentation()),
      grouped_(std::make_unique<TxBatch>()),
      single_(std::make_unique<TxBatch>()),
      received_(std::max<std::size_t>(receive_messages, 1)) {}

std::size_t MmsgEngine::transmit(std::span<const base::TxDatagram> burst) noexcept {
  std::size_t done = 0;
  while (done < burst.size()) {
    const auto rest = burst.subspan(done);
    const std::size_t filled = grouped_->fill(rest, segmentation_);
    const Progress progress = send(*grouped_, rest.first(filled));
    done += progress.datagrams;
    if (progress.blocked) {
      ++stats_.blocked;
      break;
    }
  }
  return done;
}

MmsgEngine::Progress MmsgEngine::send(TxBatch& batch,
                                      std::span<const base::TxDatagram> datagrams) noexcept {
  const std::span<mmsghdr> messages = batch.messages();
  std::size_t next = 0;
  std::size_t done = 0;
  bool asked_again = false;
  while (next < messages.size()) {
    const auto rest = messages.subspan(next);
    ++stats_.send_calls;
    const int sent = sendmmsg(socket_.number(), rest.data(), static_cast<unsigned>(rest.size()), 0);
    if (sent > 0) {
      const std::size_t end = next + static_cast<std::size_t>(sent);
      for (; next < end; ++next) {
        stats_.datagrams_sent += batch.datagrams(next);
        done += batch.datagrams(next);
      }
      asked_again = false;
      continue;
    }
    const int cause = errno;
    // A refusal is the answer to an earlier datagram, reported on this one; it is cleared by now.
    if ((cause == ECONNREFUSED || cause == EINTR) && !asked_again) {
      asked_again = true;
      continue;
    }
    asked_again = false;
    const std::size_t count = batch.datagrams(next);
    const Progress progress = settle(cause, datagrams.subspan(done, count));
    done += progress.datagrams;
    if (progress.blocked) return {done, true};
    ++next;
  }
  return {done, false};
}

MmsgEngine::Progress MmsgEngine::settle(int cause,
                                        std::span<const base::TxDatagram> message) noexcept {
  if (is_shortage(cause)) return {0, true};
  if (message.size() > 1 && is_about_segmentation(cause)) return send_singly(cause, message);
  // Unreachable, forbidden or malformed: the caller could only send it again and get the same.
  if (cause == EMSGSIZE) {
    stats_.too_big += message.size();
  } else {
    stats_.send_errors += message.size();
  }
  return {message.size(), false};
}

MmsgEngine::Progress MmsgEngine::send_singly(int cause,
                                             std::span<const base::TxDatagram> message) noexcept {
  // EIO is about the device or the route's transform and will come every time.
  if (cause == EIO) segmentation_ = false;
  const std::size_t filled = single_->fill(message, false);
  return send(*single_, message.first(filled));
}

std::size_t MmsgEngine::receive(Timestamp now, std::span<base::RxDatagram> out) noexcept {
  if (out.empty()) return 0;
  if (!received_.pending() && !read(now, out.size())) return 0;
  const std::size_t taken = received_.take(out);
  stats_.datagrams_received += taken;
  return taken;
}

bool MmsgEngine::read(Timestamp now, std::size_t datagrams) noexcept {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    const std::span<mmsghdr> messages = received_.prepare(datagrams);
    ++stats_.receive_calls;
    const int count = recvmmsg(socket_.number(), messages.data(),
                               static_cast<unsigned>(messages.size()), MSG_DONTWAIT, nullptr);
    if (count > 0) {
      stats_.receive_dropped += received_.accept(now, static_cast<std::size_t>(count));
      return true;
    }
    if (errno == EAGAIN) return false;
    if (errno != EINTR) socket_.clear_errors();
  }
  return false;
}

}  // namespace longhaul::io::kernel
