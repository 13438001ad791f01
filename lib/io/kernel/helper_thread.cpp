// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/helper_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <exception>

namespace longhaul::io::kernel {
namespace {

struct Job {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* run(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  pthread_setname_np(pthread_self(), "longhaul-open");
  try {
    job.work();
  } catch (...) {
    job.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

Result<void> on_helper_thread(const std::function<void()>& work) {
  Job job{work, nullptr};
  // The new thread inherits the mask: no signal of the application may land on it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, &run, &job);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return fail(ErrorCode::system, "cannot start a thread to open an io_uring; raise `ulimit -u`",
                error);
  }
  pthread_join(thread, nullptr);
  if (job.thrown) std::rethrow_exception(job.thrown);
  return {};
}

}  // namespace longhaul::io::kernel
