// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"
#include "apps/wan/effects.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::uint64_t kRateMin = 1000;
constexpr std::uint64_t kRateMax = 1'000'000'000'000;
constexpr std::uint64_t kQueueMax = 1ULL << 40;
constexpr std::uint64_t kBurstMax = 2'000'000'000;  // what the token bucket can count
constexpr Duration kTimeMax = std::chrono::hours(24);

template <auto Member, typename Value>
Result<void> store(Effects& effects, Result<Value> value) {
  if (!value) return tl::unexpected(std::move(value.error()));
  effects.*Member = *value;
  return {};
}

template <std::uint64_t Effects::*Member>
Result<void> rate(Effects& effects, std::string_view value) {
  if (value == "unlimited") return store<Member>(effects, Result<std::uint64_t>(0));
  auto parsed = parse_rate(value);
  if (parsed && (*parsed < kRateMin || *parsed > kRateMax)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} bits/s is not possible here; write 1K to 1T, such as 1G, or "
                            "unlimited",
                            *parsed));
  }
  return store<Member>(effects, std::move(parsed));
}

template <Duration Effects::*Member>
Result<void> time(Effects& effects, std::string_view value) {
  auto parsed = parse_time(value);
  if (parsed && *parsed > kTimeMax) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is more than a day; write a shorter time", printable(value)));
  }
  return store<Member>(effects, std::move(parsed));
}

template <double Effects::*Member>
Result<void> probability(Effects& effects, std::string_view value) {
  return store<Member>(effects, parse_probability(value));
}

template <bool Effects::*Member>
Result<void> yes_or_no(Effects& effects, std::string_view value) {
  if (value != "true" && value != "false") {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is neither true nor false", printable(value)));
  }
  effects.*Member = value == "true";
  return {};
}

Result<double> parse_bdp(std::string_view number) {
  double bdp = 0;
  const char* end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, bdp, std::chars_format::fixed);
  if (error != std::errc{} || rest != end || !(bdp > 0) || bdp > 1000) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}bdp\" is no length; write 0.5bdp, 1bdp, or bytes such as 64K",
                            printable(number)));
  }
  return bdp;
}

template <QueueLength Effects::*Member>
Result<void> length(Effects& effects, std::string_view value) {
  QueueLength& target = effects.*Member;
  if (value == "unlimited") {
    target = {};
    return {};
  }
  if (value.ends_with("bdp")) {
    const auto bdp = parse_bdp(value.substr(0, value.size() - 3));
    if (!bdp) return tl::unexpected(bdp.error());
    target = {0, *bdp, true};
    return {};
  }
  auto bytes = parse_size(value);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  if (*bytes > kQueueMax) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is more than 1T; write unlimited", printable(value)));
  }
  target = {*bytes, 0, true};
  return {};
}

Result<void> queue(Effects& effects, std::string_view value) {
  auto stored = length<&Effects::queue>(effects, value);
  if (stored && effects.queue.given && effects.queue.bytes == 0 && effects.queue.bdp == 0) {
    return fail(ErrorCode::invalid_argument,
                "a queue of 0 bytes drops all that does not meet an idle line; write a length such "
                "as 64K or 1bdp, or unlimited");
  }
  return stored;
}

Result<void> policer_burst(Effects& effects, std::string_view value) {
  auto bytes = parse_size(value);
  if (bytes && *bytes > kBurstMax) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is more than {} bytes", printable(value), kBurstMax));
  }
  return store<&Effects::policer_burst_bytes>(effects, std::move(bytes));
}

Result<void> burst_length(Effects& effects, std::string_view value) {
  double packets = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, packets);
  if (error != std::errc{} || rest != end || !(packets >= 1) || packets > 1e9) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is no mean number of packets; write 1 or more, such as 50",
                            printable(value)));
  }
  effects.burst_length = packets;
  return {};
}

Result<void> mtu(Effects& effects, std::string_view value) {
  const auto bytes = parse_number(value, 65535);
  if (!bytes || *bytes < 68) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is no MTU; write 68 to 65535, such as 1400", printable(value)));
  }
  effects.mtu = static_cast<std::uint32_t>(*bytes);
  return {};
}

constexpr std::array kKeys{
    EffectKey{"rate", "BITS/S|unlimited",
              "bits/s on the wire, with 38 bytes of framing a packet, such as 1G",
              rate<&Effects::rate_bps>},
    EffectKey{"delay", "TIME", "propagation, one way, such as 25ms", time<&Effects::delay>},
    EffectKey{"jitter", "TIME", "0 to this much more, drawn for each packet, none overtakes",
              time<&Effects::jitter>},
    EffectKey{"jitter_reorders", "true|false", "packets overtake each other by jitter",
              yes_or_no<&Effects::jitter_reorders>},
    EffectKey{"queue", "BYTES|Nbdp|unlimited",
              "drop-tail queue before the rate; bdp = rate x 2 x delay", queue},
    EffectKey{"red_min", "BYTES|Nbdp", "waiting bytes from which on RED hits packets",
              length<&Effects::red_min>},
    EffectKey{"red_max", "BYTES|Nbdp|unlimited", "waiting bytes from which on RED hits every one",
              length<&Effects::red_max>},
    EffectKey{"red_probability", "P", "RED's probability just below red_max (0.1)",
              probability<&Effects::red_probability>},
    EffectKey{"ecn", "true|false", "RED marks packets that are ECN-capable instead of dropping",
              yes_or_no<&Effects::ecn>},
    EffectKey{"policer_rate", "BITS/S|unlimited", "token bucket that drops what exceeds it",
              rate<&Effects::policer_rate_bps>},
    EffectKey{"policer_burst", "BYTES", "wire bytes the policer lets pass at once", policer_burst},
    EffectKey{"loss", "P", "share of packets lost, each on its own, such as 1e-3 or 0.1%",
              probability<&Effects::loss>},
    EffectKey{"burst_loss", "P", "share of packets lost in bursts (Gilbert-Elliott)",
              probability<&Effects::burst_loss>},
    EffectKey{"burst_length", "PACKETS", "mean length of those bursts", burst_length},
    EffectKey{"duplicate", "P", "share of packets that arrive twice",
              probability<&Effects::duplicate>},
    EffectKey{"corrupt", "P", "share of packets with 1 to 8 flipped bits in the IP packet",
              probability<&Effects::corrupt>},
    EffectKey{"mtu", "BYTES", "larger IP packets vanish without a word", mtu},
    EffectKey{"reorder", "P", "share of packets held back by reorder_delay",
              probability<&Effects::reorder>},
    EffectKey{"reorder_delay", "TIME", "how long those are held back",
              time<&Effects::reorder_delay>},
    EffectKey{"down", "TIME", "nothing passes for so long, from the start or from its --at",
              time<&Effects::down>},
};

}  // namespace

Result<Duration> parse_time(std::string_view text) {
  return parse_duration(text, text == "0" ? std::optional(Duration{1}) : std::nullopt);
}

std::span<const EffectKey> effect_keys() noexcept {
  return kKeys;
}

}  // namespace longhaul::apps::wan
