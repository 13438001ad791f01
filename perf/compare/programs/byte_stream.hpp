// SPDX-License-Identifier: Apache-2.0
// The two ends for a rival that offers one connection with blocking reads and writes of bytes.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "perf/compare/programs/ends.hpp"

namespace longhaul::compare {

/// One connection. Two threads use it, one to write and one to read. All but `close` throw
/// std::runtime_error.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// Blocks until at least one byte is taken over; says how many. 0 once it has ended.
  virtual std::size_t write(std::span<const std::byte> bytes) = 0;
  /// How many bytes came; 0 if none did within some 100 ms.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  /// True once a call found that the peer left, or that the connection broke.
  virtual bool ended() const = 0;
  virtual Json about() = 0;
  virtual Json counters() = 0;
  virtual void close() = 0;
};

/// A thread of its own writes, so that answers can be read meanwhile.
class StreamSender final : public Sender {
 public:
  explicit StreamSender(std::unique_ptr<ByteStream> stream);
  /// The program ends without it: a rival's write may never return.
  ~StreamSender() override;

  void send(std::span<const std::byte> message) override;
  std::uint64_t wait_answers(std::uint64_t count, Clock::time_point until) override;
  Json about() override { return stream_->about(); }
  Json counters() override { return stream_->counters(); }
  void close() override { stream_->close(); }

 private:
  void write_all();

  std::unique_ptr<ByteStream> stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::span<const std::byte>> queue_;
  std::exception_ptr failure_;  ///< of the writing thread
  bool stopping_ = false;
  std::uint64_t answered_ = 0;
  std::thread writer_;
};

/// Reads messages from a stream and answers them.
void serve_stream(ByteStream& stream, Inbox& inbox);

}  // namespace longhaul::compare
