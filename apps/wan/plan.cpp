// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "apps/common/printable.hpp"
#include "apps/wan/plan_checks.hpp"
#include "apps/wan/plan_events.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::size_t kInterfaceNameMax = 15;
constexpr std::string_view kTapPrefix = "tap:";

/// Takes one interface off the front, with its prefix; empty if there is none.
std::string take_interface(std::string_view& text) {
  const std::size_t from = text.starts_with(kTapPrefix) ? kTapPrefix.size() : 0;
  const std::size_t colon = text.find(':', from);
  std::string name(text.substr(0, colon));
  text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
  return name.size() == from ? std::string() : name;
}

Result<void> check_interface(std::string_view name) {
  if (name.starts_with(kTapPrefix)) name.remove_prefix(kTapPrefix.size());
  if (!name.empty() && name.size() <= kInterfaceNameMax) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("\"{}\" is no name of an interface; it has 1 to {} characters",
                          printable(name), kInterfaceNameMax));
}

/// The `down` of a moment becomes a span; it is over by itself.
void take_down(Effects& effects, Duration at, std::vector<netmodel::DownTime>& downs) {
  if (effects.down == Duration{0}) return;
  downs.push_back({Timestamp{} + at, Timestamp{} + at + effects.down});
  effects.down = Duration{0};
}

Result<void> add_stage(DirectionPlan& plan, const Effects& effects, Duration at) {
  auto config = link_config(effects);
  if (!config) return tl::unexpected(std::move(config.error()));
  if (plan.stages.empty() || plan.stages.back().at != at) plan.stages.push_back({at, {}});
  plan.stages.back().config = std::move(*config);
  return {};
}

tl::unexpected<Error> within(std::string_view where, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", where, error.context));
}

Result<DirectionPlan> plan_direction(const LinkRequest& request, std::size_t which) {
  static constexpr std::array<std::string_view, 2> kNames{"forward", "backward"};
  DirectionPlan plan;
  Effects effects;
  std::vector<netmodel::DownTime> downs;
  const EffectList& own = which == 0 ? request.forward : request.backward;
  if (auto set = apply_effects(effects, request.both); !set) return within("both", set.error());
  if (auto set = apply_effects(effects, own); !set) return within(kNames[which], set.error());
  take_down(effects, {}, downs);
  if (auto added = add_stage(plan, effects, {}); !added)
    return within(kNames[which], added.error());
  for (const ScheduledEffects& change : in_order_of_time(request.schedule)) {
    if (!concerns(change.direction, which)) continue;
    const std::string where = fmt::format("at {}, {}", time_text(change.at), kNames[which]);
    if (auto set = apply_effects(effects, change.effects); !set) return within(where, set.error());
    take_down(effects, change.at, downs);
    if (auto added = add_stage(plan, effects, change.at); !added)
      return within(where, added.error());
  }
  // Known from the start, so that they begin and end on time however late a change is applied.
  for (Stage& stage : plan.stages) stage.config.down = downs;
  return plan;
}

}  // namespace

bool concerns(Direction direction, std::size_t which) noexcept {
  return direction == Direction::both || (direction == Direction::forward) == (which == 0);
}

std::vector<ScheduledEffects> in_order_of_time(std::vector<ScheduledEffects> schedule) {
  std::stable_sort(schedule.begin(), schedule.end(),
                   [](const auto& left, const auto& right) { return left.at < right.at; });
  return schedule;
}

Result<Direction> parse_direction(std::string_view text) {
  if (text == "both") return Direction::both;
  if (text == "forward") return Direction::forward;
  if (text == "backward") return Direction::backward;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("\"{}\" is no direction; write forward, backward or both", printable(text)));
}

Result<ScheduledEffects> parse_scheduled(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is not TIME:DIRECTION:EFFECTS, such as 10s:both:down=2s",
                            printable(text)));
  }
  auto at = parse_time(stripped(text.substr(0, first)));
  if (!at) return tl::unexpected(std::move(at.error()));
  auto direction = parse_direction(stripped(text.substr(first + 1, second - first - 1)));
  if (!direction) return tl::unexpected(std::move(direction.error()));
  auto effects = split_effects(text.substr(second + 1));
  if (!effects) return tl::unexpected(std::move(effects.error()));
  return ScheduledEffects{*at, *direction, std::move(*effects)};
}

Result<LinkRequest> parse_link(std::string_view text) {
  LinkRequest request;
  std::string_view rest = text;
  request.a = take_interface(rest);
  request.b = take_interface(rest);
  if (request.a.empty() || request.b.empty() || !rest.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is not A:B, two interfaces such as w0:w1 or tap:east:w1",
                            printable(text)));
  }
  request.name = printable(fmt::format("{}-{}", request.a, request.b));
  return request;
}

Result<LinkPlan> plan_link(const LinkRequest& request) {
  LinkPlan plan{request.name, request.a, request.b, {}, {}};
  for (const std::string* name : {&request.a, &request.b}) {
    if (auto checked = check_interface(*name); !checked)
      return within(request.name, checked.error());
  }
  for (std::size_t which = 0; which < plan.directions.size(); ++which) {
    auto direction = plan_direction(request, which);
    if (!direction) return within(request.name, direction.error());
    plan.directions[which] = std::move(*direction);
  }
  if (auto checked = check_words(request); !checked) return within(request.name, checked.error());
  if (auto checked = check_outages(plan); !checked) return tl::unexpected(checked.error());
  plan.events = planned_events(request);
  return plan;
}

Result<std::vector<LinkPlan>> plan_links(const std::vector<LinkRequest>& requests) {
  std::vector<LinkPlan> plans;
  std::set<std::string> interfaces;
  std::set<std::string> names;
  for (const LinkRequest& request : requests) {
    auto plan = plan_link(request);
    if (!plan) return tl::unexpected(std::move(plan.error()));
    for (std::string name : {plan->a, plan->b}) {
      if (name.starts_with(kTapPrefix)) name = name.substr(kTapPrefix.size());
      if (interfaces.insert(name).second) continue;
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("interface {} is named twice; a link needs two of its own", printable(name)));
    }
    if (!names.insert(plan->name).second) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("two links are named {}; give each its own name", printable(plan->name)));
    }
    plans.push_back(std::move(*plan));
  }
  return plans;
}

netmodel::LinkConfig from_start(const netmodel::LinkConfig& config, Timestamp start) {
  netmodel::LinkConfig moved = config;
  for (netmodel::DownTime& down : moved.down) {
    down.from += start.time_since_epoch();
    down.to += start.time_since_epoch();
  }
  return moved;
}

}  // namespace longhaul::apps::wan
