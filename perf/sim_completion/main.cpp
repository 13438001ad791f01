// SPDX-License-Identifier: Apache-2.0
// How close a transfer comes to what the line allows, in virtual time: two endpoints of the public
// API on a simulated line, one transfer at a time.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "perf/sim_completion/options.hpp"

namespace longhaul::perf {
namespace {

// A line on the terminal that rewrites itself; nothing in a pipe.
class ProgressLine {
 public:
  ProgressLine(std::size_t cell, std::size_t cells, std::uint32_t count)
      : cell_(cell), cells_(cells), count_(count), visible_(::isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (visible_) fmt::print(stderr, "\r\x1b[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::uint32_t done) const {
    if (visible_) fmt::print(stderr, "\rcell {}/{}: {}/{}", cell_, cells_, done, count_);
  }

 private:
  std::size_t cell_;
  std::size_t cells_;
  std::uint32_t count_;
  bool visible_;
};

void print_json(const Cell& cell, const CellResult& result, bool trace_hash) {
  nlohmann::ordered_json object;
  object["size"] = cell.bytes;
  object["rate_bps"] = cell.rate_bps;
  object["rtt_ms"] = static_cast<double>(cell.rtt.count()) / 1e6;
  object["mtu"] = cell.mtu;
  object["loss"] = cell.loss;
  object["burst"] = cell.burst;
  object["n"] = cell.count;
  object["mean_ratio"] = result.mean;
  object["p50_ratio"] = result.percentile(0.50);
  object["p99_ratio"] = result.percentile(0.99);
  object["max_ratio"] = result.ratios.back();
  object["overhead"] = result.overhead;
  if (trace_hash) object["trace_hash"] = fmt::format("{:016x}", result.trace_hash);
  fmt::print("{}\n", object.dump());
}

void print_text(const Cell& cell, const CellResult& result, bool trace_hash) {
  fmt::print(
      "{} bytes, {:.3g} Gbit/s, {:.3g} ms, MTU {}, loss {:g}, burst {:g}: {} transfers, T* {:.3f} "
      "ms, "
      "mean {:.4f} p50 {:.4f} p99 {:.4f} max {:.4f}, overhead {:.4f}\n",
      cell.bytes, static_cast<double>(cell.rate_bps) / 1e9,
      static_cast<double>(cell.rtt.count()) / 1e6, cell.mtu, cell.loss, cell.burst, cell.count,
      t_star(cell) / 1e6, result.mean, result.percentile(0.50), result.percentile(0.99),
      result.ratios.back(), result.overhead);
  if (trace_hash) fmt::print("trace hash {:016x}\n", result.trace_hash);
}

int run(const Options& options) {
  for (std::size_t i = 0; i < options.cells.size(); ++i) {
    const Cell& cell = options.cells[i];
    const auto result = [&] {
      const ProgressLine line(i + 1, options.cells.size(), cell.count);
      return run_cell(cell, [&](std::uint32_t done) { line.show(done); });
    }();
    if (!result) {
      fmt::print(stderr, "sim_completion: {}\n", to_string(result.error()));
      return 1;
    }
    (options.json ? print_json : print_text)(cell, *result, options.trace_hash);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace longhaul::perf

int main(int argc, char** argv) {
  int exit_code = 0;
  const auto options = longhaul::perf::parse_options(argc, argv, exit_code);
  return options ? longhaul::perf::run(*options) : exit_code;
}
