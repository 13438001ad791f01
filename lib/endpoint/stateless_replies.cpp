// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/stateless_replies.hpp"

#include <algorithm>

namespace longhaul::endpoint {

bool StatelessReplies::push(Timestamp now, const SocketAddress& to,
                            std::span<const std::byte> bytes) {
  const std::int64_t earned =
      (now - refilled_at_) / (Duration(std::chrono::seconds(1)) / kPerSecond);
  if (earned > 0) {
    ration_ = std::min(ration_ + std::min(earned, kPerSecond), kPerSecond / 10);
    refilled_at_ = now;
  }
  Reply reply;
  if (ration_ <= 0 || queue_.size() >= kQueueMax || bytes.size() > reply.bytes.size()) return false;
  --ration_;
  reply.to = to;
  reply.size = bytes.size();
  std::ranges::copy(bytes, reply.bytes.begin());
  queue_.push_back(reply);
  return true;
}

void StatelessReplies::pop_into(Timestamp now, base::TxDatagram& slot, std::uint8_t dscp) {
  const Reply& reply = queue_.front();
  std::ranges::copy_n(reply.bytes.begin(), static_cast<std::ptrdiff_t>(reply.size),
                      slot.head.begin());
  slot.head_size = reply.size;
  slot.payload = {};
  slot.remote = reply.to;
  slot.departure = now;
  slot.ecn = base::Ecn::not_ect;
  slot.dscp = dscp;
  queue_.pop_front();
}

}  // namespace longhaul::endpoint
