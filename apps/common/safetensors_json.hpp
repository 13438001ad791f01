// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// One tensor as the JSON header states it, before any check of its numbers.
struct RawSafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;
};

/// The JSON grammar of a safetensors header, read event by event: nothing deeper, other or twice
/// is accepted, so memory stays in proportion to the text. The error's context is the cause.
Result<std::vector<RawSafetensorsEntry>> parse_safetensors_json(std::span<const std::byte> json);

}  // namespace longhaul::apps
