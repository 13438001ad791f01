// SPDX-License-Identifier: Apache-2.0
#include "lib/api/backend_factory.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "lib/io/fault/fault_backend.hpp"
#include "lib/io/kernel/kernel_backend.hpp"

namespace longhaul::api {
namespace {

Result<std::unique_ptr<io::Backend>> open_kernel(const EndpointConfig& config) {
  io::kernel::KernelOptions options;
  options.local = config.local;
  options.engine = io::kernel::engine_named(config.engine).value_or(options.engine);
  options.one_thread = config.threads == ThreadMode::worker_threads;
  options.log = config.log;
  options.device = config.device;
  return io::kernel::KernelBackend::open(options);
}

struct Entry {
  std::string_view name;
  Result<std::unique_ptr<io::Backend>> (*open)(const EndpointConfig&);
};
constexpr std::array kBackends{
    Entry{"kernel", &open_kernel},
};

}  // namespace

Result<std::unique_ptr<io::Backend>> open_backend(const EndpointConfig& config) {
  std::string names;
  for (const Entry& entry : kBackends) {
    if (entry.name == config.backend) return entry.open(config);
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return fail(ErrorCode::unsupported,
              "this build has no backend \"" + config.backend + "\"; it has: " + names);
}

std::unique_ptr<io::Backend> with_faults(std::unique_ptr<io::Backend> backend,
                                         const EndpointConfig& config, std::uint64_t seed,
                                         base::PayloadMode mode) {
  if (!config.inject.any()) return backend;
  return std::make_unique<io::FaultBackend>(std::move(backend), config.inject, seed, mode);
}

}  // namespace longhaul::api
