// SPDX-License-Identifier: Apache-2.0
// From what was asked for, by flags or by a scenario file, to what the emulator does and when.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "apps/wan/effects.hpp"
#include "lib/netmodel/link_config.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::wan {

/// forward = in at `a`, out at `b`.
enum class Direction : std::uint8_t { both, forward, backward };

Result<Direction> parse_direction(std::string_view text);
/// `which` is 0 for forward and 1 for backward.
bool concerns(Direction direction, std::size_t which) noexcept;

/// Effects that begin at a moment after the start.
struct ScheduledEffects {
  Duration at{0};
  Direction direction = Direction::both;
  EffectList effects;
};

/// Those of one moment stay as they were.
std::vector<ScheduledEffects> in_order_of_time(std::vector<ScheduledEffects> schedule);

/// One link as asked for.
struct LinkRequest {
  std::string name;
  std::string a;
  std::string b;
  EffectList both;
  EffectList forward;   ///< after `both`, so they win
  EffectList backward;  ///< likewise
  std::vector<ScheduledEffects> schedule;
};

/// "10s:both:down=2s".
Result<ScheduledEffects> parse_scheduled(std::string_view text);
/// "w0:w1", "tap:east:w1": an interface may have the prefix "tap:".
Result<LinkRequest> parse_link(std::string_view text);

/// A configuration from a moment on, counted from the start.
struct Stage {
  Duration at{0};
  netmodel::LinkConfig config;
};

/// One direction in order of time; the first stage begins at 0.
struct DirectionPlan {
  std::vector<Stage> stages;
};

/// What people are told at a moment after the start.
struct PlannedEvent {
  Duration at{0};
  Direction direction = Direction::both;
  std::string what;
};

struct LinkPlan {
  std::string name;
  std::string a;
  std::string b;
  std::array<DirectionPlan, 2> directions;  ///< forward, backward
  std::vector<PlannedEvent> events;
};

/// Checks everything that can be known before an interface is opened.
Result<LinkPlan> plan_link(const LinkRequest& request);
/// Of all links: names and interfaces differ.
Result<std::vector<LinkPlan>> plan_links(const std::vector<LinkRequest>& requests);

/// Down-times are written from the start of the emulator; the model wants moments of its clock.
netmodel::LinkConfig from_start(const netmodel::LinkConfig& config, Timestamp start);

}  // namespace longhaul::apps::wan
