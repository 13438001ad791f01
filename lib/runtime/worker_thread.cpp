// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/worker_thread.hpp"

#include <sched.h>
#include <signal.h>

#include <cerrno>
#include <utility>

#include "lib/runtime/nap.hpp"

namespace longhaul::runtime {
namespace {

// Sets up one thread's attributes and takes them down again.
class Attributes {
 public:
  Attributes() { pthread_attr_init(&attributes_); }
  ~Attributes() { pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  pthread_attr_t* get() { return &attributes_; }

 private:
  pthread_attr_t attributes_{};
};

int pin(Attributes& attributes, unsigned cpu) {
  if (cpu >= CPU_SETSIZE) return EINVAL;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_attr_setaffinity_np(attributes.get(), sizeof set, &set);
}

}  // namespace

Result<void> WorkerThread::start(const std::string& name, std::optional<unsigned> cpu,
                                 std::function<void()> body) {
  Attributes attributes;
  body_ = std::move(body);
  int error = cpu ? pin(attributes, *cpu) : 0;
  if (error == 0) {
    // The new thread inherits the mask: no signal of the application may ever land on it.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread_, attributes.get(), &WorkerThread::enter, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (error == EINVAL && cpu) {
    return fail(ErrorCode::invalid_argument,
                "worker_cpu " + std::to_string(*cpu) +
                    " is not a CPU this process may use; see `taskset -p` or leave it unset",
                error);
  }
  if (error != 0) return fail(ErrorCode::system, "cannot start the worker thread", error);
  running_ = true;
  pthread_setname_np(thread_, name.c_str());
  return {};
}

void WorkerThread::join() {
  if (!running_) return;
  pthread_join(thread_, nullptr);
  running_ = false;
}

bool WorkerThread::is_current() const noexcept {
  return running_ && pthread_equal(pthread_self(), thread_) != 0;
}

void* WorkerThread::enter(void* self) {
  sharpen_naps();
  static_cast<WorkerThread*>(self)->body_();
  return nullptr;
}

}  // namespace longhaul::runtime
