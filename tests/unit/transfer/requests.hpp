// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/transfer/messages.hpp"

namespace longhaul::transfer {

inline std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed = 1) {
  base::Random random(seed);
  std::vector<std::byte> result(count);
  for (std::byte& byte : result) byte = static_cast<std::byte>(random.next());
  return result;
}

inline SendRequest send_request(std::span<const std::byte> bytes, Tag tag = 1, TransferId id = 1,
                                const SendOptions& options = {}) {
  SendRequest request;
  request.transfer = id;
  request.tag = tag;
  request.segments.push_back({bytes, Dtype::u8, Shape{bytes.size()}});
  request.options = options;
  return request;
}

inline ReceiveRequest receive_request(std::span<std::byte> bytes, Tag tag = 1, TransferId id = 1,
                                      const ReceiveOptions& options = {}) {
  ReceiveRequest request;
  request.transfer = id;
  request.tag = tag;
  request.segments.push_back({bytes, Dtype::u8, Shape{bytes.size()}});
  request.options = options;
  return request;
}

}  // namespace longhaul::transfer
