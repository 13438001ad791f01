// SPDX-License-Identifier: Apache-2.0
// The one table of flags: the parser, the help and the manual page are made from it and from the
// table of effects.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "apps/wan/options.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::wan {

struct Flag {
  std::string_view name;   ///< without dashes
  std::string_view value;  ///< name of its argument in the help
  std::string_view help;
  bool repeats = false;
  /// In the order of the command line; the error's context is cause and remedy.
  Result<void> (*apply)(Options& options, std::string_view value);
};

std::span<const Flag> flags() noexcept;

enum class Command : std::uint8_t { run, help, version };

struct CommandLine {
  Command command = Command::run;
  Options options;
};

Result<CommandLine> parse_command_line(int argc, const char* const* argv);

std::string help_text();
/// The same as a manual page (groff, section 1).
std::string manual_page();
/// Rows of the README's tables.
std::string flag_rows();
std::string effect_rows();
std::string counter_rows();

}  // namespace longhaul::apps::wan
