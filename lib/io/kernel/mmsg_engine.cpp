// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/mmsg_engine.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace longhaul::io::kernel {
namespace {

/// Pending socket errors one `receive` clears before it leaves the rest to the next.
constexpr int kReadAttempts = 4;

}  // namespace

MmsgEngine::MmsgEngine(const Socket& socket, bool segmentation, std::size_t receive_messages)
    : Engine(socket, segmentation, receive_messages), batch_(receive_messages) {}

Engine::Sent MmsgEngine::send(TxBatch& batch, std::size_t first,
                              std::span<const base::TxDatagram> /*datagrams*/) noexcept {
  const std::span<mmsghdr> messages = batch.messages().subspan(first);
  ++counters().send_calls;
  const int sent =
      sendmmsg(socket().number(), messages.data(), static_cast<unsigned>(messages.size()), 0);
  if (sent <= 0) return {0, errno};
  return {static_cast<std::size_t>(sent), 0};
}

bool MmsgEngine::read(Timestamp now, std::size_t datagrams) noexcept {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    received().restart(now);
    const std::span<mmsghdr> messages = batch_.prepare(received().messages_for(datagrams));
    ++counters().receive_calls;
    const int count = recvmmsg(socket().number(), messages.data(),
                               static_cast<unsigned>(messages.size()), MSG_DONTWAIT, nullptr);
    if (count > 0) {
      batch_.accept(static_cast<std::size_t>(count), received());
      return true;
    }
    if (errno == EAGAIN) return false;
    if (errno != EINTR) socket().clear_errors();
  }
  return false;
}

}  // namespace longhaul::io::kernel
