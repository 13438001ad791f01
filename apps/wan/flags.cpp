// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/flags.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <limits>
#include <map>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr Duration kIntervalMin = std::chrono::milliseconds(100);
constexpr std::uint64_t kBufferMin = 1u << 20;

template <typename Target, typename Value>
Result<void> store(Target& target, Result<Value> value) {
  if (!value) return tl::unexpected(std::move(value.error()));
  target = std::move(*value);
  return {};
}

template <std::string Options::*Member>
Result<void> text(Options& options, std::string_view value) {
  if (value.empty()) return fail(ErrorCode::invalid_argument, "an empty value means nothing here");
  options.*Member = value;
  return {};
}

Result<LinkRequest*> last_link(Options& options) {
  if (!options.links.empty()) return &options.links.back();
  return fail(ErrorCode::invalid_argument,
              "it belongs to the --link before it; write --link first");
}

template <EffectList LinkRequest::*Member>
Result<void> effects(Options& options, std::string_view value) {
  const auto link = last_link(options);
  if (!link) return tl::unexpected(link.error());
  auto list = split_effects(value);
  if (!list) return tl::unexpected(std::move(list.error()));
  return add_effects((*link)->*Member, *list);
}

Result<void> link(Options& options, std::string_view value) {
  auto request = parse_link(value);
  if (!request) return tl::unexpected(std::move(request.error()));
  options.links.push_back(std::move(*request));
  return {};
}

Result<void> at(Options& options, std::string_view value) {
  const auto link = last_link(options);
  if (!link) return tl::unexpected(link.error());
  auto scheduled = parse_scheduled(value);
  if (!scheduled) return tl::unexpected(std::move(scheduled.error()));
  (*link)->schedule.push_back(std::move(*scheduled));
  return {};
}

Result<void> seed(Options& options, std::string_view value) {
  return store(options.seed, parse_number(value, std::numeric_limits<std::uint64_t>::max()));
}

Result<void> interval(Options& options, std::string_view value) {
  auto stored = store(options.interval, parse_time(value));
  if (stored && options.interval.count() != 0 && options.interval < kIntervalMin)
    return fail(ErrorCode::invalid_argument, "100ms is the shortest interval; 0 prints none");
  return stored;
}

Result<void> duration(Options& options, std::string_view value) {
  return store(options.duration, parse_time(value));
}

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<void> buffer(Options& options, std::string_view value) {
  auto stored = store(options.buffer_bytes, parse_size(value));
  if (stored && options.buffer_bytes < kBufferMin)
    return fail(ErrorCode::invalid_argument, "less than 1M holds no line; the default is 1G");
  if (const std::uint64_t memory = memory_bytes(); stored && options.buffer_bytes > memory) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is more than this machine has, {}; give less",
                            format_bytes(options.buffer_bytes), format_bytes(memory)));
  }
  return stored;
}

constexpr std::array kFlags{
    Flag{"link", "A:B", "bridge interfaces A and B; tap:NAME makes one", true, link},
    Flag{"both", "EFFECTS", "what happens in both directions of the last --link", true,
         effects<&LinkRequest::both>},
    Flag{"forward", "EFFECTS", "what happens from A to B, over --both", true,
         effects<&LinkRequest::forward>},
    Flag{"backward", "EFFECTS", "what happens from B to A, over --both", true,
         effects<&LinkRequest::backward>},
    Flag{"at", "TIME:DIRECTION:EFFECTS", "change from that time on; forward, backward or both",
         true, at},
    Flag{"scenario", "FILE", "links, effects and schedule from a JSON file, instead of --link",
         false, text<&Options::scenario>},
    Flag{"seed", "N", "of all randomness (1)", false, seed},
    Flag{"duration", "TIME", "end by itself after so long (never)", false, duration},
    Flag{"interval", "TIME", "between two lines of counters; 0 = none (1s)", false, interval},
    Flag{"json", "FILE", "counters and events, each interval; - = stdout, at the end only", false,
         text<&Options::json>},
    Flag{"pidfile", "FILE", "written when packets pass, removed at the end", false,
         text<&Options::pidfile>},
    Flag{"buffer", "SIZE", "most memory for packets under way (1G)", false, buffer},
};

/// CLI11 words errors for programmers; a user wants to know which flag lacks what.
Error parse_error(const CLI::ParseError& error) {
  const std::string_view words = error.what();
  for (const Flag& flag : flags()) {
    if (!words.starts_with(fmt::format("--{}:", flag.name))) continue;
    return {ErrorCode::invalid_argument, 0,
            fmt::format("--{} needs a value: {}", flag.name, flag.value)};
  }
  return {ErrorCode::invalid_argument, 0, fmt::format("{}; --help lists the flags", words)};
}

Result<void> check(const Options& options) {
  if (options.links.empty() == options.scenario.empty()) {
    return fail(ErrorCode::invalid_argument,
                options.links.empty()
                    ? "say what to bridge: --link A:B, or --scenario FILE; --help has examples"
                    : "--link and --scenario both say what to bridge; give one of them");
  }
  return {};
}

}  // namespace

std::span<const Flag> flags() noexcept {
  return kFlags;
}

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("longhaul-wan");
  app.set_help_flag();
  app.allow_extras();
  const CLI::Option* help = app.add_flag("-h,--help");
  const CLI::Option* version = app.add_flag("--version");
  std::map<const CLI::Option*, const Flag*> known;
  for (const Flag& flag : flags())
    known.emplace(app.add_option(fmt::format("--{}", flag.name))->take_all(), &flag);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(parse_error(error));
  }
  if (help->count() != 0) return CommandLine{Command::help, {}};
  if (version->count() != 0) return CommandLine{Command::version, {}};
  if (const auto extras = app.remaining(); !extras.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is no flag; --help lists the flags", printable(extras[0])));
  }
  // Effects belong to the link before them, so the order of the command line counts.
  std::map<const CLI::Option*, std::size_t> used;
  for (const CLI::Option* option : app.parse_order()) {
    const Flag& flag = *known.at(option);
    const std::size_t number = used[option]++;
    if (number > 0 && !flag.repeats) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--{} is given twice; give it once", flag.name));
    }
    if (auto applied = flag.apply(line.options, option->results()[number]); !applied) {
      return fail(applied.error().code,
                  fmt::format("--{}: {}", flag.name, applied.error().context));
    }
  }
  if (auto checked = check(line.options); !checked) return tl::unexpected(checked.error());
  return line;
}

}  // namespace longhaul::apps::wan
