// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "lib/wire/frame.hpp"

namespace longhaul::transfer {

/// What both ends must agree on; see lib/wire/README.md.
template <typename Segment>
std::uint64_t schema_of(std::span<Segment> segments) {
  wire::SchemaHash hash;
  for (const auto& segment : segments) hash.add(segment.dtype, segment.shape);
  return hash.value();
}

template <typename Segment>
std::uint64_t schema_of(const std::vector<Segment>& segments) {
  return schema_of(std::span<const Segment>(segments));
}

}  // namespace longhaul::transfer
