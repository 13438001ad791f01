// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps::wan {

namespace {

std::string known_names() {
  std::string names;
  for (const EffectKey& key : effect_keys()) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", key.name);
  }
  return names;
}

tl::unexpected<Error> contradiction(std::string text) {
  return fail(ErrorCode::invalid_argument, std::move(text));
}

/// Bytes of a length that may be given in bandwidth-delay products.
Result<std::uint64_t> bytes_of(const QueueLength& length, const Effects& effects,
                               std::string_view name) {
  if (length.bdp <= 0) return length.bytes;
  if (effects.rate_bps == 0 || effects.delay == Duration{0}) {
    return contradiction(fmt::format(
        "{0}={1}bdp is rate x 2 x delay, and there is no {2}; give {2}= too, or {0} in bytes", name,
        length.bdp, effects.rate_bps == 0 ? "rate" : "delay"));
  }
  const double round_trip = 2e-9 * static_cast<double>(effects.delay.count());
  const double bytes = length.bdp * static_cast<double>(effects.rate_bps) * round_trip / 8;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes)));
}

Result<void> set_queue(const Effects& effects, netmodel::LinkConfig& config) {
  const auto queue = bytes_of(effects.queue, effects, "queue");
  const auto least = bytes_of(effects.red_min, effects, "red_min");
  const auto most = bytes_of(effects.red_max, effects, "red_max");
  for (const auto* length : {&queue, &least, &most}) {
    if (!*length) return tl::unexpected(length->error());
  }
  if (effects.queue.given && effects.rate_bps == 0) {
    return contradiction("queue= is what waits for the rate, and there is none; give rate= too");
  }
  config.queue_bytes = *queue;
  if (!effects.red_max.given) {
    if (!effects.red_min.given && !effects.ecn) return {};
    return contradiction("red_min= and ecn= belong to RED, which needs red_max= too");
  }
  if (effects.rate_bps == 0) {
    return contradiction("red_max= looks at what waits for the rate; give rate= too");
  }
  if (*most <= *least) {
    return contradiction(
        fmt::format("red_max= is {} bytes and has to be more than red_min=, {}", *most, *least));
  }
  config.red = {*least, *most, effects.red_probability, effects.ecn};
  return {};
}

Result<void> set_losses(const Effects& effects, netmodel::LinkConfig& config) {
  config.loss = effects.loss;
  if (effects.burst_loss <= 0) return {};
  if (effects.burst_length < 1) {
    return contradiction("burst_loss= needs burst_length=, the mean number of packets of a burst");
  }
  const double start = effects.burst_loss / (effects.burst_length * (1 - effects.burst_loss));
  if (!(start <= 1)) {
    return contradiction(fmt::format(
        "bursts of {} packets cannot lose {} of all; give a larger burst_length= or less "
        "burst_loss=",
        effects.burst_length, effects.burst_loss));
  }
  config.burst = {start, 1 / effects.burst_length, 0, 1};
  return {};
}

/// A word that works only beside another one.
struct Dependent {
  std::string_view name;
  std::string_view needs;
  bool (*idle)(const Effects& effects);
};

constexpr std::array kDependents{
    Dependent{"jitter_reorders", "jitter=",
              [](const Effects& e) { return e.jitter_reorders && e.jitter == Duration{0}; }},
    Dependent{"red_probability", "red_max=", [](const Effects& e) { return !e.red_max.given; }},
    Dependent{"policer_burst",
              "policer_rate=", [](const Effects& e) { return e.policer_rate_bps == 0; }},
    Dependent{"burst_length", "burst_loss=, the share lost in bursts",
              [](const Effects& e) { return e.burst_loss <= 0; }},
    Dependent{"reorder_delay", "reorder=, the share held back",
              [](const Effects& e) { return e.reorder_delay > Duration{0} && e.reorder <= 0; }},
};

}  // namespace

std::string_view stripped(std::string_view text) noexcept {
  constexpr std::string_view kSpaces = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

Result<EffectList> split_effects(std::string_view text) {
  EffectList list;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = stripped(word.substr(0, equals));
    const std::string_view value =
        equals == word.size() ? std::string_view() : stripped(word.substr(equals + 1));
    if (name.empty() || value.empty()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("\"{}\" is not key=value, such as delay=25ms", printable(word)));
    }
    if (auto added = add_effects(list, {{std::string(name), std::string(value)}}); !added)
      return tl::unexpected(added.error());
    if (comma == std::string_view::npos) return list;
    rest.remove_prefix(comma + 1);
  }
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("\"{}\" ends without an effect; write key=value,key=value", printable(text)));
}

Result<void> add_effects(EffectList& list, const EffectList& more) {
  for (const auto& effect : more) {
    const auto same = std::find_if(list.begin(), list.end(),
                                   [&](const auto& each) { return each.first == effect.first; });
    if (same != list.end()) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{0} is given twice, {0}={1} and {0}={2}; give it once",
                      printable(effect.first), printable(same->second), printable(effect.second)));
    }
    list.push_back(effect);
  }
  return {};
}

Result<void> apply_effects(Effects& effects, const EffectList& list) {
  for (const auto& [name, value] : list) {
    const auto keys = effect_keys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&word = name](const EffectKey& each) {
      return each.name == word;
    });
    if (key == keys.end()) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("there is no effect \"{}\"; there are {}", printable(name), known_names()));
    }
    if (auto applied = key->apply(effects, value); !applied) {
      return fail(applied.error().code, fmt::format("{}: {}", name, applied.error().context));
    }
  }
  return {};
}

std::string why_idle(const Effects& effects, const EffectList::value_type& word) {
  for (const Dependent& dependent : kDependents) {
    if (dependent.name != word.first || !dependent.idle(effects)) continue;
    return fmt::format("{0}={1} does nothing without {2}; give that too, or leave {0}= out",
                       word.first, printable(word.second), dependent.needs);
  }
  return {};
}

Result<netmodel::LinkConfig> link_config(const Effects& effects) {
  netmodel::LinkConfig config;
  config.rate_bps = effects.rate_bps;
  config.propagation = effects.delay;
  config.jitter = effects.jitter;
  config.jitter_reorders = effects.jitter_reorders;
  config.reorder_probability = effects.reorder;
  config.reorder_delay = effects.reorder_delay;
  config.mtu = effects.mtu;
  config.duplicate = effects.duplicate;
  config.corrupt = effects.corrupt;
  if (auto set = set_queue(effects, config); !set) return tl::unexpected(set.error());
  if (auto set = set_losses(effects, config); !set) return tl::unexpected(set.error());
  if (effects.policer_rate_bps != 0) {
    // A packet larger than the bucket never passes.
    if (effects.policer_burst_bytes < 1600) {
      return contradiction(
          "policer_rate= needs policer_burst=, at least 1600 bytes, or no full packet ever passes");
    }
    config.policer = {effects.policer_rate_bps, effects.policer_burst_bytes};
  }
  if (effects.reorder > 0 && effects.reorder_delay == Duration{0}) {
    return contradiction("reorder= needs reorder_delay=, how long the packets are held back");
  }
  return config;
}

}  // namespace longhaul::apps::wan
