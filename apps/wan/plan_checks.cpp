// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/plan_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/units.hpp"
#include "apps/wan/plan_events.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::array kWays{Direction::forward, Direction::backward};

tl::unexpected<Error> refuse(std::string text) {
  return fail(ErrorCode::invalid_argument, std::move(text));
}

/// Empty if the word does something in a direction it is for.
std::string why_idle_in_all(const std::array<Effects, 2>& effects,
                            const EffectList::value_type& word, Direction direction) {
  std::string why;
  for (std::size_t which = 0; which < effects.size(); ++which) {
    if (!concerns(direction, which)) continue;
    why = why_idle(effects[which], word);
    if (why.empty()) return {};
  }
  return why;
}

Result<void> check_list(const std::array<Effects, 2>& effects, const EffectList& list,
                        Direction direction, std::string_view when) {
  for (const auto& word : list) {
    const std::string why = why_idle_in_all(effects, word, direction);
    if (!why.empty()) return refuse(fmt::format("{}{}: {}", when, direction_name(direction), why));
  }
  return {};
}

Result<void> check_direction(const DirectionPlan& direction, const std::string& where,
                             const Options& options) {
  for (const Stage& stage : direction.stages) {
    if (options.duration && stage.at > Duration{0} && stage.at >= *options.duration) {
      return refuse(fmt::format(
          "{}: the change at {} never comes, --duration ends the run after {}; give a longer one "
          "or an earlier change",
          where, time_text(stage.at), time_text(*options.duration)));
    }
    if (stage.config.queue_bytes > options.buffer_bytes) {
      return refuse(fmt::format(
          "{}: a queue of {} is more than the memory for packets, {}; give a shorter queue= or "
          "--buffer more",
          where, format_bytes(stage.config.queue_bytes), format_bytes(options.buffer_bytes)));
    }
  }
  return {};
}

}  // namespace

Result<void> check_words(const LinkRequest& request) {
  std::array<Effects, 2> effects;
  const auto apply = [&](const EffectList& list, Direction direction) -> Result<void> {
    for (std::size_t which = 0; which < effects.size(); ++which) {
      if (!concerns(direction, which)) continue;
      if (auto applied = apply_effects(effects[which], list); !applied) return applied;
    }
    return {};
  };
  const std::array initial{std::pair{&request.both, Direction::both},
                           std::pair{&request.forward, Direction::forward},
                           std::pair{&request.backward, Direction::backward}};
  for (const auto& [list, direction] : initial) {
    if (auto applied = apply(*list, direction); !applied) return applied;
  }
  for (const auto& [list, direction] : initial) {
    if (auto checked = check_list(effects, *list, direction, ""); !checked) return checked;
  }
  for (const ScheduledEffects& change : in_order_of_time(request.schedule)) {
    if (auto applied = apply(change.effects, change.direction); !applied) return applied;
    const std::string when = fmt::format("at {}, ", time_text(change.at));
    if (auto checked = check_list(effects, change.effects, change.direction, when); !checked)
      return checked;
  }
  return {};
}

Result<void> check_outages(const LinkPlan& plan) {
  for (std::size_t which = 0; which < plan.directions.size(); ++which) {
    auto downs = plan.directions[which].stages.front().config.down;
    std::sort(downs.begin(), downs.end(),
              [](const auto& left, const auto& right) { return left.from < right.from; });
    for (std::size_t i = 1; i < downs.size(); ++i) {
      if (downs[i].from >= downs[i - 1].to) continue;
      const auto text = [](Timestamp time) { return time_text(time.time_since_epoch()); };
      return refuse(fmt::format(
          "{} {}: the outage at {} begins before that of {} is over, at {}; make one of them",
          plan.name, direction_name(kWays[which]), text(downs[i].from), text(downs[i - 1].from),
          text(downs[i - 1].to)));
    }
  }
  return {};
}

Result<void> check_limits(const std::vector<LinkPlan>& plans, const Options& options) {
  for (const LinkPlan& plan : plans) {
    for (std::size_t which = 0; which < plan.directions.size(); ++which) {
      const std::string where = fmt::format("{} {}", plan.name, direction_name(kWays[which]));
      auto checked = check_direction(plan.directions[which], where, options);
      if (!checked) return checked;
    }
  }
  return {};
}

}  // namespace longhaul::apps::wan
