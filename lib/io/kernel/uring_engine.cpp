// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/uring_engine.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <limits>
#include <utility>

namespace longhaul::io::kernel {
namespace {

/// How often one `read` arms the receive again before it leaves the rest to the next.
constexpr int kReadAttempts = 4;
/// Messages without a copy that may be outstanding.
constexpr std::size_t kZeroCopySlots = 64;

/// What a result is about: bits 0-15 the message's index, 16-31 its slot of ZeroCopy plus one.
constexpr std::uint64_t kReceive = std::uint64_t{1} << 32U;
constexpr std::uint64_t kCancel = std::uint64_t{2} << 32U;
constexpr std::uint64_t kSend = std::uint64_t{3} << 32U;
constexpr std::uint64_t kKindMask = ~std::uint64_t{0xffffffff};

/// No result yet; no errno and no length is this.
constexpr int kNoResult = std::numeric_limits<int>::min();

// In the kernel since 6.2, in liburing since 2.4.
constexpr unsigned kReportUsage = 1U << 3U;
constexpr std::uint32_t kNotificationCopied = 1U << 31U;

unsigned completions_for(std::size_t buffers) noexcept {
  // One for every buffer, two for every send, and some for a receive that ends.
  return static_cast<unsigned>(
      std::bit_ceil(buffers + 2 * (TxBatch::kMessagesMax + kZeroCopySlots) + 8));
}

}  // namespace

Result<std::unique_ptr<UringEngine>> UringEngine::open(const Socket& socket,
                                                       const UringOptions& options) {
  std::unique_ptr<UringEngine> engine(new UringEngine(socket, options));
  const unsigned completions = options.completions != 0
                                   ? options.completions
                                   : completions_for(std::bit_ceil(options.receive_messages));
  auto ring = UringRing::open(completions);
  if (!ring) return tl::unexpected<Error>(std::move(ring.error()));
  engine->ring_ = std::move(*ring);
  auto buffers = UringBuffers::open(engine->ring_->native(), options.receive_messages);
  if (!buffers) return tl::unexpected<Error>(std::move(buffers.error()));
  engine->buffers_ = std::move(*buffers);
  engine->arrivals_.reserve(engine->buffers_->count());
  engine->in_use_.reserve(engine->buffers_->count());
  return engine;
}

UringEngine::UringEngine(const Socket& socket, const UringOptions& options)
    : Engine(socket, options.segmentation, std::bit_ceil(options.receive_messages)),
      log_(options.log) {
  if (options.zero_copy) zero_copy_ = std::make_unique<ZeroCopy>(kZeroCopySlots);
}

UringEngine::~UringEngine() {
  if (ring_ != nullptr) finish();
}

std::string_view UringEngine::name() const noexcept {
  return copies() ? "io_uring" : "io_uring_zero_copy";
}

bool UringEngine::copies() const noexcept {
  return zero_copy_ == nullptr || zero_copy_futile_;
}

Engine::Sent UringEngine::send(TxBatch& batch, std::size_t first,
                               std::span<const base::TxDatagram> datagrams) noexcept {
  const std::size_t messages = batch.messages().size() - first;
  std::fill_n(results_.begin(), messages, kNoResult);
  outstanding_ = 0;
  if (!submit(batch, first, datagrams)) return {0, EAGAIN};
  ++counters().send_calls;
  // Nothing here ever waits: a message that has no room fails, and takes those behind it along.
  while (outstanding_ > 0 && enter(static_cast<unsigned>(outstanding_))) reap();
  return outcome(messages);
}

bool UringEngine::submit(TxBatch& batch, std::size_t first,
                         std::span<const base::TxDatagram> datagrams) noexcept {
  const std::span<mmsghdr> messages = batch.messages();
  for (std::size_t i = first; i < messages.size(); ++i) {
    io_uring_sqe* submission = ring_->submission();
    if (submission == nullptr) {
      give_up("io_uring_enter", ring_->refusal());
      return false;
    }
    const std::size_t count = batch.datagrams(i);
    const std::uint64_t slot = prepare(*submission, messages[i].msg_hdr, datagrams.first(count));
    // One behind the other: what follows a refused message must not leave before it.
    if (i + 1 < messages.size()) io_uring_sqe_set_flags(submission, IOSQE_IO_LINK);
    io_uring_sqe_set_data64(submission, kSend | slot << 16U | (i - first));
    ++outstanding_;
    datagrams = datagrams.subspan(count);
  }
  return true;
}

/// Returns the message's slot of ZeroCopy plus one, 0 if it is copied.
std::uint64_t UringEngine::prepare(io_uring_sqe& submission, msghdr& message,
                                   std::span<const base::TxDatagram> datagrams) noexcept {
  if (!copies()) {
    const auto slot = releasing_payload_ ? std::nullopt : zero_copy_->hold(message, datagrams);
    if (slot) {
      io_uring_prep_sendmsg_zc(&submission, socket().number(), &message, MSG_DONTWAIT);
      submission.ioprio =
          static_cast<decltype(submission.ioprio)>(submission.ioprio | kReportUsage);
      return std::uint64_t{*slot} + 1;
    }
    // It may have been refused once without a copy, and what it pointed at then is gone.
    ZeroCopy::use_own_heads(message, datagrams);
  }
  io_uring_prep_sendmsg(&submission, socket().number(), &message, MSG_DONTWAIT);
  return 0;
}

Engine::Sent UringEngine::outcome(std::size_t messages) const noexcept {
  for (std::size_t i = 0; i < messages; ++i) {
    if (results_[i] >= 0) continue;
    // Without a result the ring is lost; with the next engine there will be room.
    const bool unknown = results_[i] == kNoResult || results_[i] == -ECANCELED;
    return {i, unknown ? EAGAIN : -results_[i]};
  }
  return {messages, 0};
}

bool UringEngine::read(Timestamp now, std::size_t datagrams) noexcept {
  for (const unsigned short buffer : in_use_) buffers_->take_back(buffer);
  in_use_.clear();
  received().restart(now);
  reap();
  const std::size_t wanted = received().messages_for(datagrams);
  for (int i = 0; i < kReadAttempts && arrivals_.empty(); ++i) {
    // Armed a moment ago and nothing came: then there is nothing, whatever `work_due` says.
    if (armed_ && (i > 0 || !ring_->work_due())) return false;
    buffers_->lend(wanted);
    if (!armed_ && !arm()) return false;
    ++counters().receive_calls;
    if (!enter(0)) return false;
    reap();
  }
  for (const Arrival& arrival : arrivals_) {
    buffers_->deliver(arrival.buffer, arrival.length, received());
    in_use_.push_back(arrival.buffer);
  }
  arrivals_.clear();
  return received().pending();
}

bool UringEngine::arm() noexcept {
  io_uring_sqe* submission = ring_->submission();
  if (submission == nullptr) {
    give_up("io_uring_enter", ring_->refusal());
    return false;
  }
  io_uring_prep_recvmsg_multishot(submission, socket().number(), &buffers_->request(), 0);
  io_uring_sqe_set_flags(submission, IOSQE_BUFFER_SELECT);
  submission->buf_group = UringBuffers::kGroup;
  io_uring_sqe_set_data64(submission, kReceive);
  armed_ = true;
  ++arms_;
  return true;
}

// The receive refers to the socket, which keeps its port until that is cancelled. Only the ring's
// own thread can do so at once; otherwise the system gets round to it some milliseconds after.
void UringEngine::finish() noexcept {
  if (!armed_ || ring_->refusal() != 0) return;
  io_uring_sqe* submission = ring_->submission();
  if (submission == nullptr) return;
  io_uring_prep_cancel64(submission, kReceive, 0);
  io_uring_sqe_set_data64(submission, kCancel);
  for (int i = 0; i < kReadAttempts && armed_ && ring_->enter(1); ++i) reap();
}

bool UringEngine::enter(unsigned completions) noexcept {
  if (ring_->enter(completions)) return true;
  give_up("io_uring_enter", ring_->refusal());
  return false;
}

void UringEngine::reap() noexcept {
  ring_->reap([this](const io_uring_cqe& completion) {
    const std::uint64_t kind = completion.user_data & kKindMask;
    if (kind == kReceive) on_received(completion);
    if (kind == kSend) on_sent(completion);
  });
  if (!zero_copy_futile_ && zero_copy_ != nullptr) judge_zero_copy();
}

void UringEngine::on_received(const io_uring_cqe& completion) noexcept {
  if ((completion.flags & IORING_CQE_F_MORE) == 0) armed_ = false;
  if ((completion.flags & IORING_CQE_F_BUFFER) != 0) {
    const auto buffer = static_cast<unsigned short>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
    buffers_->returned();
    if (completion.res >= 0) {
      arrivals_.push_back({buffer, static_cast<std::uint32_t>(completion.res)});
    } else {
      buffers_->take_back(buffer);
    }
  }
  if (completion.res >= 0 || completion.res == -ENOBUFS || completion.res == -ECANCELED) return;
  if (completion.res == -EINVAL || completion.res == -EOPNOTSUPP) {
    give_up("a multishot receive", -completion.res);
  } else {
    socket().clear_errors();
  }
}

void UringEngine::on_sent(const io_uring_cqe& completion) noexcept {
  const auto index = static_cast<std::size_t>(completion.user_data & 0xffffU);
  const auto slot = static_cast<std::uint16_t>((completion.user_data >> 16U) & 0xffffU);
  if ((completion.flags & IORING_CQE_F_NOTIF) != 0) {
    const auto usage = static_cast<std::uint32_t>(completion.res);
    zero_copy_->let_go(static_cast<std::uint16_t>(slot - 1), (usage & kNotificationCopied) != 0);
    return;
  }
  results_[index] = completion.res;
  --outstanding_;
  if (slot == 0) return;
  const bool notification_follows = (completion.flags & IORING_CQE_F_MORE) != 0;
  if (!notification_follows) zero_copy_->forget(static_cast<std::uint16_t>(slot - 1));
  if (completion.res >= 0) zero_copy_works_ = true;
  // The very first one refused like this may be the system's way to say that it does not know how
  // (before Linux 6.2). The message is then tried again, copied.
  if (!zero_copy_works_ && (completion.res == -EINVAL || completion.res == -EOPNOTSUPP)) {
    give_up_zero_copy("the system refuses it");
    results_[index] = -EINTR;
  }
}

bool UringEngine::pending() noexcept {
  if (received().pending() || !failure_.empty()) return true;
  reap();
  if (arrivals_.empty() && ring_->work_due() && enter(0)) reap();
  return !arrivals_.empty() || !failure_.empty();
}

TrainLimits UringEngine::train_limits() const noexcept {
  TrainLimits limits = Engine::train_limits();
  if (!copies()) {
    limits.uncopied_payload_min = ZeroCopy::kPayloadMin;
    limits.fragments_max = ZeroCopy::kFragmentsMax;
  }
  return limits;
}

bool UringEngine::release_payload() noexcept {
  if (zero_copy_ == nullptr || !failure_.empty()) return true;
  if (zero_copy_->holds() && enter(0)) reap();
  releasing_payload_ = zero_copy_->holds();
  return !releasing_payload_;
}

void UringEngine::judge_zero_copy() noexcept {
  if (!zero_copy_->is_futile()) return;
  try {
    give_up_zero_copy("the system copied " + std::to_string(zero_copy_->copied()) + " of " +
                      std::to_string(zero_copy_->completed()) + " messages all the same");
  } catch (...) {
    zero_copy_futile_ = true;  // no memory for words
  }
}

void UringEngine::give_up_zero_copy(std::string_view why) noexcept {
  if (zero_copy_futile_) return;
  zero_copy_futile_ = true;
  if (!log_) return;
  try {
    log_(LogLevel::info,
         "zero copy: " + std::string(why) + "; from here on every message is copied");
  } catch (...) {
    return;  // there is nobody to tell
  }
}

void UringEngine::give_up(const char* call, int cause) noexcept {
  if (!failure_.empty()) return;
  try {
    failure_ = cause == EEXIST
                   ? std::string("another thread turns the worker than the one that began")
                   : uring_refused(call, cause).value().context;
  } catch (...) {
    // Short enough to need no memory.
    failure_ = "io_uring failed";
  }
}

}  // namespace longhaul::io::kernel
