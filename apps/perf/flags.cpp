// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "apps/common/units.hpp"

namespace longhaul::apps::perf {

namespace {

struct Heading {
  FlagGroup group;
  std::string_view text;
};

constexpr std::array kHeadings{
    Heading{FlagGroup::server, "Server"},
    Heading{FlagGroup::client, "Client"},
    Heading{FlagGroup::either, "Server or client"},
    Heading{FlagGroup::faults, "Faults, put on every datagram this end sends"},
    Heading{FlagGroup::tools, "Tools"},
};

constexpr std::string_view kIntroduction =
    "longhaul-perf measures how fast tensors cross a line, and proves that they arrive exactly.\n"
    "Start a server on one machine and a client on another:\n\n"
    "  longhaul-perf -s\n"
    "  longhaul-perf -c HOST\n";

constexpr std::string_view kExamples =
    "Examples\n"
    "  # ten seconds of 4096x4096 bf16 tensors, eight in flight, at most 10 Gbit/s\n"
    "  longhaul-perf -c 192.0.2.1 --shape 4096x4096 --dtype bf16 -P 8 -b 10G\n"
    "  # a model: the server writes an identical file and exits\n"
    "  longhaul-perf -s -1 --output copy.safetensors\n"
    "  longhaul-perf -c 192.0.2.1 --file model.safetensors\n"
    "  # the same over a bad line\n"
    "  longhaul-perf -c 192.0.2.1 --file model.safetensors -b 900M \\\n"
    "      --inject-loss 1% --inject-reorder 1% --inject-corrupt 1%\n"
    "  # no model at hand\n"
    "  longhaul-perf --make-sample model.safetensors --sample-size 64M\n"
    "  # a figure for a script\n"
    "  longhaul-perf -c 192.0.2.1 -t 5 -O 1 -J | jq .end.goodput_mbps\n";

constexpr std::string_view kExits =
    "Exit status: 0 the test completed and every digest agreed; 1 anything else, Ctrl-C included\n"
    "(the peer is told and the summary printed; a second Ctrl-C kills).\n"
    "K, M, G and T are powers of 1024 in sizes and of 1000 in rates.\n";

std::string spelling(const Flag& flag) {
  std::string text =
      flag.short_name != '\0' ? fmt::format("-{}, ", flag.short_name) : std::string("    ");
  text += fmt::format("--{}", flag.long_name);
  if (!flag.value.empty()) text += fmt::format(" {}", flag.value);
  return text;
}

Result<void> apply(const Flag& flag, const CLI::Option& given, Options& options) {
  const std::vector<std::string>& values = given.results();
  if (values.size() > 1 && !flag.value.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--{} is given {} times; give it once", flag.long_name, values.size()));
  }
  const std::string_view value = flag.value.empty() ? std::string_view() : values.front();
  auto applied = flag.apply(options, value);
  if (!applied) {
    return fail(applied.error().code,
                fmt::format("--{}: {}", flag.long_name, applied.error().context));
  }
  return {};
}

bool has_client_flags(const Options& options) {
  return options.time || options.amount.transfers || options.amount.bytes || options.size ||
         options.extents || !options.file.empty() || options.parallel || options.omit.count() != 0;
}

tl::unexpected<Error> conflict(std::string_view text) {
  return fail(ErrorCode::invalid_argument, std::string(text));
}

Result<void> check_client(const Options& options) {
  const bool counted = options.amount.transfers || options.amount.bytes;
  if (!options.output.empty()) {
    return conflict("--output belongs to the server, which receives; give it there");
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
  if (!options.file.empty()) {
    if (options.time || counted || options.size || options.extents || options.omit.count() != 0) {
      return conflict(
          "--file sends each of its tensors once; -t, -n, -O, --size and --shape say "
          "something else: leave them out");
    }
  }
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("longhaul-perf");
  app.set_help_flag();
  const CLI::Option* help = app.add_flag("-h,--help");
  const CLI::Option* version = app.add_flag("--version");
  std::vector<CLI::Option*> given;
  for (const Flag& flag : flags()) {
    std::string names = fmt::format("--{}", flag.long_name);
    if (flag.short_name != '\0') names += fmt::format(",-{}", flag.short_name);
    if (flag.long_name == "number") names += ",--bytes";
    given.push_back(flag.value.empty() ? app.add_flag(names) : app.add_option(names));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}; --help lists the flags", error.what()));
  }
  if (help->count() != 0) return CommandLine{Command::help, {}};
  if (version->count() != 0) return CommandLine{Command::version, {}};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]->count() == 0) continue;
    if (auto applied = apply(flags()[i], *given[i], line.options); !applied) {
      return tl::unexpected(std::move(applied.error()));
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
      if (has_client_flags(options)) {
        return conflict(
            "the client decides what is sent; give -t -n -O -P --size --shape --file "
            "to it and not to the server");
      }
      return {};
    case Role::client:
      return check_client(options);
    case Role::make_sample:
      return {};
  }
  return {};
}

std::string help_text() {
  std::string text(kIntroduction);
  for (const Heading& heading : kHeadings) {
    text += fmt::format("\n{}\n", heading.text);
    for (const Flag& flag : flags()) {
      if (flag.group == heading.group)
        text += fmt::format("  {:<32}{}\n", spelling(flag), flag.help);
    }
  }
  text += fmt::format("  {:<32}{}\n  {:<32}{}\n\n", "-h, --help", "print this and exit",
                      "    --version", "print the version and exit");
  text += kExamples;
  text += '\n';
  text += kExits;
  return text;
}

std::string flag_table_markdown() {
  std::string text;
  for (const Heading& heading : kHeadings) {
    for (const Flag& flag : flags()) {
      if (flag.group != heading.group) continue;
      std::string names = flag.short_name != '\0' ? fmt::format("`-{}` ", flag.short_name) : "";
      names += fmt::format("`--{}{}{}`", flag.long_name, flag.value.empty() ? "" : " ", flag.value);
      text += fmt::format("| {} | {} |\n", names, flag.help);
    }
  }
  return text;
}

}  // namespace longhaul::apps::perf
