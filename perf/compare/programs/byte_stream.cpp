// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/byte_stream.hpp"

#include <array>
#include <stdexcept>

namespace longhaul::compare {

StreamSender::StreamSender(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), writer_([this] { write_all(); }) {}

StreamSender::~StreamSender() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  stream_->close();
  writer_.join();
}

void StreamSender::send(std::span<const std::byte> message) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(message);
  }
  changed_.notify_one();
}

void StreamSender::write_all() {
  try {
    for (;;) {
      std::span<const std::byte> message;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (stopping_) return;
        message = queue_.front();
        queue_.pop_front();
      }
      while (!message.empty() && !stream_->ended())
        message = message.subspan(stream_->write(message));
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
}

std::uint64_t StreamSender::wait_answers(std::uint64_t count, Clock::time_point until) {
  std::array<std::byte, 256> answers{};
  while (answered_ < count && Clock::now() < until) {
    answered_ += stream_->read(answers);
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (stream_->ended()) throw std::runtime_error("the connection broke");
  }
  return answered_;
}

void serve_stream(ByteStream& stream, Inbox& inbox) {
  for (std::uint64_t index = 0;; ++index) {
    std::span<std::byte> left = inbox.slot(index);
    while (!left.empty()) {
      left = left.subspan(stream.read(left));
      if (stream.ended()) return;
    }
    inbox.arrived(index);
    const std::byte answer{1};
    if (stream.write({&answer, 1}) == 0) return;
  }
}

}  // namespace longhaul::compare
