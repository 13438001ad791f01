// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/sender.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/printable.hpp"
#include "apps/perf/cookie.hpp"

namespace longhaul::apps::perf {

namespace {

// Short enough for an even stream, long enough to cost nothing.
constexpr Duration kPace = std::chrono::milliseconds(1);
// A step smaller than a packet would only be asked for again.
constexpr std::uint64_t kStepMin = 1024;

}  // namespace

Sender::Sender(Connection connection, Source& source, std::uint32_t parallel,
               std::uint64_t rate_bps)
    : connection_(std::move(connection)), source_(source), slots_(parallel), rate_bps_(rate_bps) {
  // Taken from the back, so that slot 0 is the first in use.
  for (std::uint32_t slot = parallel; slot-- > 0;) free_.push_back(slot);
}

Result<bool> Sender::start(const Source::Item& item) {
  const std::uint32_t slot = free_.back();
  SendOptions options;
  options.cookie = make_cookie(Purpose::data_send, slot);
  options.growing = rate_bps_ != 0 && item.view.bytes != 0;
  const Clock::time_point now = Clock::now();
  auto transfer = connection_.send_tensor(item.tag, item.view, options);
  if (!transfer) {
    if (transfer.error().code == ErrorCode::would_block) return false;
    return tl::unexpected(std::move(transfer.error()));
  }
  free_.pop_back();
  slots_[slot] = {std::move(*transfer), now, item.view.bytes, started_bytes_, 0, true};
  started_bytes_ += item.view.bytes;
  ++in_flight_;
  return true;
}

std::optional<Duration> Sender::pace() const noexcept {
  if (rate_bps_ == 0) return {};
  return kPace;
}

bool Sender::allow(Clock::time_point now) {
  if (rate_bps_ == 0) return true;
  if (!first_pump_) first_pump_ = now;
  const double seconds = std::chrono::duration<double>(now - *first_pump_).count();
  const auto by_now =
      static_cast<std::uint64_t>(seconds * static_cast<double>(rate_bps_) / 8 + kStepMin);
  for (Slot& slot : slots_) {
    if (!slot.transfer.valid() || by_now <= slot.begin) continue;
    const std::uint64_t allowed = std::min(slot.bytes, by_now - slot.begin);
    if (allowed != slot.bytes && allowed < slot.allowed + kStepMin) continue;
    if (allowed == slot.allowed) continue;
    // A full mailbox is tried again; a transfer that has ended refuses, and its completion comes.
    auto told = slot.transfer.ready(allowed);
    if (!told && told.error().code == ErrorCode::would_block) return false;
    slot.allowed = allowed;
  }
  return true;
}

Result<bool> Sender::pump(Clock::time_point now) {
  while (!no_more_ && !free_.empty()) {
    if (!waiting_) waiting_ = source_.next();
    if (!waiting_) {
      no_more_ = true;
      break;
    }
    auto started = start(*waiting_);
    if (!started || !*started) return started;
    waiting_.reset();
  }
  return allow(now);
}

void Sender::on_completion(const Completion& completion) {
  const auto index = static_cast<std::uint32_t>(index_of(completion.cookie));
  Slot& slot = slots_[index];
  if (completion.status == Status::completed) {
    ++completed_;
    ended_bytes_ += slot.bytes;
    if (slot.counts) times_.record(Clock::now() - slot.started);
  } else {
    ended_bytes_ += slot.transfer.progress().placed;
    if (!stopping_) {
      ++failed_;
      if (first_failure_.empty()) {
        const std::string reason = printable(slot.transfer.reason());
        first_failure_ = fmt::format("{}{}{}", longhaul::to_string(completion.status),
                                     reason.empty() ? "" : ": ", reason);
      }
    }
  }
  slot = Slot{};
  free_.push_back(index);
  --in_flight_;
}

void Sender::stop() {
  stopping_ = no_more_ = true;
  for (const Slot& slot : slots_) {
    // A transfer that ended meanwhile refuses; its completion is on the way.
    if (slot.transfer.valid()) static_cast<void>(slot.transfer.cancel());
  }
}

void Sender::restart_times() {
  times_ = LatencyHistogram();
  for (Slot& slot : slots_) slot.counts = false;
}

std::uint64_t Sender::bytes_left() const {
  std::uint64_t bytes = ended_bytes_;
  for (const Slot& slot : slots_) {
    if (slot.transfer.valid()) bytes += slot.transfer.progress().placed;
  }
  return bytes;
}

}  // namespace longhaul::apps::perf
