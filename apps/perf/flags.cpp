// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps::perf {

namespace {

/// "-i/--interval"
std::string shown_name(const Flag& flag) {
  const std::string name = flag.short_name == '\0' ? "" : fmt::format("-{}/", flag.short_name);
  return fmt::format("{}--{}", name, flag.long_name);
}

Result<void> apply(const Flag& flag, const CLI::Option& given, Options& options) {
  const std::vector<std::string>& values = given.results();
  if (values.size() > 1 && !flag.value.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is given {}; give it once", shown_name(flag),
                            values.size() == 2 ? "twice" : fmt::format("{} times", values.size())));
  }
  const std::string_view value = flag.value.empty() ? std::string_view() : values.front();
  auto applied = flag.apply(options, value);
  if (applied) return {};
  // Where flags contradict each other the text names them; one in front would look like the cause.
  if (applied.error().context.starts_with('-')) return applied;
  return fail(applied.error().code,
              fmt::format("--{}: {}", flag.long_name, applied.error().context));
}

std::string name_of(const Flag& flag) {
  return flag.short_name == '\0' ? fmt::format("--{}", flag.long_name)
                                 : fmt::format("-{}", flag.short_name);
}

/// Whether `text` is spelled like one of the flags.
bool is_flag(std::string_view text) {
  const auto all = flags();
  return std::any_of(all.begin(), all.end(), [&](const Flag& flag) {
    return (text.starts_with("--") && (text.substr(2) == flag.long_name ||
                                       (!flag.alias.empty() && text.substr(2) == flag.alias))) ||
           (text.size() == 2 && text[0] == '-' && text[1] == flag.short_name);
  });
}

/// The next flag was taken for this one's value, so that what follows would look superfluous.
Result<void> check_value(const Flag& flag, const CLI::Option& given) {
  if (flag.value.empty() || given.count() == 0 || !is_flag(given.results().front())) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} needs a value: {}; behind it stands {}", name_of(flag), flag.value,
                          given.results().front()));
}

tl::unexpected<Error> conflict(std::string_view text) {
  return fail(ErrorCode::invalid_argument, std::string(text));
}

/// A flag that means nothing in this role would be taken for one that does.
Result<void> check_role(const Flag& flag, Role role) {
  const bool tool = role == Role::make_sample || role == Role::generate_key;
  const bool of_client = flag.group == FlagGroup::client;
  if (role == Role::server && of_client) {
    return conflict(fmt::format("{} is for the client, which decides what is sent; give it there",
                                name_of(flag)));
  }
  if (tool && (of_client || flag.group == FlagGroup::server)) {
    return conflict(fmt::format("{} is for a test, and {} makes a file and exits; leave one out",
                                name_of(flag),
                                role == Role::make_sample ? "--make-sample" : "--generate-key"));
  }
  if (flag.long_name == "key-name" && role != Role::generate_key) {
    return conflict(
        "--key-name names a key that is being made, with --generate-key; leave it out here");
  }
  if (flag.long_name == "sample-size" && role != Role::make_sample) {
    return conflict(
        "--sample-size is the size of a file that --make-sample makes; for the size of a transfer "
        "say --size");
  }
  return {};
}

/// What this end says about sending is of no use to an end that only receives.
Result<void> check_direction(const Options& options) {
  if (options.direction == Direction::forward) return {};
  if (!options.file.empty()) {
    return conflict(
        "--file sends the client's file; with -R or --bidir the server would have to send one of "
        "its own: run the client there, or leave -R out");
  }
  if (options.direction == Direction::both) return {};
  if (!options.controller.empty()) {
    return conflict(
        "-C is for the end that sends, with -R the server; start the server with it: "
        "longhaul-perf -s -C NAME");
  }
  if (options.dscp) {
    return conflict(
        "-S and --dscp mark the data this end sends and with -R the server sends; start the server "
        "with it");
  }
  return {};
}

Result<void> check_client(const Options& options) {
  const bool counted = options.amount.transfers || options.amount.bytes;
  if (!options.output.empty()) {
    return conflict("--output belongs to the server, which receives; give it there");
  }
  if (!options.reset_key_path.empty()) {
    return conflict("--reset-key belongs to the server, which may be restarted; give it there");
  }
  if (options.daemon) {
    return conflict("-D belongs to the server; a client ends with its test: put & behind it");
  }
  if (options.one_off) return conflict("-1 belongs to the server; a client always runs one test");
  if (options.time && counted) {
    return conflict("-t and -n both say when the test ends; give one of them");
  }
  if (options.size && options.extents) {
    return conflict("--size and --shape both say how large a transfer is; give one of them");
  }
  if (counted && options.omit.count() != 0) {
    return conflict("-O leaves out a time and -n counts transfers; combine -O with -t");
  }
  if (auto checked = check_direction(options); !checked) return checked;
  if (!options.file.empty()) {
    if (options.time || counted || options.size || options.extents || options.omit.count() != 0) {
      return conflict(
          "--file sends each of its tensors once; -t, -n, -O, --size and --shape say "
          "something else: leave them out");
    }
  }
  return {};
}

/// What the library would say too, but before a client has read gigabytes.
Result<void> check_keys(const Options& options) {
  const bool certificate = !options.certificate_path.empty() || !options.private_key_path.empty() ||
                           !options.ca_path.empty() || !options.peer_name.empty() ||
                           !options.peer_fingerprints.empty();
  const bool key = !options.key_path.empty();
  if (options.security.empty() && !key && !certificate) {
    return conflict(
        "no key is given, and nothing is assumed; make one, copy it to the other end, and give it "
        "to both:\n"
        "    longhaul-perf --generate-key longhaul.key\n"
        "    --key longhaul.key\n"
        "or, on a closed line, do without it by name:\n"
        "    --security none");
  }
  if (key && certificate) {
    return conflict("--key and certificates are two ways to the same end; give one of them");
  }
  if (options.security == "none" && (key || certificate)) {
    return conflict("--security none uses no key; leave out one of them");
  }
  if (options.security == "psk" && !key) return conflict("--security psk needs --key FILE");
  if (options.security == "certificates" && !certificate) {
    return conflict("--security certificates needs --cert, --cert-key and --ca");
  }
  return {};
}

}  // namespace

Error unknown_option(std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  for (const ForeignFlag& flag : foreign_flags()) {
    // As in iperf3 a value may stand right behind a short name.
    const bool is_short = !flag.short_name.empty() && !argument.starts_with("--") &&
                          argument.starts_with(flag.short_name);
    if (is_short || name == flag.long_name) {
      return {ErrorCode::invalid_argument, 0,
              fmt::format("{} is iperf3's; {}", is_short ? flag.short_name : name, flag.instead)};
    }
  }
  if (!argument.starts_with('-')) {
    return {ErrorCode::invalid_argument, 0,
            fmt::format("\"{}\" belongs to no flag; --help lists the flags", printable(argument))};
  }
  return {ErrorCode::invalid_argument, 0,
          fmt::format("there is no flag {}; --help lists the flags", printable(argument))};
}

namespace {

/// CLI11 words errors for programmers; a user wants to know which flag lacks what.
Error parse_error(const CLI::ParseError& error) {
  const std::string_view text = error.what();
  for (const Flag& flag : flags()) {
    const bool named = text.starts_with(fmt::format("--{}:", flag.long_name)) ||
                       text.starts_with(fmt::format("-{}:", flag.short_name));
    if (!named) continue;
    return {ErrorCode::invalid_argument, 0,
            flag.value.empty() ? fmt::format("{} takes no value; leave it out", shown_name(flag))
                               : fmt::format("{} needs a value: {}", shown_name(flag), flag.value)};
  }
  return {ErrorCode::invalid_argument, 0, fmt::format("{}; --help lists the flags", text)};
}

std::string names_of(const Flag& flag) {
  std::string names = fmt::format("--{}", flag.long_name);
  if (flag.short_name != '\0') names += fmt::format(",-{}", flag.short_name);
  if (!flag.alias.empty()) names += fmt::format(",--{}", flag.alias);
  return names;
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("longhaul-perf");
  app.set_help_flag();
  app.allow_extras();
  const CLI::Option* help = app.add_flag("-h,--help");
  const CLI::Option* version = app.add_flag("--version");
  std::vector<CLI::Option*> given;
  for (const Flag& flag : flags()) {
    const std::string names = names_of(flag);
    given.push_back(flag.value.empty() ? app.add_flag(names) : app.add_option(names));
    // Else it calls a flag that is given twice one that lacks its value.
    if (!flag.value.empty()) given.back()->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(parse_error(error));
  }
  if (help->count() != 0) return CommandLine{Command::help, {}};
  if (version->count() != 0) return CommandLine{Command::version, {}};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (auto checked = check_value(flags()[i], *given[i]); !checked) {
      return tl::unexpected(std::move(checked.error()));
    }
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    return tl::unexpected(unknown_option(extras.front()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]->count() == 0) continue;
    if (auto applied = apply(flags()[i], *given[i], line.options); !applied) {
      return tl::unexpected(std::move(applied.error()));
    }
  }
  for (std::size_t i = 0; i < given.size() && line.options.role != Role::none; ++i) {
    if (given[i]->count() == 0) continue;
    if (auto checked = check_role(flags()[i], line.options.role); !checked) {
      return tl::unexpected(std::move(checked.error()));
    }
  }
  if (auto checked = check_options(line.options); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  return line;
}

Result<void> check_options(const Options& options) {
  if (options.controller == "fixed" && options.rate_bps == 0) {
    return conflict("-C fixed sends at the line's rate; give it with -b");
  }
  switch (options.role) {
    case Role::none:
      return conflict("say what to be: a server (-s) or a client (-c HOST); --help has examples");
    case Role::server:
      if (options.server_cpu) {
        return conflict(
            "-A with two cores is for the client, which asks its server for the "
            "second; give a server one");
      }
      return check_keys(options);
    case Role::client:
      if (auto checked = check_client(options); !checked) return checked;
      return check_keys(options);
    case Role::make_sample:
    case Role::generate_key:
      return {};
  }
  return {};
}

}  // namespace longhaul::apps::perf
