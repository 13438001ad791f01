// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/common/pattern.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/sink.hpp"
#include "apps/perf/source.hpp"

namespace longhaul::apps::perf {

namespace {

// What may complete between two looks of this process: 8 MiB is 6 ms at 10 Gbit/s.
constexpr std::uint64_t kBetweenLooks = 8u << 20;
constexpr std::size_t kSample = 4096;
// The library takes `transfers_max` receives of a connection (32768); some are the control
// channel's.
constexpr std::uint64_t kWindowMax = 24576;

}  // namespace

std::uint64_t receive_window(std::uint64_t bytes, std::uint32_t parallel) noexcept {
  const std::uint64_t burst = bytes == 0 ? kBetweenLooks : (kBetweenLooks + bytes - 1) / bytes;
  // Three windows of small transfers are cheap; of large ones a single spare is enough.
  const std::uint64_t window =
      parallel + std::clamp<std::uint64_t>(burst, 1, std::uint64_t{3} * parallel);
  return std::min(window, std::max<std::uint64_t>(kWindowMax, parallel));
}

Result<std::unique_ptr<StreamSink>> StreamSink::create(const TestPlan& plan) {
  std::unique_ptr<StreamSink> sink(new StreamSink(plan));
  auto shape = Shape::from(plan.extents);
  if (!shape) return tl::unexpected(std::move(shape.error()));
  sink->shape_ = *shape;
  std::uint64_t window = receive_window(plan.bytes, plan.parallel);
  if (plan.transfers != 0) window = std::min(window, plan.transfers);
  const auto total = checked_product(window, plan.bytes);
  if (!total || *total > available_memory() / 4 * 3) {
    return fail(ErrorCode::budget_exceeded,
                fmt::format("{} receives of {} posted ahead do not fit the memory of the receiver "
                            "({} available); use a smaller --size or -P",
                            window, format_bytes(plan.bytes), format_bytes(available_memory())));
  }
  for (std::uint64_t i = 0; i < window; ++i) {
    auto buffer = Buffer::allocate(plan.bytes, "receive window");
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    sink->slots_.push_back({std::move(*buffer), 0});
    sink->free_.push_back(window - 1 - i);
  }
  return sink;
}

std::optional<std::uint64_t> StreamSink::expected() const {
  if (plan_.transfers == 0) return {};
  return plan_.transfers;
}

Result<std::optional<Sink::Posting>> StreamSink::next() {
  if (free_.empty() || (plan_.transfers != 0 && posted_ == plan_.transfers)) {
    return std::optional<Posting>();
  }
  const std::uint64_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.transfer = posted_++;
  Posting posting{kStreamTag, {}, index};
  posting.view.data = slot.buffer.data();
  posting.view.bytes = plan_.bytes;
  posting.view.dtype = plan_.dtype;
  posting.view.shape = shape_;
  return std::optional(posting);
}

bool StreamSink::sample_agrees(const Slot& slot) const {
  const Pattern pattern(plan_.seed);
  const auto received = slot.buffer.span();
  const std::size_t length = std::min(kSample, received.size());
  std::array<std::byte, kSample> expected;
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{received.size() - length}}) {
    const auto sample = std::span(expected).first(length);
    pattern.fill(stream_offset(slot.transfer) + begin, sample);
    if (digest(sample) != digest(received.subspan(begin, length))) return false;
  }
  return true;
}

void StreamSink::on_completed(std::uint64_t index) {
  if (!sample_agrees(slots_[index])) {
    if (mismatches_++ == 0) first_mismatch_ = slots_[index].transfer;
  }
  free_.push_back(index);
}

void StreamSink::on_failed(std::uint64_t index) {
  free_.push_back(index);
}

Result<void> StreamSink::conclude(std::span<const std::byte>, std::vector<std::string>& problems) {
  if (mismatches_ != 0) {
    problems.push_back(fmt::format("{} transfers, first number {}, hold other bytes than were sent",
                                   mismatches_, first_mismatch_));
  }
  return {};
}

}  // namespace longhaul::apps::perf
