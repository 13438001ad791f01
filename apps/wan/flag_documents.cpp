// SPDX-License-Identifier: Apache-2.0
// What is made from the tables for people: --help and the manual page.
#include <fmt/format.h>

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

constexpr std::string_view kExits =
    "Exit status: 0 after Ctrl-C, SIGTERM or --duration; 1 for an error, named in one line.\n"
    "TIME is a number with us, ms or s; rates take K M G as powers of 1000, sizes as powers of "
    "1024;\n"
    "P is a probability such as 0.01, 1e-2 or 1%.\n";

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
  text += fmt::format("  {:<32}{}\n  {:<32}{}\n", "-h, --help", "print this and exit", "--version",
                      "print the version and exit");
  text += "\nEFFECTS is a list key=value,key=value of\n";
  for (const EffectKey& key : effect_keys())
    text += fmt::format("  {:<32}{}\n", fmt::format("{}={}", key.name, key.value), key.help);
  text += fmt::format("\nExamples\n{}\nA scenario file\n{}\n{}\n{}", kExamples, kScenario, kHonesty,
                      kExits);
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
  text += ".SH EFFECTS\n";
  for (const EffectKey& key : effect_keys()) {
    text +=
        fmt::format(".TP\n\\fB{}\\fR=\\fI{}\\fR\n{}\n", key.name, roff(key.value), roff(key.help));
  }
  text += fmt::format(".SH EXIT STATUS\n{}.SH EXAMPLES\n{}.SH SCENARIO FILE\n{}", verbatim(kExits),
                      verbatim(kExamples), verbatim(kScenario));
  text += ".SH SEE ALSO\n\\fBlonghaul\\-perf\\fR(1), \\fBip\\-link\\fR(8), \\fBethtool\\fR(8)\n";
  return text;
}

}  // namespace longhaul::apps::wan
