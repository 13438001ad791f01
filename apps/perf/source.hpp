// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/common/buffer.hpp"
#include "apps/common/safetensors.hpp"
#include "apps/perf/plan.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul::apps::perf {

/// What to send next. Its memory stays valid and unchanged as long as the source lives.
class Source {
 public:
  struct Item {
    Tag tag = 0;
    ConstTensorView view;
  };
  virtual ~Source() = default;
  /// Nothing once all has been handed out.
  virtual std::optional<Item> next() = 0;
};

/// Transfers i and i + 64 read the same bytes and those between them other ones, each at its own
/// offset of one buffer, so that a transfer put in another's place does not go unnoticed.
std::uint64_t stream_offset(std::uint64_t transfer) noexcept;
inline constexpr std::uint64_t kStreamSlack = 64 * 64;

/// Equal transfers of generated data.
class StreamSource : public Source {
 public:
  static Result<StreamSource> create(const TestPlan& plan);
  std::optional<Item> next() override;

 private:
  StreamSource() = default;

  Buffer data_;
  ConstTensorView view_;
  std::uint64_t limit_ = 0;
  std::uint64_t sent_ = 0;
};

/// The tensors of a file in memory order.
class FileSource : public Source {
 public:
  /// `file` must outlive the source.
  static Result<FileSource> create(const SafetensorsFile& file);
  std::optional<Item> next() override;

 private:
  explicit FileSource(std::vector<ConstTensorView> views) : views_(std::move(views)) {}

  std::vector<ConstTensorView> views_;
  std::size_t sent_ = 0;
};

/// XXH3 of every tensor in memory order, little-endian: what the digest blob carries.
std::vector<std::byte> digests_of(const SafetensorsFile& file);

}  // namespace longhaul::apps::perf
