// SPDX-License-Identifier: Apache-2.0
#include "apps/common/interrupt.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace longhaul::apps {

namespace {

/// timeout(1) signals the program, and right after that its group: one stop is two signals then,
/// and no person is so quick.
constexpr auto kOneStop = std::chrono::milliseconds(20);

/// With nohup a closing terminal is no reason to stop.
bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t deadly_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!ignored(SIGHUP)) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

Result<InterruptWatch> InterruptWatch::create() {
  sigset_t signals = deadly_signals();
  if (!ignored(SIGPIPE)) sigaddset(&signals, SIGPIPE);
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
  output_gone_ = info.ssi_signo == SIGPIPE;
  std::this_thread::sleep_for(kOneStop);
  while (::read(fd_.get(), &info, sizeof info) > 0) {
  }
  // Not SIGPIPE: the farewell writes to the same stdout that is gone.
  const sigset_t signals = deadly_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return true;
}

}  // namespace longhaul::apps
