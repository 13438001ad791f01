// SPDX-License-Identifier: Apache-2.0
// The one table of flags: the parser, the help, the man page and the README's table are made from
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/perf/options.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::perf {

/// Heading a flag stands under in the help.
enum class FlagGroup : std::uint8_t { either, client, server, security, faults, tools };

struct Flag {
  FlagGroup group;
  char short_name;             ///< '\0' = none
  std::string_view long_name;  ///< without dashes
  std::string_view value;      ///< name of its argument in the help; empty = a switch
  std::string_view help;       ///< one sentence, default included
  /// Stores the argument (empty for a switch); the error's context is cause and remedy.
  Result<void> (*apply)(Options& options, std::string_view value);
  std::string_view alias = {};  ///< iperf3's other long name for it
};

std::span<const Flag> flags() noexcept;

/// A flag of iperf3 that does not exist here, and what to do instead.
struct ForeignFlag {
  std::string_view short_name;  ///< with its dash, empty = none
  std::string_view long_name;   ///< with its dashes
  std::string_view instead;
};
std::span<const ForeignFlag> foreign_flags() noexcept;

enum class Command : std::uint8_t { run, help, version };

struct CommandLine {
  Command command = Command::run;
  Options options;
};

/// Parses and checks that the flags agree with each other.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);
/// Flags that contradict each other or lack each other, by name.
Result<void> check_options(const Options& options);

/// An option nobody knows, as an error with cause and remedy.
Error unknown_option(std::string_view argument);

/// Text of --help: what the program does, its flags by group, examples.
std::string help_text();
/// The same flags as rows of a markdown table.
std::string flag_table_markdown();
/// The same as a manual page (groff, section 1).
std::string manual_page();

}  // namespace longhaul::apps::perf
