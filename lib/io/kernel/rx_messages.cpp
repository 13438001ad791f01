// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/rx_messages.hpp"

#include <algorithm>
#include <utility>

namespace longhaul::io::kernel {

RxMessages::RxMessages(std::size_t most) {
  messages_.reserve(most);
}

void RxMessages::restart(Timestamp now, std::size_t source) noexcept {
  if (!messages_.empty()) {
    datagrams_per_message_ = std::max<std::size_t>(datagrams_ / messages_.size(), 1);
  }
  messages_.clear();
  next_ = 0;
  datagrams_ = 0;
  received_at_ = now;
  source_ = source;
}

void RxMessages::add(std::span<std::byte> bytes, const NativeAddress& remote,
                     const RxMarks& marks) noexcept {
  const std::size_t segment = marks.segment_size == 0 ? bytes.size() : marks.segment_size;
  messages_.push_back({
      .rest = bytes,
      .segment_size = segment,
      .remote = from_native(remote),
      .ecn = marks.ecn,
      .dscp = marks.dscp,
  });
  datagrams_ += bytes.empty() ? 1 : (bytes.size() + segment - 1) / segment;
  if (marks.dropped)
    lost_ += *marks.dropped - std::exchange(dropped_seen_[source_], *marks.dropped);
}

std::size_t RxMessages::take(std::span<base::RxDatagram> out) noexcept {
  std::size_t taken = 0;
  while (taken < out.size() && pending()) {
    Message& message = messages_[next_];
    const std::size_t size = std::min(message.segment_size, message.rest.size());
    out[taken++] = {
        .data = message.rest.first(size),
        .reference = {},
        .remote = message.remote,
        .received_at = received_at_,
        .ecn = message.ecn,
        .dscp = message.dscp,
        .damaged = false,
    };
    message.rest = message.rest.subspan(size);
    if (message.rest.empty()) ++next_;
  }
  return taken;
}

std::size_t RxMessages::messages_for(std::size_t datagrams) const noexcept {
  return std::max<std::size_t>((datagrams + datagrams_per_message_ - 1) / datagrams_per_message_,
                               1);
}

std::size_t RxMessages::take_lost() noexcept {
  return std::exchange(lost_, 0);
}

}  // namespace longhaul::io::kernel
