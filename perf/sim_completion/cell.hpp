// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "longhaul/result.hpp"
#include "longhaul/time.hpp"

namespace longhaul::perf {

/// One cell of the grid: a line, a message, how often.
struct Cell {
  std::uint64_t bytes = 128u << 20;
  std::uint64_t rate_bps = 10'000'000'000;  ///< on the wire
  Duration rtt = std::chrono::milliseconds(50);
  std::uint32_t mtu = 9000;
  double loss = 0;     ///< of all packets, both ways
  double burst = 1;    ///< mean length of a loss burst, packets; 1 = independent losses
  Duration jitter{0};  ///< uniform, both ways, reordering
  std::uint32_t count = 1000;
  std::uint64_t seed = 1;
  std::string controller = "fixed";
};

/// N of DESIGN §6: packets of a message.
std::uint64_t packets_of(const Cell& cell) noexcept;
/// T* of DESIGN §6 in nanoseconds.
double t_star(const Cell& cell) noexcept;

struct CellResult {
  std::vector<double> ratios;  ///< completion ÷ T*, ascending
  double mean = 0;
  double overhead =
      0;  ///< UDP payload the sender sent beyond the tensor's bytes, as a share of them
  std::uint64_t trace_hash = 0;

  double percentile(double share) const noexcept;  ///< nearest rank
};

/// Told after every transfer how many are done.
using ProgressSink = std::function<void(std::uint32_t)>;

/// Runs the cell's transfers one after the other on one connection.
Result<CellResult> run_cell(const Cell& cell, const ProgressSink& progress);

}  // namespace longhaul::perf
