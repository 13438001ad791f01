// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/plan_events.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul::apps::wan {

namespace {

Duration down_of(const EffectList& list) {
  Effects effects;
  return apply_effects(effects, list) ? effects.down : Duration{0};
}

std::string changes_of(const EffectList& list) {
  std::string text;
  for (const auto& [name, value] : list) {
    if (name != "down") text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

void add(std::vector<PlannedEvent>& events, Duration at, Direction direction, Duration down,
         const std::string& changes) {
  std::string text = changes;
  if (down > Duration{0}) {
    text = fmt::format("down for {}{}{}", time_text(down), changes.empty() ? "" : ", ", changes);
    events.push_back({at + down, direction, "up again"});
  }
  if (!text.empty()) events.push_back({at, direction, std::move(text)});
}

}  // namespace

std::string_view direction_name(Direction direction) noexcept {
  switch (direction) {
    case Direction::both:
      return "both";
    case Direction::forward:
      return "forward";
    case Direction::backward:
      return "backward";
  }
  return {};
}

std::string time_text(Duration time) {
  const auto count = static_cast<double>(time.count());
  if (count >= 1e9) return fmt::format("{:g} s", count / 1e9);
  if (count >= 1e6) return fmt::format("{:g} ms", count / 1e6);
  return fmt::format("{:g} us", count / 1e3);
}

std::vector<PlannedEvent> planned_events(const LinkRequest& request) {
  std::vector<PlannedEvent> events;
  const auto at_start = [&](const EffectList& own) {
    EffectList all = request.both;
    all.insert(all.end(), own.begin(), own.end());
    return down_of(all);
  };
  const Duration forward = at_start(request.forward);
  const Duration backward = at_start(request.backward);
  if (forward == backward) {
    add(events, {}, Direction::both, forward, {});
  } else {
    add(events, {}, Direction::forward, forward, {});
    add(events, {}, Direction::backward, backward, {});
  }
  for (const ScheduledEffects& change : request.schedule) {
    add(events, change.at, change.direction, down_of(change.effects), changes_of(change.effects));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& left, const auto& right) { return left.at < right.at; });
  return events;
}

}  // namespace longhaul::apps::wan
