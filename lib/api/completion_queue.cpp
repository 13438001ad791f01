// SPDX-License-Identifier: Apache-2.0
#include "lib/api/completion_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace longhaul::api {

CompletionQueue::~CompletionQueue() {
  close_descriptor();
}

Result<void> CompletionQueue::open_descriptor() {
  const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) {
    return fail(ErrorCode::system, "cannot make the completion descriptor (ulimit -n?)", errno);
  }
  descriptor_.store(descriptor, std::memory_order_relaxed);
  return {};
}

void CompletionQueue::close_descriptor() noexcept {
  const int descriptor = descriptor_.exchange(-1, std::memory_order_relaxed);
  if (descriptor >= 0) ::close(descriptor);
}

int CompletionQueue::use_descriptor() noexcept {
  in_use_.store(true, std::memory_order_relaxed);
  if (!signalling_.exchange(true, std::memory_order_seq_cst) &&
      waiting_.load(std::memory_order_seq_cst) > 0) {
    signal();
  }
  return descriptor_.load(std::memory_order_relaxed);
}

bool CompletionQueue::push(const Completion& completion) noexcept {
  if (!ring_.try_push(Completion(completion))) {
    if (!in_use_.load(std::memory_order_relaxed)) {
      Completion oldest;
      if (ring_.try_pop(oldest)) waiting_.fetch_sub(1, std::memory_order_seq_cst);
    } else {
      // Said before the second try: a `take` that the second try does not see will see this.
      full_.store(true, std::memory_order_seq_cst);
      if (waiting_.load(std::memory_order_seq_cst) >= static_cast<std::int64_t>(ring_.capacity())) {
        return false;
      }
    }
    if (!ring_.try_push(Completion(completion))) {
      full_.store(true, std::memory_order_seq_cst);
      return false;
    }
  }
  count_up();
  return true;
}

void CompletionQueue::push_last(const Completion& completion) {
  if (!push(completion)) leftovers_.push_back(completion);
}

std::size_t CompletionQueue::take(std::span<Completion> out, bool descriptor_held,
                                  bool& was_full) noexcept {
  was_full = false;
  in_use_.store(true, std::memory_order_relaxed);
  std::size_t taken = 0;
  while (taken < out.size() && ring_.try_pop(out[taken])) ++taken;
  if (taken > 0) {
    waiting_.fetch_sub(static_cast<std::int64_t>(taken), std::memory_order_seq_cst);
    was_full =
        full_.load(std::memory_order_seq_cst) && full_.exchange(false, std::memory_order_seq_cst);
  }
  if (descriptor_held && waiting_.load(std::memory_order_seq_cst) <= 0) quieten();
  if (taken < out.size() && finished_.load(std::memory_order_acquire)) {
    while (taken < out.size()) {
      const std::size_t at = leftovers_taken_.fetch_add(1, std::memory_order_relaxed);
      if (at >= leftovers_.size()) {
        leftovers_taken_.store(leftovers_.size(), std::memory_order_relaxed);
        break;
      }
      out[taken++] = leftovers_[at];
    }
  }
  return taken;
}

void CompletionQueue::count_up() noexcept {
  // Zero means that a `take` was faster than this count: nothing waits.
  if (waiting_.fetch_add(1, std::memory_order_seq_cst) + 1 <= 0) return;
  if (signalling_.load(std::memory_order_seq_cst)) signal();
}

void CompletionQueue::signal() noexcept {
  if (signalled_.exchange(true, std::memory_order_seq_cst)) return;
  const int descriptor = descriptor_.load(std::memory_order_relaxed);
  if (descriptor >= 0) eventfd_write(descriptor, 1);
}

// Reads before it takes the mark back and looks again afterwards: a completion that comes in
// between is seen by the look or writes itself.
void CompletionQueue::quieten() noexcept {
  if (!signalled_.load(std::memory_order_seq_cst)) return;
  const int descriptor = descriptor_.load(std::memory_order_relaxed);
  if (descriptor < 0) return;
  eventfd_t count = 0;
  eventfd_read(descriptor, &count);
  signalled_.store(false, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) > 0) signal();
}

}  // namespace longhaul::api
