// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/uring_ring.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "lib/io/kernel/descriptor.hpp"

namespace longhaul::io::kernel {
namespace {

/// How often in a row the system may say "busy" before it is believed.
constexpr int kBusyMax = 64;
constexpr const char* kDisabledPath = "/proc/sys/kernel/io_uring_disabled";

/// The value of kernel.io_uring_disabled; '0' where there is no such sysctl (before Linux 6.6).
char disabled_by_sysctl() noexcept {
  const Descriptor file(open(kDisabledPath, O_RDONLY | O_CLOEXEC));
  char value = '0';
  if (!file || read(file.number(), &value, 1) != 1) return '0';
  return value;
}

}  // namespace

tl::unexpected<Error> uring_refused(const char* call, int cause) {
  const std::string what = std::string("the system refuses ") + call;
  if (cause == EPERM || cause == EACCES) {
    const char disabled = disabled_by_sysctl();
    if (disabled != '0') {
      return fail(ErrorCode::no_permission,
                  what + ": the sysctl kernel.io_uring_disabled is " + disabled +
                      "; set it to 0 or use the engine \"mmsg\"",
                  cause);
    }
    return fail(ErrorCode::no_permission,
                what +
                    ": a seccomp or LSM rule, as containers have them, forbids it; allow "
                    "io_uring_setup, io_uring_enter and io_uring_register or use the engine "
                    "\"mmsg\"",
                cause);
  }
  if (cause == ENOSYS) {
    return fail(ErrorCode::unsupported,
                what +
                    ": this kernel is built without io_uring, or a seccomp rule hides it; use the "
                    "engine \"mmsg\"",
                cause);
  }
  if (cause == EINVAL) {
    return fail(ErrorCode::unsupported,
                what + ": the io_uring engine needs Linux 6.1; use the engine \"mmsg\"", cause);
  }
  if (cause == EMFILE || cause == ENFILE) {
    return fail(ErrorCode::system, "no file descriptor left for an io_uring; raise `ulimit -n`",
                cause);
  }
  if (cause == ENOMEM) {
    return fail(ErrorCode::system,
                "no memory left for an io_uring; raise `ulimit -l` or use the engine \"mmsg\"",
                cause);
  }
  return fail(ErrorCode::system, what + "; use the engine \"mmsg\"", cause);
}

Result<std::unique_ptr<UringRing>> UringRing::open(unsigned completions) {
  std::unique_ptr<UringRing> ring(new UringRing);
  io_uring_params parameters{};
  // DEFER_TASKRUN is what lets the worker sleep on the socket itself: nothing leaves the socket
  // except inside `enter`. The opening thread is not the worker's, so the ring starts disabled and
  // belongs to whoever enables it.
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                     IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL |
                     IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  parameters.cq_entries = completions;
  const int result = io_uring_queue_init_params(kSubmissions, &ring->ring_, &parameters);
  if (result < 0) return uring_refused("io_uring_setup", -result);
  ring->open_ = true;
  // A child of fork must neither see nor change what we share with the kernel.
  io_uring_ring_dontfork(&ring->ring_);
  if (auto tried = ring->try_entering(); !tried) return tl::unexpected<Error>(tried.error());
  return ring;
}

UringRing::~UringRing() {
  if (open_) io_uring_queue_exit(&ring_);
}

// Filters may allow the one call and refuse the next; better to know at open. A ring that is not
// enabled answers EBADFD.
Result<void> UringRing::try_entering() noexcept {
  const auto descriptor = static_cast<unsigned>(ring_.ring_fd);
  const int result = io_uring_enter(descriptor, 0, 0, 0, nullptr);
  if (result < 0 && result != -EBADFD) return uring_refused("io_uring_enter", -result);
  return {};
}

bool UringRing::start() noexcept {
  // liburing 2.3 declares io_uring_enable_rings and does not export it.
  const int result = io_uring_register(static_cast<unsigned>(ring_.ring_fd),
                                       IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  if (result < 0) refusal_ = -result;
  started_ = result >= 0;
  return started_;
}

io_uring_sqe* UringRing::submission() noexcept {
  io_uring_sqe* free = io_uring_get_sqe(&ring_);
  if (free == nullptr && enter(0)) free = io_uring_get_sqe(&ring_);
  return free;
}

bool UringRing::enter(unsigned completions) noexcept {
  if (refusal_ != 0 || (!started_ && !start())) return false;
  for (int busy = 0;;) {
    const int result = completions > 0 ? io_uring_submit_and_wait(&ring_, completions)
                                       : io_uring_submit_and_get_events(&ring_);
    if (result >= 0) return true;
    if (result == -EINTR) continue;
    // Results are waiting to be read, or memory is short for a moment.
    if ((result == -EBUSY || result == -EAGAIN) && ++busy < kBusyMax) {
      if (io_uring_cq_ready(&ring_) > 0) return true;
      continue;
    }
    refusal_ = -result;
    return false;
  }
}

bool UringRing::work_due() const noexcept {
  const unsigned flags = io_uring_smp_load_acquire(ring_.sq.kflags);
  return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

}  // namespace longhaul::io::kernel
