// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/peer_socket.hpp"

#include <utility>

namespace longhaul::io::kernel {
namespace {

// Of so many messages three quarters from one address: a bulk transfer, not a crowd.
constexpr std::uint32_t kWindow = 4096;
constexpr Duration kSilence = std::chrono::seconds(1);
// The peer talks to another of our addresses, say: nothing arrives at a socket connected to it.
constexpr Duration kPauseAfterNothing = std::chrono::minutes(1);

}  // namespace

bool PeerSocket::on_received(Timestamp now, const RxMessages& messages) noexcept {
  if (is_open() || now < not_before_) return false;
  messages.for_each_remote([this](const SocketAddress& remote) {
    if (seen_ == 0) candidate_ = remote;
    ++seen_;
    if (remote == candidate_) ++of_candidate_;
  });
  if (seen_ < kWindow) return false;
  const bool most = of_candidate_ >= seen_ / 4 * 3;
  seen_ = of_candidate_ = 0;
  return most && open(now, candidate_);
}

bool PeerSocket::open(Timestamp now, const SocketAddress& peer) noexcept {
  auto opened = Socket::open_connected(beside_, peer);
  if (!opened) {
    not_before_ = kNever;
    return false;
  }
  socket_.emplace(std::move(*opened));
  used_at_ = now;
  was_used_ = false;
  return true;
}

void PeerSocket::on_used(Timestamp now) noexcept {
  used_at_ = now;
  was_used_ = true;
}

void PeerSocket::on_empty(Timestamp now) noexcept {
  if (now - used_at_ < kSilence) return;
  socket_.reset();
  if (!was_used_) not_before_ = now + kPauseAfterNothing;
}

}  // namespace longhaul::io::kernel
