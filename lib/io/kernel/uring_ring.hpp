// SPDX-License-Identifier: Apache-2.0
// One io_uring: opening it with its refusals explained, and entering the system through it.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "longhaul/result.hpp"

namespace longhaul::io::kernel {

/// A ring that runs everything inside `enter`, on the one thread that enters first: the system
/// interrupts nobody and starts no thread. Opened by any thread, closed by any.
class UringRing {
 public:
  /// Room for one batch of sends and the receive that is armed again beside it.
  static constexpr unsigned kSubmissions = 128;

  /// `completions` is how many results the ring holds until they are read; beyond that the system
  /// keeps them itself. Fails with unsupported (the kernel is older than 6.1 or has no io_uring),
  /// no_permission (sysctl or seccomp) or system; the context names cause and remedy.
  static Result<std::unique_ptr<UringRing>> open(unsigned completions);
  ~UringRing();
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;

  /// A submission to fill in, which leaves with the next `enter`; null only if that failed.
  io_uring_sqe* submission() noexcept;

  /// Submits, lets the system do what is due, and waits until `completions` results are there.
  /// False once the system refuses for good; see `refusal`.
  bool enter(unsigned completions) noexcept;
  /// `enter` may find something to do although nothing was submitted; if not, it certainly finds
  /// nothing. The system leaves this true after linked submissions, until the next thing it does.
  bool work_due() const noexcept;
  /// errno of the refusal, 0 while the ring works.
  int refusal() const noexcept { return refusal_; }

  /// Calls `handle(const io_uring_cqe&)` for every result that is there.
  template <typename Handler>
  void reap(Handler&& handle) noexcept {
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_for_each_cqe(&ring_, head, completion) {
      handle(*completion);
      ++seen;
    }
    if (seen > 0) io_uring_cq_advance(&ring_, seen);
  }

  io_uring& native() noexcept { return ring_; }

 private:
  UringRing() = default;
  bool start() noexcept;
  Result<void> try_entering() noexcept;

  io_uring ring_{};
  bool open_ = false;
  bool started_ = false;
  int refusal_ = 0;
};

/// Why the system refused `call` with `cause`, and what helps.
tl::unexpected<Error> uring_refused(const char* call, int cause);

}  // namespace longhaul::io::kernel
