// SPDX-License-Identifier: Apache-2.0
#include "lib/io/fault/fault_backend.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/netmodel/corruption.hpp"

namespace longhaul::io {

namespace {
// A blocked inner backend is asked again after this: soon enough to keep a line busy, late enough
// for a socket buffer to drain.
constexpr Duration kRetry = std::chrono::microseconds(100);
constexpr std::size_t kReleaseBurst = 64;
}  // namespace

FaultBackend::FaultBackend(std::unique_ptr<Backend> inner,
                           const EndpointConfig::InjectedFaults& faults, std::uint64_t seed,
                           base::PayloadMode mode, std::size_t held_bytes_max)
    : inner_(std::move(inner)),
      faults_(faults),
      mode_(mode),
      held_bytes_max_(held_bytes_max),
      random_(seed),
      name_("fault(" + std::string(inner_->capabilities().name) + ")"),
      capabilities_(inner_->capabilities()),
      scratch_(faults.corrupt > 0 ? BufferPool::kBytesMax : 0) {
  capabilities_.name = name_;
}

std::size_t FaultBackend::receive(Timestamp now, std::span<base::RxDatagram> out) {
  release_due(now);
  return inner_->receive(now, out);
}

std::size_t FaultBackend::transmit(Timestamp now, std::span<const base::TxDatagram> burst) {
  release_due(now);
  const bool all_wait = faults_.delay > Duration{0};
  std::size_t passed = 0;  // everything before has been dealt with
  for (std::size_t i = 0; i < burst.size(); ++i) {
    const Plan plan = draw(burst[i]);
    if (plan.passes() && !all_wait) continue;
    // A datagram whose turn does not come because the line blocked is drawn anew when the caller
    // offers it again; that changes no probability.
    if (i > passed) {
      passed += inner_->transmit(now, burst.subspan(passed, i - passed));
      if (passed < i) return passed;
    }
    if (!carry_out(plan, burst[i], now)) return i;
    passed = i + 1;
  }
  if (passed < burst.size()) passed += inner_->transmit(now, burst.subspan(passed));
  return passed;
}

Timestamp FaultBackend::next_release() const {
  if (!overdue_.empty()) return retry_at_;
  return held_.empty() ? kNever : held_.front().release;
}

FaultBackend::Plan FaultBackend::draw(const base::TxDatagram& datagram) {
  Plan plan;
  plan.lost = random_.chance(faults_.loss);
  if (plan.lost) return plan;
  if (datagram.size() > 0 && random_.chance(faults_.corrupt)) plan.corruption = random_.next() | 1;
  if (random_.chance(faults_.duplicate)) plan.copies = 2;
  for (std::size_t i = 0; i < plan.copies; ++i) {
    plan.reordered[i] = random_.chance(faults_.reorder);
  }
  return plan;
}

// False if the inner backend had no room, so that the datagram stays the caller's.
bool FaultBackend::carry_out(const Plan& plan, const base::TxDatagram& datagram, Timestamp now) {
  if (plan.lost) {
    ++stats_.lost;
    return true;
  }
  base::TxDatagram sent = datagram;
  const std::size_t size = datagram.size();
  // Above the local MTU it never leaves, and the inner backend says so in its stats.
  const bool fits = size <= capabilities_.datagram_max && size <= BufferPool::kBytesMax;
  if (!fits) return inner_->transmit(now, {&sent, 1}) == 1;
  if (plan.corruption != 0) {
    sent.head_size = copy_out(datagram, scratch_.data());
    sent.head = std::span(scratch_.data(), scratch_.size());
    sent.payload = sent.payload.last(size - sent.head_size);
    netmodel::damage(sent.head.first(sent.head_size), size, plan.corruption);
    sent.damaged = datagram.damaged || mode_ == base::PayloadMode::reference;
  }
  for (std::size_t i = 0; i < plan.copies; ++i) {
    const Duration extra = plan.reordered[i] ? faults_.reorder_delay : Duration{0};
    // The first copy settles whether the datagram has gone; a second without room is given up.
    if (!send_or_hold(sent, faults_.delay + extra, now)) {
      if (i == 0) return false;
      break;
    }
    if (i == 1) ++stats_.duplicated;
    if (plan.reordered[i]) ++stats_.reordered;
  }
  if (plan.corruption != 0) ++stats_.corrupted;
  return true;
}

bool FaultBackend::send_or_hold(const base::TxDatagram& datagram, Duration held_back,
                                Timestamp now) {
  if (held_back > Duration{0}) {
    if (held_bytes_ + datagram.size() <= held_bytes_max_) {
      hold(datagram, std::max(now, datagram.departure) + held_back);
      return true;
    }
    ++stats_.not_held;
  }
  return inner_->transmit(now, {&datagram, 1}) == 1;
}

void FaultBackend::hold(const base::TxDatagram& datagram, Timestamp release) {
  if (free_.empty()) {
    slots_.push_back(std::make_unique<Held>());
    free_.push_back(slots_.back().get());
  }
  Held* held = free_.back();
  free_.pop_back();
  const bool carry = mode_ == base::PayloadMode::bytes;
  held->buffer = buffers_.take(carry ? datagram.size() : datagram.head_size);
  held->datagram = datagram;
  held->datagram.head_size = copy_out(datagram, held->buffer.data);
  held->datagram.head = std::span(held->buffer.data, held->datagram.head_size);
  held->datagram.payload = datagram.payload.last(datagram.size() - held->datagram.head_size);
  held->datagram.departure = release;
  held_bytes_ += datagram.size();
  ++stats_.held;
  held_.push_back({release, serial_++, held});
  std::push_heap(held_.begin(), held_.end(), later);
}

void FaultBackend::release_due(Timestamp now) {
  while (!held_.empty() && held_.front().release <= now) {
    overdue_.push_back(held_.front().held);
    std::pop_heap(held_.begin(), held_.end(), later);
    held_.pop_back();
  }
  while (!overdue_.empty()) {
    std::array<base::TxDatagram, kReleaseBurst> burst;
    const std::size_t count = std::min(overdue_.size(), burst.size());
    for (std::size_t i = 0; i < count; ++i) burst[i] = overdue_[i]->datagram;
    const std::size_t sent = inner_->transmit(now, std::span(burst).first(count));
    for (std::size_t i = 0; i < sent; ++i) {
      Held* held = overdue_.front();
      overdue_.pop_front();
      held_bytes_ -= held->datagram.size();
      buffers_.give_back(held->buffer);
      free_.push_back(held);
    }
    if (sent < count) {
      retry_at_ = now + kRetry;
      return;
    }
  }
}

// Copies what travels in this payload mode; returns how many bytes that is.
std::size_t FaultBackend::copy_out(const base::TxDatagram& datagram, std::byte* to) const {
  if (datagram.head_size > 0) std::memcpy(to, datagram.head.data(), datagram.head_size);
  if (mode_ == base::PayloadMode::reference || datagram.payload.empty()) return datagram.head_size;
  std::memcpy(to + datagram.head_size, datagram.payload.data(), datagram.payload.size());
  return datagram.size();
}

}  // namespace longhaul::io
