// SPDX-License-Identifier: Apache-2.0
#include "apps/common/affinity.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace longhaul::apps {

namespace {

/// "0-3,6": the cores of a set as taskset writes them.
std::string cores_text(const cpu_set_t& set) {
  std::string text;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    unsigned last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpu);
    if (last != cpu) text += fmt::format("-{}", last);
    cpu = last;
  }
  return text;
}

std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id != 0 && id != ::gettid()) threads.push_back(id);
  }
  return threads;
}

}  // namespace

Result<ThreadPinning> ThreadPinning::pin_others(unsigned cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed)) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("no core {} for this process; it may use {}", cpu, cores_text(allowed)));
  }
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  CPU_SET(cpu, &wanted);
  ThreadPinning pinning;
  for (const pid_t thread : other_threads()) {
    cpu_set_t before;
    CPU_ZERO(&before);
    // A thread that has ended meanwhile needs no core.
    if (::sched_getaffinity(thread, sizeof before, &before) != 0) continue;
    if (::sched_setaffinity(thread, sizeof wanted, &wanted) != 0) continue;
    pinning.before_.emplace_back(thread, before);
  }
  return pinning;
}

ThreadPinning::~ThreadPinning() {
  for (const auto& [thread, set] : before_) ::sched_setaffinity(thread, sizeof set, &set);
}

}  // namespace longhaul::apps
