// SPDX-License-Identifier: Apache-2.0
// One seed, one trace, whatever the compiler: scripts/test runs this with GCC and with Clang.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/sim/runner.hpp"
#include "tests/sim/scenarios/tables.hpp"

namespace longhaul::simtest {
namespace {

std::uint64_t trace_of(const Table& table, std::string_view name) {
  const auto scenario = std::ranges::find(table, name, &Scenario::name);
  EXPECT_NE(scenario, table.end()) << "no scenario " << name;
  return scenario == table.end() ? 0 : play(*scenario, base::PayloadMode::bytes).trace_hash;
}

// A change of the protocol changes these; the failure prints the new ones. Two compilers must never
// disagree.
TEST(Trace, IsTheSameOnEveryCompiler) {
  EXPECT_EQ(trace_of(order_table(), "everything_together"), 7824041444502797978u);
  EXPECT_EQ(trace_of(control_table(), "cubic_loss"), 8079672087954565106u);
}

}  // namespace
}  // namespace longhaul::simtest
