// SPDX-License-Identifier: Apache-2.0
#include "apps/common/interrupt.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace longhaul::apps {

namespace {

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Result<InterruptWatch> InterruptWatch::create() {
  const sigset_t signals = watched_signals();
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return fail(ErrorCode::system, "cannot block signals", error);
  }
  FileDescriptor fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() < 0) return fail(ErrorCode::system, "cannot watch for signals", errno);
  return InterruptWatch(std::move(fd));
}

bool InterruptWatch::interrupted() {
  if (interrupted_) return true;
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return false;
  interrupted_ = true;
  const sigset_t signals = watched_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return true;
}

}  // namespace longhaul::apps
