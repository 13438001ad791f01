// SPDX-License-Identifier: Apache-2.0
// Reader of the safetensors format: 8 bytes little-endian header length, a JSON header, the data.
// Every number is checked before it is used; nothing is allocated from a length not yet checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/buffer.hpp"
#include "longhaul/result.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul::apps {

/// Bytes in front of the JSON header.
inline constexpr std::uint64_t kSafetensorsPrefix = 8;
/// The format's own limit of the JSON header.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::u8;
  std::vector<std::uint64_t> extents;
  std::uint64_t begin = 0;  ///< within the data, which starts behind the header
  std::uint64_t end = 0;

  std::uint64_t bytes() const noexcept { return end - begin; }
};

/// The tensors in memory order; together they cover the data without hole or overlap.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;
  std::uint64_t data_bytes = 0;
};

/// Length of the JSON header as its 8-byte prefix states it, checked against the file's length.
Result<std::uint64_t> safetensors_header_length(std::string_view file,
                                                std::span<const std::byte> prefix,
                                                std::uint64_t file_bytes);

/// `json` is the header without its prefix; `data_bytes` what follows it. `file` names the source
/// in errors only.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view file,
                                                   std::span<const std::byte> json,
                                                   std::uint64_t data_bytes);

/// A whole file in memory.
struct SafetensorsFile {
  std::string path;
  Buffer content;                  ///< prefix, header and data
  std::uint64_t header_bytes = 0;  ///< prefix and JSON
  SafetensorsHeader header;

  std::span<const std::byte> raw_header() const { return content.span().first(header_bytes); }
  std::span<const std::byte> data_of(const SafetensorsEntry& entry) const {
    return content.span().subspan(header_bytes + entry.begin, entry.bytes());
  }
};

Result<SafetensorsFile> read_safetensors(const std::string& path);

/// A dtype, what the format calls it, and its element's bytes.
struct SafetensorsDtype {
  std::string_view name;
  Dtype dtype;
  std::uint64_t element_bytes;
};
std::span<const SafetensorsDtype> safetensors_dtypes() noexcept;

}  // namespace longhaul::apps
