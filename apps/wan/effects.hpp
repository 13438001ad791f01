// SPDX-License-Identifier: Apache-2.0
// What a user may ask of one direction of a link, as words and as what lib/netmodel takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/netmodel/link_config.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::wan {

/// A length of a queue: bytes, or multiples of rate × 2 × delay of its direction.
struct QueueLength {
  std::uint64_t bytes = 0;
  double bdp = 0;
  bool given = false;
};

/// One direction as asked for; relations between its fields are checked by `link_config`.
struct Effects {
  std::uint64_t rate_bps = 0;
  Duration delay{0};
  Duration jitter{0};
  bool jitter_reorders = false;
  QueueLength queue{};
  QueueLength red_min{};
  QueueLength red_max{};
  double red_probability = 0.1;
  bool ecn = false;
  std::uint64_t policer_rate_bps = 0;
  std::uint64_t policer_burst_bytes = 0;
  double loss = 0;
  double burst_loss = 0;
  double burst_length = 0;
  double duplicate = 0;
  double corrupt = 0;
  std::uint32_t mtu = 65535;
  double reorder = 0;
  Duration reorder_delay{0};
  Duration down{0};
};

/// One word of the language: `name=value`.
struct EffectKey {
  std::string_view name;
  std::string_view value;  ///< as the help writes it
  std::string_view help;
  /// The error's context is cause and remedy.
  Result<void> (*apply)(Effects& effects, std::string_view value);
};

std::span<const EffectKey> effect_keys() noexcept;

/// Words and values in the order they were written.
using EffectList = std::vector<std::pair<std::string, std::string>>;

/// A number with us, ms or s; 0 needs no unit.
Result<Duration> parse_time(std::string_view text);
/// Without the spaces at both ends.
std::string_view stripped(std::string_view text) noexcept;

/// "rate=1G, delay=25ms" → words and values.
Result<EffectList> split_effects(std::string_view text);
/// Adds `more`; a word that is there already is an error.
Result<void> add_effects(EffectList& list, const EffectList& more);
/// Over what is set already; an unknown word is named, with the known ones.
Result<void> apply_effects(Effects& effects, const EffectList& list);
/// Why a word changes nothing where these effects are all there is; empty if it does something.
std::string why_idle(const Effects& effects, const EffectList::value_type& word);

/// What lib/netmodel takes, without down-times; refuses what contradicts itself.
Result<netmodel::LinkConfig> link_config(const Effects& effects);

}  // namespace longhaul::apps::wan
