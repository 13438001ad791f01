// SPDX-License-Identifier: Apache-2.0
// What is made from the flag table for people: --help, the README's rows, the manual page.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/perf/flags.hpp"

namespace longhaul::apps::perf {

namespace {

struct Heading {
  FlagGroup group;
  std::string_view text;
};

constexpr std::array kHeadings{
    Heading{FlagGroup::server, "Server"},
    Heading{FlagGroup::client, "Client"},
    Heading{FlagGroup::security, "Keys, at both ends"},
    Heading{FlagGroup::either, "Server or client"},
    Heading{FlagGroup::faults, "Faults, put on every datagram this end sends"},
    Heading{FlagGroup::tools, "Tools"},
};

constexpr std::string_view kIntroduction =
    "longhaul-perf measures how fast tensors cross a line, and proves that they arrive exactly.\n"
    "Make a key, copy it to the other machine, start a server there and a client here:\n\n"
    "  longhaul-perf --generate-key longhaul.key\n"
    "  longhaul-perf -s --key longhaul.key\n"
    "  longhaul-perf -c HOST --key longhaul.key\n\n"
    "The examples below leave --key out. On a closed line --security none does without one.\n";

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
    "  # the other way, both ways, and with what the server prints\n"
    "  longhaul-perf -c 192.0.2.1 -R\n"
    "  longhaul-perf -c 192.0.2.1 --bidir --get-server-output\n"
    "  # a server in the background\n"
    "  longhaul-perf -s -D --pidfile /run/longhaul.pid --logfile /var/log/longhaul.log\n"
    "  # a figure for a script\n"
    "  longhaul-perf -c 192.0.2.1 -t 5 -O 1 -J | jq .end.goodput_mbps\n";

constexpr std::string_view kUnits =
    "K, M, G and T are powers of 1024 in sizes and of 1000 in rates.\n"
    "What arrives counts once its digest is verified, up to 4 MiB at a time: a receiver's short\n"
    "intervals go in such steps.\n";

constexpr std::string_view kExits =
    "0 the test completed and every digest agreed, at least one; 1 anything else, Ctrl-C\n"
    "included (the peer is told and the summary printed; a second Ctrl-C kills).\n";

// Not in the table: the parser answers them itself.
struct Own {
  std::string_view short_name, long_name, help;
};
constexpr std::array kOwn{Own{"h", "help", "print this and exit"},
                          Own{"", "version", "print the version and exit"}};

constexpr std::size_t kHelpColumn = 34;
constexpr std::size_t kWidth = 100;

/// One flag of the help: its spelling, and its text in a column of its own.
std::string help_entry(std::string_view spelling, std::string_view help) {
  std::string text;
  std::string line = fmt::format("  {:<{}}", spelling, kHelpColumn - 2);
  bool fresh = true;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find(' '), help.size());
    if (!fresh && line.size() + 1 + end > kWidth) {
      text += line + '\n';
      line.assign(kHelpColumn, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += help.substr(0, end);
    fresh = false;
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return text + line + '\n';
}

std::string spelling(const Flag& flag) {
  std::string text =
      flag.short_name != '\0' ? fmt::format("-{}, ", flag.short_name) : std::string("    ");
  text += fmt::format("--{}", flag.long_name);
  if (!flag.value.empty()) text += fmt::format(" {}", flag.value);
  return text;
}

std::string other_name(const Flag& flag) {
  return flag.alias.empty() ? std::string() : fmt::format(" (also --{})", flag.alias);
}

/// Text as groff prints it unchanged: a hyphen is not a minus, a dot in front no request.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '-') escaped += '\\';
    if (c == '\\') {
      escaped += "\\e";
    } else {
      escaped += c;
    }
    line_start = c == '\n';
  }
  return escaped;
}

std::string roff_flag(const Flag& flag) {
  std::string text = ".TP\n";
  if (flag.short_name != '\0') text += fmt::format("\\fB\\-{}\\fR, ", flag.short_name);
  text += fmt::format("\\fB\\-\\-{}\\fR", roff(flag.long_name));
  if (!flag.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(flag.value));
  return fmt::format("{}\n{}{}\n", text, roff(flag.help), roff(other_name(flag)));
}

/// A text whose lines stay as they are.
std::string roff_verbatim(std::string_view text) {
  return fmt::format(".nf\n{}.fi\n", roff(text));
}

}  // namespace

std::string help_text() {
  std::string text(kIntroduction);
  for (const Heading& heading : kHeadings) {
    text += fmt::format("\n{}\n", heading.text);
    for (const Flag& flag : flags()) {
      if (flag.group == heading.group)
        text += help_entry(spelling(flag), fmt::format("{}{}", flag.help, other_name(flag)));
    }
  }
  for (const Own& own : kOwn) {
    const std::string dashed =
        own.short_name.empty() ? std::string("    ") : fmt::format("-{}, ", own.short_name);
    text += help_entry(fmt::format("{}--{}", dashed, own.long_name), own.help);
  }
  text += fmt::format("\n{}\n{}\nExit status: {}", kExamples, kUnits, kExits);
  return text;
}

std::string flag_table_markdown() {
  std::string text;
  for (const Heading& heading : kHeadings) {
    for (const Flag& flag : flags()) {
      if (flag.group != heading.group) continue;
      std::string names = flag.short_name != '\0' ? fmt::format("`-{}` ", flag.short_name) : "";
      names += fmt::format("`--{}{}{}`", flag.long_name, flag.value.empty() ? "" : " ", flag.value);
      text += fmt::format("| {} | {}{} |\n", names, flag.help, other_name(flag));
    }
  }
  return text;
}

std::string manual_page() {
  std::string text = fmt::format(
      ".TH LONGHAUL\\-PERF 1 \"\" \"longhaul {}\" \"User Commands\"\n"
      ".SH NAME\nlonghaul\\-perf \\- measure how fast tensors cross a line\n"
      ".SH SYNOPSIS\n"
      "\\fBlonghaul\\-perf \\-s\\fR [\\fIoptions\\fR]\n.br\n"
      "\\fBlonghaul\\-perf \\-c\\fR \\fIHOST\\fR [\\fIoptions\\fR]\n.br\n"
      "\\fBlonghaul\\-perf \\-\\-generate\\-key\\fR \\fIFILE\\fR\n.br\n"
      "\\fBlonghaul\\-perf \\-\\-make\\-sample\\fR \\fIFILE\\fR\n"
      ".SH DESCRIPTION\n",
      LONGHAUL_PERF_VERSION);
  text += roff_verbatim(kIntroduction);
  text += ".SH OPTIONS\n";
  for (const Heading& heading : kHeadings) {
    text += fmt::format(".SS {}\n", roff(heading.text));
    for (const Flag& flag : flags()) {
      if (flag.group == heading.group) text += roff_flag(flag);
    }
  }
  for (const Own& own : kOwn) {
    const std::string dashed =
        own.short_name.empty() ? "" : fmt::format("\\fB\\-{}\\fR, ", own.short_name);
    text += fmt::format(".TP\n{}\\fB\\-\\-{}\\fR\n{}\n", dashed, own.long_name, roff(own.help));
  }
  text += ".SS Units\n";
  text += roff_verbatim(kUnits);
  text += ".SH EXIT STATUS\n";
  text += roff_verbatim(kExits);
  text += ".SH EXAMPLES\n";
  text += roff_verbatim(kExamples.substr(kExamples.find('\n') + 1));
  text += ".SH DIFFERENCES FROM IPERF3\n";
  for (const ForeignFlag& flag : foreign_flags()) {
    const std::string names =
        fmt::format("{}{}{}", flag.short_name, flag.short_name.empty() ? "" : ", ", flag.long_name);
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(names), roff(flag.instead));
  }
  text += ".SH SEE ALSO\n\\fBiperf3\\fR(1)\n";
  return text;
}

}  // namespace longhaul::apps::perf
