// SPDX-License-Identifier: Apache-2.0
// Moves messages with sendmmsg and recvmmsg.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "lib/io/kernel/engine.hpp"
#include "lib/io/kernel/peer_socket.hpp"
#include "lib/io/kernel/rx_batch.hpp"

namespace longhaul::io::kernel {

class MmsgEngine final : public Engine {
 public:
  MmsgEngine(const Socket& socket, bool segmentation, std::size_t receive_messages);

  std::string_view name() const noexcept override { return "mmsg"; }
  int second_descriptor() const noexcept override {
    return peer_.is_open() ? peer_.socket().number() : -1;
  }

 private:
  Sent send(TxBatch& batch, std::size_t first,
            std::span<const base::TxDatagram> datagrams) noexcept override;
  bool read(Timestamp now, std::size_t datagrams) noexcept override;

  bool read_from(const Socket& socket, std::size_t source, Timestamp now,
                 std::size_t datagrams) noexcept;

  RxBatch batch_;
  PeerSocket peer_;
  bool first_to_be_emptied_ = false;
  unsigned reads_ = 0;
};

}  // namespace longhaul::io::kernel
