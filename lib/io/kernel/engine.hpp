// SPDX-License-Identifier: Apache-2.0
// The data path of the kernel backend, less the system calls: an engine adds those.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "lib/base/datagram.hpp"
#include "lib/io/backend.hpp"
#include "lib/io/kernel/rx_messages.hpp"
#include "lib/io/kernel/socket.hpp"
#include "lib/io/kernel/too_big_sizes.hpp"
#include "lib/io/kernel/tx_batch.hpp"

namespace longhaul::io::kernel {

/// Extension point: how messages enter and leave the system. What an engine has to do is move a
/// batch of messages each way; bursts, trains, marks and refusals are dealt with here, the same for
/// all of them. Allocates when constructed and never again. One thread.
class Engine {
 public:
  /// `socket` must outlive the engine. `segmentation` is the caller's wish; without the kernel's
  /// help it means nothing. `receive_messages` is how many messages one call may read.
  Engine(const Socket& socket, bool segmentation, std::size_t receive_messages);
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// "mmsg" …
  virtual std::string_view name() const noexcept = 0;

  /// As Backend::transmit.
  std::size_t transmit(std::span<const base::TxDatagram> burst) noexcept;
  /// As Backend::receive.
  std::size_t receive(Timestamp now, std::span<base::RxDatagram> out) noexcept;

  /// `receive` has something to do that the socket, watched for input, would not show.
  virtual bool pending() noexcept { return received_.pending(); }
  /// Another descriptor that may have input, or -1.
  virtual int second_descriptor() const noexcept { return -1; }
  /// As Backend::release_payload.
  virtual bool release_payload() noexcept { return true; }
  /// As Backend::take_too_big.
  std::size_t take_too_big(std::span<base::TooBig> out) noexcept { return too_big_.take(out); }
  /// As Backend::finish.
  virtual void finish() noexcept {}
  /// The system refuses this engine since it was opened, for good: another has to take its place.
  /// The text names the cause; empty while it works.
  virtual std::string_view failure() const noexcept { return {}; }

  /// Whether several datagrams go to the system as one message; ends when the system cannot.
  bool segmentation() const noexcept { return segmentation_; }
  const BackendStats& stats() const noexcept { return stats_; }
  /// Takes over the counters of the engine this one replaces.
  void continue_stats(const BackendStats& stats) noexcept { stats_ = stats; }

 protected:
  /// How far a batch of messages got: `messages` left, and if `error` is not 0 the next one was
  /// refused with it and nothing behind that one was touched. All left, or an error.
  struct Sent {
    std::size_t messages = 0;
    int error = 0;
  };

  /// Sends messages of `batch` from `first` on, in order and without waiting. `datagrams` is what
  /// those hold.
  virtual Sent send(TxBatch& batch, std::size_t first,
                    std::span<const base::TxDatagram> datagrams) noexcept = 0;
  /// Reads messages that are there into `received()`, about as many as hold `datagrams`, without
  /// waiting; false if there are none. What was read before is no longer in use.
  virtual bool read(Timestamp now, std::size_t datagrams) noexcept = 0;
  /// How trains are to be formed.
  virtual TrainLimits train_limits() const noexcept { return {.segmentation = segmentation_}; }

  const Socket& socket() const noexcept { return socket_; }
  RxMessages& received() noexcept { return received_; }
  BackendStats& counters() noexcept { return stats_; }

 private:
  /// How far a batch got.
  struct Progress {
    std::size_t datagrams = 0;  ///< sent or dropped for good
    bool blocked = false;       ///< the system has no room for the next one
  };

  Progress send_batch(TxBatch& batch, std::span<const base::TxDatagram> datagrams) noexcept;
  bool is_maybe_stale(int cause) const noexcept;
  Progress settle(int cause, std::span<const base::TxDatagram> message) noexcept;
  Progress send_singly(int cause, std::span<const base::TxDatagram> message) noexcept;

  const Socket& socket_;
  bool segmentation_;
  std::unique_ptr<TxBatch> grouped_;
  std::unique_ptr<TxBatch> single_;
  RxMessages received_;
  BackendStats stats_;
  TooBigSizes too_big_;
};

}  // namespace longhaul::io::kernel
