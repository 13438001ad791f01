// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/messages.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace longhaul::compare {

namespace {

constexpr std::uint64_t kStampEvery = 64u << 10;

std::uint64_t stamp_of(std::uint64_t index, std::uint64_t offset) {
  return index * 0x9E3779B97F4A7C15U + offset;
}

}  // namespace

// Written once, so that no page is touched for the first time while the clock runs.
Messages::Messages(std::uint64_t size, std::uint64_t slots)
    : size_(size), slots_(slots), memory_(size * slots, std::byte{0x5A}) {}

std::span<std::byte> Messages::slot(std::uint64_t index) {
  return std::span(memory_).subspan(index % slots_ * size_, size_);
}

std::span<const std::byte> Messages::stamped(std::uint64_t index) {
  const std::span<std::byte> message = slot(index);
  for (std::uint64_t at = 0; at + sizeof(std::uint64_t) <= size_; at += kStampEvery) {
    const std::uint64_t stamp = stamp_of(index, at);
    std::memcpy(message.data() + at, &stamp, sizeof stamp);
  }
  return message;
}

bool Messages::has_stamps(std::uint64_t index) {
  const std::span<std::byte> message = slot(index);
  for (std::uint64_t at = 0; at + sizeof(std::uint64_t) <= size_; at += kStampEvery) {
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, message.data() + at, sizeof stamp);
    if (stamp != stamp_of(index, at)) return false;
  }
  return true;
}

void CheckedInbox::arrived(std::uint64_t index) {
  if (!messages_.has_stamps(index)) {
    throw std::runtime_error("message " + std::to_string(index) +
                             " is not what was sent; are --size, --outstanding and --connections "
                             "the same at both ends?");
  }
  count_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace longhaul::compare
