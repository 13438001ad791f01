// SPDX-License-Identifier: Apache-2.0
#include "apps/common/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"
#include "apps/common/safetensors_json.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps {

namespace {

constexpr std::array<SafetensorsDtype, 15> kDtypes{{
    {"F64", Dtype::f64, 8},
    {"F32", Dtype::f32, 4},
    {"F16", Dtype::f16, 2},
    {"BF16", Dtype::bf16, 2},
    {"F8_E4M3", Dtype::f8e4m3, 1},
    {"F8_E5M2", Dtype::f8e5m2, 1},
    {"I64", Dtype::i64, 8},
    {"I32", Dtype::i32, 4},
    {"I16", Dtype::i16, 2},
    {"I8", Dtype::i8, 1},
    {"U64", Dtype::u64, 8},
    {"U32", Dtype::u32, 4},
    {"U16", Dtype::u16, 2},
    {"U8", Dtype::u8, 1},
    {"BOOL", Dtype::boolean, 1},
}};

tl::unexpected<Error> bad_file(std::string_view file, std::string_view cause,
                               std::string_view remedy = "save the file again") {
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {}; {}", printable(file), cause, remedy));
}

tl::unexpected<Error> bad_tensor(std::string_view file, std::string_view tensor,
                                 std::string_view cause,
                                 std::string_view remedy = "save the file again") {
  return bad_file(file, fmt::format("tensor \"{}\": {}", printable(tensor), cause), remedy);
}

const SafetensorsDtype* find_dtype(std::string_view name) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const SafetensorsDtype& d) { return d.name == name; });
  return found == kDtypes.end() ? nullptr : &*found;
}

std::string known_dtypes() {
  std::string names;
  for (const SafetensorsDtype& dtype : kDtypes) {
    if (!names.empty()) names += ' ';
    names += dtype.name;
  }
  return names;
}

Result<SafetensorsEntry> check_entry(std::string_view file, RawSafetensorsEntry& raw,
                                     std::uint64_t data_bytes) {
  const SafetensorsDtype* dtype = find_dtype(raw.dtype);
  if (dtype == nullptr) {
    return bad_tensor(file, raw.name,
                      fmt::format("dtype \"{}\" is not carried", printable(raw.dtype, 20)),
                      fmt::format("convert it to one of {}", known_dtypes()));
  }
  if (raw.shape.size() > kDimensionsMax) {
    return bad_tensor(
        file, raw.name,
        fmt::format("has {} dimensions, more than {}", raw.shape.size(), kDimensionsMax),
        "reshape it");
  }
  if (raw.offsets.size() != 2) {
    return bad_tensor(file, raw.name, "data_offsets must be two numbers, begin and end");
  }
  const std::uint64_t begin = raw.offsets[0];
  const std::uint64_t end = raw.offsets[1];
  if (begin > end || end > data_bytes) {
    return bad_tensor(file, raw.name,
                      fmt::format("data_offsets [{}, {}] do not lie within the {} data bytes",
                                  begin, end, data_bytes),
                      "the file is truncated or its header wrong: fetch or save it again");
  }
  // An empty tensor is empty whatever its other extents multiply to.
  const bool empty = std::ranges::find(raw.shape, 0u) != raw.shape.end();
  std::optional<std::uint64_t> bytes = empty ? 0 : dtype->element_bytes;
  for (const std::uint64_t extent : raw.shape) {
    if (bytes && !empty) bytes = checked_product(*bytes, extent);
  }
  if (!bytes) return bad_tensor(file, raw.name, "the product of its shape exceeds 64 bits");
  if (*bytes != end - begin) {
    return bad_tensor(file, raw.name,
                      fmt::format("its shape and dtype make {} bytes but data_offsets span {}",
                                  *bytes, end - begin));
  }
  return SafetensorsEntry{std::move(raw.name), dtype->dtype, std::move(raw.shape), begin, end};
}

/// Entries in memory order must follow each other exactly and end with the data.
Result<void> check_coverage(std::string_view file, const SafetensorsHeader& header) {
  std::uint64_t at = 0;
  for (const SafetensorsEntry& entry : header.tensors) {
    if (entry.begin != at) {
      return bad_tensor(file, entry.name,
                        fmt::format("begins at byte {} of the data where byte {} is due, so "
                                    "tensors {}",
                                    entry.begin, at, entry.begin < at ? "overlap" : "leave a hole"),
                        "save the file again with the safetensors library, which packs them");
    }
    at = entry.end;
  }
  if (at != header.data_bytes) {
    return bad_file(
        file, fmt::format("{} bytes after the last tensor belong to none", header.data_bytes - at));
  }
  return {};
}

}  // namespace

std::span<const SafetensorsDtype> safetensors_dtypes() noexcept {
  return kDtypes;
}

Result<std::uint64_t> safetensors_header_length(std::string_view file,
                                                std::span<const std::byte> prefix,
                                                std::uint64_t file_bytes) {
  if (file_bytes < kSafetensorsPrefix || prefix.size() < kSafetensorsPrefix) {
    return bad_file(file,
                    fmt::format("not a safetensors file: {} bytes are too few for one", file_bytes),
                    "check its name and that it is complete");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kSafetensorsPrefix; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(prefix[i]);
  }
  // A file of another kind says anything; a figure of nineteen digits would tell nobody that.
  if (length > kSafetensorsHeaderMax) {
    return bad_file(file, "not a safetensors file: it does not begin with the size of a header",
                    "check its name");
  }
  if (length > file_bytes - kSafetensorsPrefix) {
    return bad_file(file,
                    fmt::format("not a safetensors file, or not all of it: its first 8 bytes "
                                "state a header of {} bytes, but {} follow",
                                length, file_bytes - kSafetensorsPrefix),
                    "check its name and that it is complete");
  }
  return length;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view file,
                                                   std::span<const std::byte> json,
                                                   std::uint64_t data_bytes) {
  auto raw_entries = parse_safetensors_json(json);
  if (!raw_entries) return bad_file(file, raw_entries.error().context);
  SafetensorsHeader header;
  header.data_bytes = data_bytes;
  header.tensors.reserve(raw_entries->size());
  for (RawSafetensorsEntry& raw : *raw_entries) {
    auto entry = check_entry(file, raw, data_bytes);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    header.tensors.push_back(std::move(*entry));
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
                   });
  if (auto covered = check_coverage(file, header); !covered) {
    return tl::unexpected(std::move(covered.error()));
  }
  return header;
}

Result<SafetensorsFile> read_safetensors(const std::string& path) {
  std::uint64_t file_bytes = 0;
  auto fd = open_for_reading(path, file_bytes);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  std::array<std::byte, kSafetensorsPrefix> prefix{};
  const std::uint64_t prefix_bytes = std::min(file_bytes, kSafetensorsPrefix);
  if (auto read = read_at(fd->get(), path, 0, std::span(prefix).first(prefix_bytes)); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  auto length = safetensors_header_length(path, std::span(prefix).first(prefix_bytes), file_bytes);
  if (!length) return tl::unexpected(std::move(length.error()));

  SafetensorsFile file;
  file.path = path;
  file.header_bytes = kSafetensorsPrefix + *length;
  auto content = Buffer::allocate(file_bytes, "model file");
  if (!content) return tl::unexpected(std::move(content.error()));
  file.content = std::move(*content);
  if (auto read = read_at(fd->get(), path, 0, file.content.span()); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  // The prefix is the one that was checked, even if someone wrote to the file in between.
  std::copy(prefix.begin(), prefix.end(), file.content.data());
  auto header = parse_safetensors_header(path, file.raw_header().subspan(kSafetensorsPrefix),
                                         file_bytes - file.header_bytes);
  if (!header) return tl::unexpected(std::move(header.error()));
  file.header = std::move(*header);
  return file;
}

}  // namespace longhaul::apps
