// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/source.hpp"

#include <fmt/format.h>

#include <limits>

#include "apps/common/pattern.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/digest.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr std::uint64_t kStreamOffsets = 64;
constexpr std::uint64_t kStreamStep = kStreamSlack / kStreamOffsets;

}  // namespace

std::uint64_t stream_offset(std::uint64_t transfer) noexcept {
  return transfer % kStreamOffsets * kStreamStep;
}

Result<StreamSource> StreamSource::create(const TestPlan& plan) {
  if (plan.bytes > std::numeric_limits<std::uint64_t>::max() - kStreamSlack) {
    return fail(ErrorCode::invalid_argument,
                "the transfers are too large; choose a smaller --size");
  }
  if (plan.bytes > available_memory() / 4 * 3) {
    return fail(
        ErrorCode::budget_exceeded,
        fmt::format("a transfer of {} does not fit the memory of the sender ({} available); "
                    "use a smaller --size",
                    format_bytes(plan.bytes), format_bytes(available_memory())));
  }
  StreamSource source;
  auto data = Buffer::allocate(plan.bytes + kStreamSlack, "data to send");
  if (!data) return tl::unexpected(std::move(data.error()));
  source.data_ = std::move(*data);
  Pattern(plan.seed).fill(0, source.data_.span());
  auto shape = Shape::from(plan.extents);
  if (!shape) return tl::unexpected(std::move(shape.error()));
  source.view_.bytes = plan.bytes;
  source.view_.dtype = plan.dtype;
  source.view_.shape = *shape;
  source.limit_ = plan.transfers;
  return source;
}

std::optional<Source::Item> StreamSource::next() {
  if (limit_ != 0 && sent_ == limit_) return {};
  Item item{kStreamTag, view_};
  item.view.data = data_.data() + stream_offset(sent_++);
  return item;
}

Result<FileSource> FileSource::create(const SafetensorsFile& file) {
  std::vector<ConstTensorView> views;
  views.reserve(file.header.tensors.size());
  for (const SafetensorsEntry& entry : file.header.tensors) {
    auto shape = Shape::from(entry.extents);
    if (!shape) return tl::unexpected(std::move(shape.error()));
    ConstTensorView view;
    view.data = file.data_of(entry).data();
    view.bytes = entry.bytes();
    view.dtype = entry.dtype;
    view.shape = *shape;
    views.push_back(view);
  }
  return FileSource(std::move(views));
}

std::optional<Source::Item> FileSource::next() {
  if (sent_ == views_.size()) return {};
  const Item item{kTensorTag + sent_, views_[sent_]};
  ++sent_;
  return item;
}

std::vector<std::byte> digests_of(const SafetensorsFile& file) {
  std::vector<std::byte> blob(file.header.tensors.size() * kDigestBytes);
  for (std::size_t i = 0; i < file.header.tensors.size(); ++i) {
    put_digest(digest(file.data_of(file.header.tensors[i])),
               std::span(blob).subspan(i * kDigestBytes).first<kDigestBytes>());
  }
  return blob;
}

}  // namespace longhaul::apps::perf
