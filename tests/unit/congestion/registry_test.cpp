// SPDX-License-Identifier: Apache-2.0
#include "congestion/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace longhaul::congestion {
namespace {

TEST(Registry, FindsEachControllerByItsName) {
  ASSERT_FALSE(controller_names().empty());
  for (const std::string_view name : controller_names()) {
    const ControllerFactory factory = find_controller(name);
    ASSERT_NE(factory, nullptr);
    EXPECT_EQ(factory({.configured_rate = 1'000'000})->name(), name);
  }
}

TEST(Registry, KnowsNoOtherName) {
  for (const std::string_view name : {"", "Cubic", "cubic ", "reno"}) {
    EXPECT_EQ(find_controller(name), nullptr) << name;
  }
}

TEST(MakeController, NamesTheChoicesWhenTheNameIsUnknown) {
  const auto made = make_controller("vegas", {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(made.error().context, "no controller \"vegas\"; choose one of: cubic fixed");
}

TEST(MakeController, RefusesFixedWithoutARate) {
  const auto made = make_controller("fixed", {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(made.error().context.find("needs a rate"), std::string::npos);
}

TEST(MakeController, DefaultsToTheOperatorsRateWhereThereIsOne) {
  EXPECT_EQ(make_controller("", {})->get()->name(), "cubic");
  EXPECT_EQ(make_controller("", {.configured_rate = 1'000'000'000})->get()->name(), "fixed");
  EXPECT_EQ(make_controller("cubic", {.configured_rate = 1'000'000'000})->get()->name(), "cubic");
}

}  // namespace
}  // namespace longhaul::congestion
