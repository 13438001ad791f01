// SPDX-License-Identifier: Apache-2.0
// Headers of model files: an input is a whole file, and once more a header whose length is right,
// with as much data behind it as its first two bytes say.
#include <algorithm>
#include <string_view>

#include "apps/common/safetensors.hpp"
#include "longhaul/tensor.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace longhaul::fuzz {
namespace {

void check_header(std::span<const std::byte> json, std::uint64_t data_bytes) {
  const auto header = apps::parse_safetensors_header("fuzz", json, data_bytes);
  if (!header) {
    require(!header.error().context.empty(), "an error says its cause");
    require(header.error().context.size() < 1000, "an error does not repeat the file");
    return;
  }
  std::uint64_t at = 0;
  for (const apps::SafetensorsEntry& entry : header->tensors) {
    require(entry.begin == at && entry.end >= entry.begin, "tensors follow each other");
    at = entry.end;
    require(entry.extents.size() <= kDimensionsMax, "dimensions are bounded");
    const bool empty = std::ranges::find(entry.extents, 0u) != entry.extents.end();
    std::uint64_t bytes = empty ? 0 : element_size(entry.dtype);
    for (const std::uint64_t extent : entry.extents)
      if (!empty) bytes *= extent;
    require(bytes == entry.end - entry.begin, "shape and offsets agree");
  }
  require(at == data_bytes, "every byte of the data belongs to a tensor");
}

void check_file(std::span<const std::byte> file) {
  const auto prefix = file.first(std::min<std::size_t>(file.size(), apps::kSafetensorsPrefix));
  const auto length = apps::safetensors_header_length("fuzz", prefix, file.size());
  if (!length) return;
  require(*length <= file.size() - apps::kSafetensorsPrefix, "a header lies inside its file");
  const auto behind = file.subspan(apps::kSafetensorsPrefix);
  check_header(behind.first(static_cast<std::size_t>(*length)), behind.size() - *length);
}

}  // namespace
}  // namespace longhaul::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longhaul::fuzz;
  const auto input = bytes_of(data, size);
  check_file(input);
  if (size >= 2) {
    const auto data_bytes = static_cast<std::uint64_t>(data[0]) << 8 | data[1];
    check_header(input.subspan(2), data_bytes);
  }
  return 0;
}
