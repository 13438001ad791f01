// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>

#include "lib/base/byte_writer.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::wire {

void SchemaHash::add(Dtype dtype, const Shape& shape) {
  const auto extents = shape.extents();
  const std::size_t before = bytes_.size();
  bytes_.resize(before + 2 + extents.size() * 8);
  base::ByteWriter writer(std::span<std::byte>(bytes_).subspan(before));
  writer.u8(static_cast<std::uint8_t>(dtype));
  writer.u8(static_cast<std::uint8_t>(extents.size()));
  for (const std::uint64_t extent : extents) writer.u64(extent);
}

std::uint64_t SchemaHash::value() const noexcept {
  return XXH3_64bits(bytes_.data(), bytes_.size());
}

}  // namespace longhaul::wire
