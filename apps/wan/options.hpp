// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/wan/plan.hpp"

namespace longhaul::apps::wan {

/// What the command line and the scenario file ask for.
struct Options {
  std::optional<std::uint64_t> seed;
  std::string json;  ///< empty = none, "-" = stdout
  Duration interval = std::chrono::seconds(1);
  std::optional<Duration> duration;
  std::string pidfile;
  std::string scenario;
  std::uint64_t buffer_bytes = 1ULL << 30;
  std::vector<LinkRequest> links;
};

inline constexpr std::uint64_t kDefaultSeed = 1;

}  // namespace longhaul::apps::wan
