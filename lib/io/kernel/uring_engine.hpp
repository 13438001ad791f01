// SPDX-License-Identifier: Apache-2.0
// Moves messages through an io_uring: linked sends, one multishot receive into lent buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/kernel/engine.hpp"
#include "lib/io/kernel/uring_buffers.hpp"
#include "lib/io/kernel/uring_ring.hpp"
#include "lib/io/kernel/zero_copy.hpp"
#include "longhaul/log.hpp"

namespace longhaul::io::kernel {

struct UringOptions {
  bool segmentation = true;
  /// Messages that can be received and not yet handled; rounded up to a power of two.
  std::size_t receive_messages = 32;
  /// Send tensor memory without a copy, for as long as the system really does not copy it.
  bool zero_copy = false;
  /// Results the ring holds; 0 is enough for everything that can be outstanding.
  unsigned completions = 0;
  /// Is told, on the worker's thread, when sending without a copy is given up.
  LogSink log{};
};

/// Everything the system does for it happens inside the worker's own calls, so between them nothing
/// moves: a worker sleeps on the socket, as with any other engine. All calls after `open` on one
/// thread; with another one the ring refuses, and `failure` says so.
class UringEngine final : public Engine {
 public:
  /// Fails with unsupported, no_permission or system; the context names cause and remedy.
  static Result<std::unique_ptr<UringEngine>> open(const Socket& socket,
                                                   const UringOptions& options);
  ~UringEngine() override;

  std::string_view name() const noexcept override;
  bool pending() noexcept override;
  bool release_payload() noexcept override;
  void finish() noexcept override;
  std::string_view failure() const noexcept override { return failure_; }

  /// How often a receive had to be armed: at first, and after it ended for want of buffers, by an
  /// empty datagram or an error.
  std::uint64_t arms() const noexcept { return arms_; }

 private:
  /// A message the system delivered that nobody has looked at yet.
  struct Arrival {
    unsigned short buffer = 0;
    std::uint32_t length = 0;
  };

  UringEngine(const Socket& socket, const UringOptions& options);

  Sent send(TxBatch& batch, std::size_t first,
            std::span<const base::TxDatagram> datagrams) noexcept override;
  bool read(Timestamp now, std::size_t datagrams) noexcept override;
  TrainLimits train_limits() const noexcept override;

  bool submit(TxBatch& batch, std::size_t first,
              std::span<const base::TxDatagram> datagrams) noexcept;
  std::uint64_t prepare(io_uring_sqe& submission, msghdr& message,
                        std::span<const base::TxDatagram> datagrams) noexcept;
  Sent outcome(std::size_t messages) const noexcept;
  bool arm() noexcept;
  bool enter(unsigned completions) noexcept;
  void reap() noexcept;
  void on_received(const io_uring_cqe& completion) noexcept;
  void on_sent(const io_uring_cqe& completion) noexcept;
  bool copies() const noexcept;
  void judge_zero_copy() noexcept;
  void give_up_zero_copy(std::string_view why) noexcept;
  void give_up(const char* call, int cause) noexcept;

  std::unique_ptr<UringRing> ring_;
  std::unique_ptr<UringBuffers> buffers_;
  std::unique_ptr<ZeroCopy> zero_copy_;  // none: every message is copied
  LogSink log_;
  std::string failure_;

  bool armed_ = false;
  std::uint64_t arms_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<unsigned short> in_use_;  // what the caller may still look at

  std::array<int, TxBatch::kMessagesMax> results_{};
  std::size_t outstanding_ = 0;  // sends without a result
  bool releasing_payload_ = false;
  bool zero_copy_works_ = false;  // one message was accepted
  bool zero_copy_futile_ = false;
};

}  // namespace longhaul::io::kernel
