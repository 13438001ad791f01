// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/compare/programs/ends.hpp"

namespace longhaul::compare {

/// Messages of one size in a ring of memory. Every 64 KiB of a message begin with a stamp of its
/// number and the place, so that a rival that mixes up messages or stripes is found out.
class Messages {
 public:
  Messages(std::uint64_t size, std::uint64_t slots);

  std::span<std::byte> slot(std::uint64_t index);
  std::uint64_t slots() const noexcept { return slots_; }
  /// The message `index`, stamped. What was there before must have been answered.
  std::span<const std::byte> stamped(std::uint64_t index);
  bool has_stamps(std::uint64_t index);

 private:
  std::uint64_t size_;
  std::uint64_t slots_;
  std::vector<std::byte> memory_;
};

/// Messages as they arrive: checks and counts them.
class CheckedInbox final : public Inbox {
 public:
  CheckedInbox(std::uint64_t size, std::uint64_t slots) : size_(size), messages_(size, slots) {}

  std::span<std::byte> slot(std::uint64_t index) override { return messages_.slot(index); }
  std::uint64_t slots() const override { return messages_.slots(); }
  void arrived(std::uint64_t index) override;

  /// Any thread may ask.
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept { return count() * size_; }

 private:
  std::uint64_t size_;
  Messages messages_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace longhaul::compare
