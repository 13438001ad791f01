// SPDX-License-Identifier: Apache-2.0
#include "lib/endpoint/stateless_replies.hpp"

#include <algorithm>

namespace longhaul::endpoint {

bool StatelessReplies::may_push(Timestamp now, Kind kind) {
  Ration& ration = rations_[static_cast<std::size_t>(kind)];
  const std::int64_t per_second = kPerSecond[static_cast<std::size_t>(kind)];
  const std::int64_t earned =
      (now - ration.refilled_at) / (Duration(std::chrono::seconds(1)) / per_second);
  if (earned > 0) {
    ration.left = std::min(ration.left + std::min(earned, per_second), per_second / 10);
    ration.refilled_at = now;
  }
  return ration.left > 0 && queue_.size() < kQueueMax;
}

bool StatelessReplies::push(Timestamp now, Kind kind, const SocketAddress& to,
                            std::span<const std::byte> bytes) {
  Reply reply;
  if (bytes.size() > reply.bytes.size() || !may_push(now, kind)) return false;
  --rations_[static_cast<std::size_t>(kind)].left;
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
