// SPDX-License-Identifier: Apache-2.0
#include "apps/common/sample_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "apps/common/files.hpp"
#include "apps/common/pattern.hpp"
#include "apps/common/safetensors.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps {

namespace {

constexpr std::uint64_t kSeed = 0x6c6f6e676861756cULL;
constexpr std::uint64_t kVocabulary = 256;
constexpr std::uint64_t kWidthMin = 64;
constexpr std::uint64_t kWidthMax = 1024;

struct SampleTensor {
  std::string name;
  std::string_view dtype;
  std::vector<std::uint64_t> extents;
  std::uint64_t bytes;
};

class SampleModel {
 public:
  explicit SampleModel(std::uint64_t bytes) {
    std::uint64_t width = kWidthMax;
    while (width > kWidthMin && fixed_bytes(width) + layer_bytes(width) > bytes / 4) width /= 2;
    add("embed.weight", "BF16", {kVocabulary, width});
    std::uint64_t layers = 0;
    while (bytes_ + layer_bytes(width) + tail_bytes(width) <= bytes) add_layer(layers++, width);
    add("norm.weight", "F32", {width});
    add("lm_head.weight", "BF16", {kVocabulary, width});
    add("empty", "F32", {0, 4});
    add("step", "I64", {});
    if (bytes > bytes_) add("tokens.seen", "U8", {bytes - bytes_});
  }

  static std::uint64_t minimum() { return fixed_bytes(kWidthMin) + layer_bytes(kWidthMin); }
  const std::vector<SampleTensor>& tensors() const { return tensors_; }

 private:
  static std::uint64_t tail_bytes(std::uint64_t width) {
    return 4 * width + 2 * kVocabulary * width + 8;
  }
  static std::uint64_t fixed_bytes(std::uint64_t width) {
    return 2 * kVocabulary * width + tail_bytes(width);
  }
  static std::uint64_t layer_bytes(std::uint64_t width) {
    // Weights: 3 + 1 + 4 + 4 squares of bf16; biases 3 + 1 + 4 + 1 rows of bf16; two f32 norms
    // with weight and bias; one f32 moment of the output projection.
    return 24 * width * width + 18 * width + 16 * width + 4 * width * width;
  }

  void add_layer(std::uint64_t number, std::uint64_t width) {
    const auto name = [&](std::string_view part) {
      return fmt::format("layers.{}.{}", number, part);
    };
    add(name("self_attn.in_proj_weight"), "BF16", {3 * width, width});
    add(name("self_attn.in_proj_bias"), "BF16", {3 * width});
    add(name("self_attn.out_proj.weight"), "BF16", {width, width});
    add(name("self_attn.out_proj.bias"), "BF16", {width});
    add(name("linear1.weight"), "BF16", {4 * width, width});
    add(name("linear1.bias"), "BF16", {4 * width});
    add(name("linear2.weight"), "BF16", {width, 4 * width});
    add(name("linear2.bias"), "BF16", {width});
    add(name("norm1.weight"), "F32", {width});
    add(name("norm1.bias"), "F32", {width});
    add(name("norm2.weight"), "F32", {width});
    add(name("norm2.bias"), "F32", {width});
    add(name("self_attn.out_proj.weight.exp_avg"), "F32", {width, width});
  }

  void add(std::string name, std::string_view dtype, std::vector<std::uint64_t> extents) {
    const auto dtypes = safetensors_dtypes();
    const auto found = std::find_if(dtypes.begin(), dtypes.end(),
                                    [&](const SafetensorsDtype& d) { return d.name == dtype; });
    std::uint64_t bytes = found->element_bytes;
    for (const std::uint64_t extent : extents) bytes *= extent;
    bytes_ += bytes;
    tensors_.push_back({std::move(name), dtype, std::move(extents), bytes});
  }

  std::vector<SampleTensor> tensors_;
  std::uint64_t bytes_ = 0;
};

std::string header_of(const SampleModel& model) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  std::uint64_t at = 0;
  for (const SampleTensor& tensor : model.tensors()) {
    std::string shape;
    for (const std::uint64_t extent : tensor.extents) {
      shape += fmt::format("{}{}", shape.empty() ? "" : ",", extent);
    }
    json += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        tensor.name, tensor.dtype, shape, at, at + tensor.bytes);
    at += tensor.bytes;
  }
  json += '}';
  // The format asks for data on an 8-byte boundary.
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string header;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    header += static_cast<char>(json.size() >> shift & 0xff);
  }
  return header + json;
}

/// Clears the top exponent bit of floats, so that every value is finite and below 2.
std::uint64_t mask_of(std::string_view dtype) {
  if (dtype == "BF16") return 0xbfffbfffbfffbfffULL;
  if (dtype == "F32") return 0xbfffffffbfffffffULL;
  return ~std::uint64_t{0};
}

}  // namespace

std::uint64_t sample_bytes_min() {
  return SampleModel::minimum();
}

Result<void> write_sample_file(const std::string& path, std::uint64_t bytes) {
  if (bytes < sample_bytes_min()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a sample model has at least {} bytes; ask for more with --sample-size",
                            sample_bytes_min()));
  }
  const SampleModel model(bytes);
  const std::string header = header_of(model);
  auto file = OutputFile::create(path, header.size() + bytes);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (auto put = file->write_at(0, std::as_bytes(std::span(header))); !put) return put;

  const Pattern pattern(kSeed);
  std::vector<std::byte> block(1u << 20);
  std::uint64_t at = 0;
  for (const SampleTensor& tensor : model.tensors()) {
    for (std::uint64_t done = 0; done < tensor.bytes;) {
      const std::uint64_t step = std::min<std::uint64_t>(block.size(), tensor.bytes - done);
      const auto part = std::span(block).first(static_cast<std::size_t>(step));
      pattern.fill(at + done, part, mask_of(tensor.dtype));
      if (auto put = file->write_at(header.size() + at + done, part); !put) return put;
      done += step;
    }
    at += tensor.bytes;
  }
  return file->commit();
}

}  // namespace longhaul::apps
