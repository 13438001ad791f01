// SPDX-License-Identifier: Apache-2.0
#include "apps/common/process_usage.hpp"

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace longhaul::apps {

namespace {

Duration to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

Duration cpu_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return to_duration(usage.ru_utime) + to_duration(usage.ru_stime);
}

}  // namespace

void ProcessUsage::restart() {
  wall_start_ = std::chrono::steady_clock::now();
  cpu_start_ = cpu_time();
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5";
}

double ProcessUsage::cpu_percent() const {
  const Duration wall = std::chrono::steady_clock::now() - wall_start_;
  if (wall.count() <= 0) return 0;
  return 100.0 * static_cast<double>((cpu_time() - cpu_start_).count()) /
         static_cast<double>(wall.count());
}

double ProcessUsage::peak_rss_mib() const {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace longhaul::apps
