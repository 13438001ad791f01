// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Writes a safetensors file as a small transformer would have it: names, shapes and dtypes of its
/// embedding, layers, moments and step, an empty tensor among them; values from a fixed generator.
/// Equal `bytes` give an equal file. As many layers as fit `bytes` (at least one); the rest goes to
/// one vector, so that the data is exactly `bytes` long.
Result<void> write_sample_file(const std::string& path, std::uint64_t bytes);

/// The smallest `bytes` `write_sample_file` accepts.
std::uint64_t sample_bytes_min();

}  // namespace longhaul::apps
