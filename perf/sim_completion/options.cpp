// SPDX-License-Identifier: Apache-2.0
#include "perf/sim_completion/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>

namespace longhaul::perf {
namespace {

constexpr std::uint32_t kMtuMin = 1280;
constexpr std::uint32_t kMtuMax = 65535;

// Sizes as iperf3 has them: 128M is 128 MiB. Rates are decimal: 10G is 10^10.
std::map<std::string, std::uint64_t> binary_units() {
  return {{"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}};
}
std::map<std::string, std::uint64_t> decimal_units() {
  return {{"K", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}};
}

Duration milliseconds_of(double value) {
  return Duration(static_cast<Duration::rep>(value * 1e6));
}

// The cells DESIGN §6 names, and 100 Gbit/s × 100 ms; count, seed and controller as given.
std::vector<Cell> grid(const Cell& given) {
  std::vector<Cell> cells;
  Cell cell;
  cell.count = given.count;
  cell.seed = given.seed;
  cell.controller = given.controller;
  for (const double loss : {0.0, 1e-4, 1e-3, 1e-2}) {
    cell.loss = loss;
    cells.push_back(cell);
  }
  // One is as long as eight of the others, and without loss hardly two differ.
  cell.loss = 0;
  cell.bytes = std::uint64_t{1} << 30;
  cell.rate_bps = 100'000'000'000;
  cell.rtt = std::chrono::milliseconds(100);
  cell.count = std::max(given.count / 20, 1u);
  cells.push_back(cell);
  return cells;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
  Options options;
  Cell cell;
  double rtt_ms = 50;
  double jitter_ms = 0;
  bool whole_grid = false;
  CLI::App app(
      "Completion time of tensor transfers over a simulated line, as a ratio to the limit T* = D + "
      "N "
      "tau / (1 - p).");
  app.add_option("--size", cell.bytes, "Tensor bytes; suffixes K, M, G are binary")
      ->transform(CLI::AsNumberWithUnit(binary_units()))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 46));
  app.add_option("--rate", cell.rate_bps, "Bits on the wire per second; K, M, G are decimal")
      ->transform(CLI::AsNumberWithUnit(decimal_units()))
      ->check(CLI::Range(std::uint64_t{1'000'000}, std::uint64_t{1'000'000'000'000}));
  app.add_option("--rtt", rtt_ms, "Round trip, ms")->check(CLI::Range(0.001, 10'000.0));
  app.add_option("--mtu", cell.mtu, "Largest IP packet")->check(CLI::Range(kMtuMin, kMtuMax));
  app.add_option("--loss", cell.loss, "Share of packets lost, each way")
      ->check(CLI::Range(0.0, 0.9));
  app.add_option("--burst", cell.burst, "Mean length of a loss burst, packets; 1 = independent")
      ->check(CLI::Range(1.0, 100'000.0));
  app.add_option("--jitter", jitter_ms, "Uniform extra delay, reordering, ms")
      ->check(CLI::Range(0.0, 10'000.0));
  app.add_option("--count", cell.count, "Transfers, one after the other")
      ->check(CLI::Range(1u, 100'000'000u));
  app.add_option("--seed", cell.seed, "Seed of the simulation");
  app.add_option("--controller", cell.controller,
                 "Congestion controller; fixed gets the line's rate");
  app.add_flag("--json", options.json, "One JSON object a cell");
  app.add_flag("--grid", whole_grid,
               "The cells of the design: 128 MiB at 10 Gbit/s, 50 ms, MTU 9000 and loss 0, 1e-4, "
               "1e-3, 1e-2; 1 GiB at 100 Gbit/s, 100 ms (a twentieth of the count)");
  app.add_flag("--trace-hash", options.trace_hash, "Print the hash over every simulated datagram");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error);
    return std::nullopt;
  }
  cell.rtt = milliseconds_of(rtt_ms);
  cell.jitter = milliseconds_of(jitter_ms);
  options.cells = whole_grid ? grid(cell) : std::vector<Cell>{cell};
  return options;
}

}  // namespace longhaul::perf
