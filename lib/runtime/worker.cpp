// SPDX-License-Identifier: Apache-2.0
// The life of a packet, as the worker sees it:
//  1. `receive`: the backend fills the arrivals with a burst; the memory is its own until the next
//     call, so the core handles the whole burst at once and copies payload to its tensor.
//  2. `expire`: timers that passed, so that losses are known before anything is sent.
//  3. `take_requests`: what the application posted meanwhile.
//  4. `transmit`: the core fills slots (heads here, payload pointing into tensors), the backend
//     takes a prefix. What it does not take stays in its slot and goes first next time.
//  5. `publish`: the core's events go to the sink, as long as it has room.
#include "lib/runtime/worker.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "lib/runtime/nap.hpp"

namespace longhaul::runtime {
namespace {

constexpr std::size_t kBurstMax = 256;
// A burst is walked over several times (integrity, placement, digest): it has to stay in a core's
// second-level cache, beside what the system copies it from and where it is placed.
constexpr std::size_t kBurstBytes = 384 * 1024;
// A third copy, the sealed one, shares that cache of 1 MiB: larger bursts are slower again at MTU
// 9000, smaller ones at 1500.
constexpr std::size_t kSealedBurstBytes = 288 * 1024;
constexpr std::size_t kRequestsPerTurn = 256;
// A backend without room is tried again after this, if nothing else comes first.
constexpr Duration kRetryInterval = std::chrono::microseconds(100);
// A safety net for backends that turn the time into small integers, not a tick.
constexpr Duration kSleepMax = std::chrono::seconds(60);
// What a nap at either end adds to a round trip is lost in its jitter.
constexpr std::int64_t kNapsPerRtt = 128;
// A shorter nap costs more than the turns it saves.
constexpr Duration kNapMin = std::chrono::microseconds(20);
// While winding up, how long at a time to wait for the peers' last datagrams.
constexpr Duration kWindUpSleep = std::chrono::milliseconds(1);

void count_deadline_from(Timestamp posted_at, Timestamp now, std::optional<Duration>& deadline) {
  if (deadline) *deadline -= std::min(*deadline, now - posted_at);
}

// What the core is told of each kind of request that concerns only the core.
class CoreRequests {
 public:
  CoreRequests(endpoint::Endpoint& core, Timestamp now, Timestamp posted_at)
      : core_(core), now_(now), posted_at_(posted_at) {}

  void operator()(const ListenRequest&) const { core_.listen(); }
  void operator()(const endpoint::ConnectRequest& request) const { core_.connect(now_, request); }
  void operator()(endpoint::SendRequest& request) const {
    count_deadline_from(posted_at_, now_, request.options.deadline);
    core_.send(now_, std::move(request));
  }
  void operator()(endpoint::ReceiveRequest& request) const {
    count_deadline_from(posted_at_, now_, request.options.deadline);
    core_.receive(now_, std::move(request));
  }
  void operator()(const CancelRequest& request) const {
    core_.cancel(now_, request.connection, request.transfer);
  }
  void operator()(const ReadyRequest& request) const {
    core_.ready(now_, request.connection, request.transfer, request.bytes);
  }
  void operator()(const CloseRequest& request) const {
    core_.close(now_, request.connection, request.reason);
  }
  void operator()(const QueryRequest&) const {}

 private:
  endpoint::Endpoint& core_;
  Timestamp now_;
  Timestamp posted_at_;
};

BurstLimit limit_of(const io::Capabilities& backend, const WorkerOptions& options,
                    std::size_t bytes_max) {
  const BurstBounds bounds{
      .datagrams_max = std::clamp<std::size_t>(backend.burst_max, 1, kBurstMax),
      .bytes_max = bytes_max,
      .train_bytes = backend.train_bytes,
      .train_datagrams = backend.train_datagrams,
  };
  return {bounds, options.datagram_max};
}

template <typename Datagram>
std::size_t largest_of(std::span<const Datagram> burst) noexcept {
  std::size_t largest = 0;
  for (const Datagram& datagram : burst) largest = std::max(largest, datagram.size());
  return largest;
}

}  // namespace

Worker::Worker(std::unique_ptr<io::Backend> backend, std::unique_ptr<endpoint::Endpoint> core,
               EventSink& sink, const WorkerOptions& options)
    : backend_(std::move(backend)),
      core_(std::move(core)),
      sink_(sink),
      options_(options),
      mailbox_(options.mailbox_capacity),
      arrivals_limit_(limit_of(backend_->capabilities(), options_, kBurstBytes)),
      slots_limit_(limit_of(backend_->capabilities(), options_,
                            options_.sealing_copies ? kSealedBurstBytes : kBurstBytes)) {
  const std::size_t burst =
      std::clamp<std::size_t>(backend_->capabilities().burst_max, 1, kBurstMax);
  const std::size_t stride = (options_.datagram_max + 63) / 64 * 64;
  arrivals_.resize(burst);
  heads_.resize(burst * stride);
  slots_.resize(burst);
  for (std::size_t i = 0; i < burst; ++i) {
    slots_[i].head = std::span(heads_).subspan(i * stride, options_.datagram_max);
  }
}

Worker::~Worker() = default;

bool Worker::run_once(Timestamp now) {
  input_left_ = false;
  bool worked = receive(now);
  worked |= expire(now);
  worked |= take_requests(now, kRequestsPerTurn);
  take_refusals(now);
  worked |= transmit(now);
  worked |= take_too_big(now);
  worked |= publish(now);
  return worked;
}

bool Worker::receive(Timestamp now) {
  const auto room = std::span(arrivals_).first(arrivals_limit_.datagrams());
  const auto burst = room.first(backend_->receive(now, room));
  if (burst.empty()) return false;
  input_left_ = burst.size() == room.size();
  core_->handle_datagrams(now, burst);
  arrivals_limit_.on_burst(largest_of<base::RxDatagram>(burst));
  return true;
}

void Worker::take_refusals(Timestamp now) {
  if (core_->connecting() != watching_refusals_) {
    watching_refusals_ = !watching_refusals_;
    backend_->watch_refusals(watching_refusals_);
  }
  if (!watching_refusals_) return;
  std::array<base::Refusal, 16> refused;
  const std::size_t count = backend_->take_refusals(refused);
  if (count > 0) core_->handle_refusals(now, std::span(refused).first(count));
}

// The core then tries a smaller size, in the next turn.
bool Worker::take_too_big(Timestamp now) {
  std::array<base::TooBig, 16> refused;
  const std::size_t count = backend_->take_too_big(refused);
  if (count > 0) core_->handle_too_big(now, std::span(refused).first(count));
  return count > 0;
}

bool Worker::expire(Timestamp now) {
  if (core_->next_timeout() > now) return false;
  core_->handle_timeout(now);
  return true;
}

bool Worker::take_requests(Timestamp now, std::size_t most) {
  // Looking before taking: a post that comes in between is found again, one too often at worst.
  mailbox_.look();
  Request request;
  std::size_t taken = 0;
  while (taken < most && mailbox_.take(request)) {
    handle(now, request);
    request = Request{};  // drops what it owned before the next wait
    ++taken;
  }
  input_left_ = input_left_ || taken == most;
  return taken > 0;
}

void Worker::handle(Timestamp now, Request& request) {
  if (request.owner != nullptr) sink_.adopt(std::move(request.owner));
  if (auto* asked = std::get_if<QueryRequest>(&request.body)) {
    answer(*asked->query, now);
    return;
  }
  std::visit(CoreRequests(*core_, now, request.posted_at), request.body);
}

void Worker::answer(Query& query, Timestamp now) {
  query.run(QueryView{now, *core_, *backend_, transmit_blocked_});
}

bool Worker::transmit(Timestamp now) {
  bool worked = false;
  for (;;) {
    if (!slots_pending()) {
      next_slot_ = 0;
      filled_slots_ = core_->poll_transmit(now, std::span(slots_).first(slots_limit_.datagrams()));
      if (filled_slots_ == 0) break;
      slots_limit_.on_burst(
          largest_of(std::span<const base::TxDatagram>(slots_).first(filled_slots_)));
    }
    const auto burst =
        std::span<const base::TxDatagram>(slots_).subspan(next_slot_, filled_slots_ - next_slot_);
    const std::size_t accepted = backend_->transmit(now, burst);
    next_slot_ += accepted;
    worked |= accepted > 0;
    if (slots_pending()) {
      ++transmit_blocked_;
      retry_at_ = now + kRetryInterval;
      return worked;
    }
  }
  retry_at_ = kNever;
  return worked;
}

bool Worker::publish(Timestamp now) {
  bool worked = false;
  for (;;) {
    if (!held_) held_ = core_->poll_event();
    if (!held_) return worked;
    // The terminal status gives the memory back, so nothing may refer to it any more: no slot, and
    // nothing the backend sends without a copy.
    if (std::holds_alternative<endpoint::TransferEvent>(*held_)) {
      if (!detach_slots_from_tensors()) return worked;
      if (!backend_->release_payload()) {
        retry_at_ = std::min(retry_at_, now + kRetryInterval);
        return worked;
      }
    }
    if (!sink_.on_event(*held_)) return worked;
    held_.reset();
    worked = true;
  }
}

// Makes the slots a blocked backend left behind independent of tensor memory: rare, and bounded by
// one burst. False where it cannot be done and the event has to wait for the slots to leave.
bool Worker::detach_slots_from_tensors() {
  for (std::size_t i = next_slot_; i < filled_slots_; ++i) {
    base::TxDatagram& slot = slots_[i];
    if (slot.payload.empty()) continue;
    if (options_.payload_mode == base::PayloadMode::reference) return false;
    if (slot.size() > slot.head.size()) return false;
    std::memcpy(slot.head.data() + slot.head_size, slot.payload.data(), slot.payload.size());
    slot.head_size += slot.payload.size();
    slot.payload = {};
  }
  return true;
}

Timestamp Worker::next_due() const {
  return std::min({core_->next_timeout(), backend_->next_release(), retry_at_});
}

void Worker::sleep(Timestamp now, Duration longest) {
  const Timestamp due = next_due();
  if (due <= now || longest <= Duration::zero()) return;
  const Duration time = std::min({due - now, longest, kSleepMax});
  const Duration patience = this->patience(now);
  if (time < std::max(options_.spin, patience)) return rest(time, patience);
  if (!mailbox_.fall_asleep()) return;
  backend_->wait(time);
  mailbox_.wake_up();
}

Duration Worker::patience(Timestamp now) {
  const Duration share = core_->shortest_rtt(now) / kNapsPerRtt;
  return share < kNapMin ? Duration::zero() : std::min(share, options_.nap_max);
}

void Worker::rest(Duration time, Duration patience) noexcept {
  time = std::min(time, patience);
  if (time < kNapMin)
    sched_yield();
  else
    nap(time);
}

void Worker::run(const Clock& clock, const std::atomic<bool>& stop) {
  Timestamp busy_until = clock.now();
  while (!stop.load(std::memory_order_acquire)) {
    const Timestamp now = clock.now();
    const bool worked = run_once(now);
    const Duration patience = this->patience(now);
    if (worked) {
      // A nap ends late, and the next one is worth it only if it finds work.
      busy_until = now + std::max(options_.spin, 3 * patience);
      if (input_left_ || patience < kNapMin) continue;
    }
    if (now < busy_until) {
      rest(next_due() - now, patience);
    } else if (!stop.load(std::memory_order_acquire)) {
      // Asked again: the turn may have seen the nudge that came with it, and will not see another.
      sleep(now, kSleepMax);
    }
  }
}

void Worker::wind_up(const Clock& clock, std::string_view reason, Duration longest) {
  const Timestamp now = clock.now();
  const Timestamp end = now + longest;
  while (take_requests(now, kRequestsPerTurn)) {
  }
  core_->close_all(now, reason);
  drain(clock, end);
  backend_->finish();
}

void Worker::drain(const Clock& clock, Timestamp end) {
  Timestamp now = clock.now();
  for (;;) {
    const bool worked = run_once(now);
    if (!worked && !slots_pending() && next_due() == kNever) return;
    if (!worked && clock.now() == now) {
      // Virtual time stands still while we close, so nothing more can come of waiting.
      sleep(now, kWindUpSleep);
      if (clock.now() == now) return;
    } else if (!worked) {
      sleep(now, kWindUpSleep);
    }
    now = clock.now();
    if (now >= end) return;
  }
}

void Worker::abandon_requests() {
  Request request;
  while (mailbox_.take(request)) {
    if (request.owner != nullptr) sink_.adopt(std::move(request.owner));
    if (auto* asked = std::get_if<QueryRequest>(&request.body)) asked->query->waiting.notify();
    request = Request{};
  }
}

std::uint64_t Worker::memory() const noexcept {
  return options_.mailbox_capacity * sizeof(Request) + heads_.size() +
         slots_.size() * (sizeof(base::TxDatagram) + sizeof(base::RxDatagram));
}

bool Worker::post(Request&& request) noexcept {
  bool wake = false;
  if (!mailbox_.post(std::move(request), wake)) return false;
  if (wake) backend_->wake();
  return true;
}

void Worker::nudge() noexcept {
  if (mailbox_.nudge()) backend_->wake();
}

}  // namespace longhaul::runtime
