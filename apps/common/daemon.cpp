// SPDX-License-Identifier: Apache-2.0
#include "apps/common/daemon.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace longhaul::apps {

namespace {

/// The parent's whole life after the fork.
[[noreturn]] void await(int from_child, pid_t child) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(from_child, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) ::_exit(0);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1);
}

}  // namespace

Result<Daemon> Daemon::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::system, "cannot go into the background", errno);
  }
  FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::system, "cannot go into the background", errno);
  if (child > 0) {
    // Else the pipe would never end.
    ::close(write_end.release());
    await(read_end.get(), child);
  }
  if (::setsid() < 0) return fail(ErrorCode::system, "cannot leave the terminal", errno);
  return Daemon(std::move(write_end));
}

Result<void> Daemon::ready() {
  if (::chdir("/") != 0) return fail(ErrorCode::system, "cannot change to /", errno);
  const FileDescriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nowhere.get() < 0) return fail(ErrorCode::system, "cannot open /dev/null", errno);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nowhere.get(), standard);
  }
  const char byte = 1;
  if (::write(parent_.get(), &byte, 1) != 1) {
    return fail(ErrorCode::system, "the process that started this one is gone", errno);
  }
  ::close(parent_.release());
  return {};
}

}  // namespace longhaul::apps
