// SPDX-License-Identifier: Apache-2.0
// What is made from the tables for people: --help and the manual page.
#include <fmt/format.h>

#include <array>

#include "apps/wan/counters.hpp"
#include "apps/wan/flags.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::string_view kIntroduction =
    "longhaul-wan puts a long line between two network interfaces: rate, delay, queue, loss, "
    "faults.\n"
    "What enters at A leaves at B later, or not at all, and the other way round:\n\n"
    "  sudo longhaul-wan --link w0:w1 --both rate=1G,delay=25ms,queue=1bdp,loss=1e-3\n\n"
    "It prints \"ready\" when packets pass, counters each second, and ends with Ctrl-C.\n";

constexpr std::string_view kExamples =
    "  # an asymmetric line; acknowledgements suffer\n"
    "  longhaul-wan --link w0:w1 --both delay=40ms --forward rate=1G,queue=2bdp \\\n"
    "      --backward rate=20M,queue=64K,loss=1%\n"
    "  # a cut of two seconds, and less rate from then on\n"
    "  longhaul-wan --link w0:w1 --both rate=1G,delay=25ms \\\n"
    "      --at 10s:both:down=2s --at 12s:both:rate=300M\n"
    "  # two links, bursts on one; counters for a script\n"
    "  longhaul-wan --link w0:w1 --both rate=1G,delay=20ms --link w2:w3 \\\n"
    "      --both rate=500M,delay=35ms,burst_loss=0.1%,burst_length=50 --duration 30s --json -\n"
    "  # the end nearer to us is made here; give it an address and use it\n"
    "  longhaul-wan --link tap:far:eth1 --both delay=50ms\n";

constexpr std::string_view kScenario =
    "  {\"seed\": 1, \"links\": [{\"name\": \"east-west\", \"a\": \"w0\", \"b\": \"w1\",\n"
    "    \"both\": {\"rate\": \"1G\", \"delay\": \"25ms\"}, \"backward\": {\"loss\": 0.01},\n"
    "    \"schedule\": [{\"at\": \"10s\", \"direction\": \"both\", \"effects\": {\"down\": "
    "\"2s\"}}]}]}\n";

constexpr std::string_view kHonesty =
    "Segmentation and checksum offload are switched off on A and B and put back at the end; "
    "packets\n"
    "larger than the MTU or without checksum that the far ends send all the same are dropped, "
    "counted\n"
    "and named with the command that helps. If the emulator was the bottleneck (packets dropped by "
    "the\n"
    "kernel, memory at its bound, more than 1 % sent over 1 ms late) it says so each second, at "
    "the\n"
    "end and in JSON.\n";

constexpr std::string_view kOrder =
    "A packet meets them in this order, whatever the order they are written in:\n"
    "  mtu > policer > RED and ECN > rate and queue > down > loss and bursts > corrupt >\n"
    "  duplicate > delay, jitter, reordering\n"
    "--forward and --backward go over --both, word by word. An --at changes the words it names, "
    "and\n"
    "all others stay as they were; what is under way stays under way. \"down\" is over by "
    "itself.\n";

constexpr std::string_view kValues =
    "  TIME    a number with us, ms or s, such as 25ms; only 0 needs no unit\n"
    "  BITS/S  a number, K M G T are powers of 1000, such as 1G\n"
    "  BYTES   a number, K M G T are powers of 1024, such as 64K; SIZE too\n"
    "  P       a probability such as 0.01, 1e-2 or 1%\n";

constexpr std::string_view kScenarioRules =
    "Each link needs \"a\" and \"b\", each entry of a schedule \"at\", \"direction\" and "
    "\"effects\"; all else may\n"
    "be left out. Effects are those above; their values are texts as on the command line, or "
    "plain\n"
    "numbers for what has no unit, or true and false. A time is always a text.\n";

constexpr std::string_view kCounters =
    "Of each direction, since the start; README.md says what else is in the JSON.\n";

constexpr std::string_view kExits =
    "  0  after Ctrl-C, SIGTERM or --duration\n"
    "  1  after an error, named in one line\n";

// Not in the table: the parser answers them itself.
struct Own {
  std::string_view spelling;
  std::string_view help;
};
constexpr std::array kOwn{Own{"-h, --help", "print this and exit"},
                          Own{"--version", "print the version and exit"}};

/// Text as groff prints it unchanged.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '-') escaped += '\\';
    escaped += c == '\\' ? std::string("\\e") : std::string(1, c);
    line_start = c == '\n';
  }
  return escaped;
}

std::string verbatim(std::string_view text) {
  return fmt::format(".nf\n{}.fi\n", roff(text));
}

}  // namespace

std::string help_text() {
  std::string text(kIntroduction);
  text += "\nFlags\n";
  for (const Flag& flag : flags())
    text += fmt::format("  {:<32}{}\n", fmt::format("--{} {}", flag.name, flag.value), flag.help);
  for (const Own& own : kOwn) text += fmt::format("  {:<32}{}\n", own.spelling, own.help);
  text += "\nEFFECTS is a list key=value,key=value of\n";
  for (const EffectKey& key : effect_keys())
    text += fmt::format("  {:<32}{}\n", fmt::format("{}={}", key.name, key.value), key.help);
  text += fmt::format("\n{}\nValues\n{}\nExamples\n{}\nA scenario file\n{}{}\nCounters\n{}", kOrder,
                      kValues, kExamples, kScenario, kScenarioRules, kCounters);
  for (const CounterName& counter : counter_names())
    text += fmt::format("  {:<18}{}\n", counter.name, counter.meaning);
  text += fmt::format("\n{}\nExit status\n{}", kHonesty, kExits);
  return text;
}

std::string manual_page() {
  std::string text = fmt::format(
      ".TH LONGHAUL\\-WAN 1 \"\" \"longhaul {}\" \"User Commands\"\n"
      ".SH NAME\nlonghaul\\-wan \\- put a long line between two network interfaces\n"
      ".SH SYNOPSIS\n"
      "\\fBlonghaul\\-wan \\-\\-link\\fR \\fIA:B\\fR [\\fIoptions\\fR]\n.br\n"
      "\\fBlonghaul\\-wan \\-\\-scenario\\fR \\fIFILE\\fR [\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\n{}{}.SH OPTIONS\n",
      LONGHAUL_WAN_VERSION, verbatim(kIntroduction), verbatim(kHonesty));
  for (const Flag& flag : flags()) {
    text += fmt::format(".TP\n\\fB\\-\\-{}\\fR \\fI{}\\fR\n{}\n", flag.name, roff(flag.value),
                        roff(flag.help));
  }
  for (const Own& own : kOwn)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(own.spelling), own.help);
  text += ".SH EFFECTS\n";
  for (const EffectKey& key : effect_keys()) {
    text +=
        fmt::format(".TP\n\\fB{}\\fR=\\fI{}\\fR\n{}\n", key.name, roff(key.value), roff(key.help));
  }
  text += fmt::format(".PP\n{}.SH VALUES\n{}.SH SCENARIO FILE\n{}{}.SH COUNTERS\n{}",
                      verbatim(kOrder), verbatim(kValues), verbatim(kScenario),
                      verbatim(kScenarioRules), verbatim(kCounters));
  for (const CounterName& counter : counter_names())
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", counter.name, roff(counter.meaning));
  text += fmt::format(".SH EXIT STATUS\n{}.SH EXAMPLES\n{}", verbatim(kExits), verbatim(kExamples));
  text += ".SH SEE ALSO\n\\fBlonghaul\\-perf\\fR(1), \\fBip\\-link\\fR(8), \\fBethtool\\fR(8)\n";
  return text;
}

namespace {

/// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

}  // namespace

std::string flag_rows() {
  std::string text;
  for (const Flag& flag : flags())
    text += fmt::format("| `--{} {}` | {} |\n", flag.name, flag.value, cell(flag.help));
  return text;
}

std::string effect_rows() {
  std::string text;
  for (const EffectKey& key : effect_keys())
    text += fmt::format("| `{}={}` | {} |\n", key.name, cell(key.value), cell(key.help));
  return text;
}

std::string counter_rows() {
  std::string text;
  for (const CounterName& counter : counter_names())
    text += fmt::format("| `{}` | {} |\n", counter.name, cell(counter.meaning));
  return text;
}

}  // namespace longhaul::apps::wan
