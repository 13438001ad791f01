// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/mmsg_engine.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace longhaul::io::kernel {
namespace {

/// Pending socket errors one `receive` clears before it leaves the rest to the next.
constexpr int kReadAttempts = 4;
constexpr unsigned kReadsOfPeer = 4;
// Sources of messages.
constexpr std::size_t kFirst = 0;
constexpr std::size_t kPeer = 1;

}  // namespace

MmsgEngine::MmsgEngine(const Socket& socket, bool segmentation, std::size_t receive_messages)
    : Engine(socket, segmentation, receive_messages), batch_(receive_messages), peer_(socket) {}

Engine::Sent MmsgEngine::send(TxBatch& batch, std::size_t first,
                              std::span<const base::TxDatagram> /*datagrams*/) noexcept {
  const std::span<mmsghdr> messages = batch.messages().subspan(first);
  ++counters().send_calls;
  const int sent =
      sendmmsg(socket().number(), messages.data(), static_cast<unsigned>(messages.size()), 0);
  if (sent <= 0) return {0, errno};
  return {static_cast<std::size_t>(sent), 0};
}

bool MmsgEngine::read_from(const Socket& from, std::size_t source, Timestamp now,
                           std::size_t datagrams) noexcept {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    received().restart(now, source);
    const std::span<mmsghdr> messages = batch_.prepare(received().messages_for(datagrams));
    ++counters().receive_calls;
    const int count = recvmmsg(from.number(), messages.data(),
                               static_cast<unsigned>(messages.size()), MSG_DONTWAIT, nullptr);
    if (count > 0) {
      batch_.accept(static_cast<std::size_t>(count), received());
      return true;
    }
    if (errno == EAGAIN) return false;
    if (errno != EINTR) from.clear_errors();
  }
  return false;
}

bool MmsgEngine::read(Timestamp now, std::size_t datagrams) noexcept {
  const auto read_first = [&] {
    if (!read_from(socket(), kFirst, now, datagrams)) {
      first_to_be_emptied_ = false;
      return false;
    }
    if (peer_.on_received(now, received())) first_to_be_emptied_ = true;
    return true;
  };
  if (!peer_.is_open()) return read_first();
  // A peer that never stops must not keep the others waiting.
  if ((first_to_be_emptied_ || ++reads_ % kReadsOfPeer == 0) && read_first()) return true;
  if (read_from(peer_.socket(), kPeer, now, datagrams)) {
    peer_.on_used(now);
    return true;
  }
  peer_.on_empty(now);
  if (!peer_.is_open()) received().forget(kPeer);
  return read_first();
}

}  // namespace longhaul::io::kernel
