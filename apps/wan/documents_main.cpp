// SPDX-License-Identifier: Apache-2.0
// Build tool: prints what is made from the tables of flags, effects and counters.
#include <array>
#include <cstdio>
#include <string_view>

#include "apps/wan/flags.hpp"

namespace {

struct Document {
  std::string_view name;
  std::string (*text)();
};

constexpr std::array kDocuments{
    Document{"man", longhaul::apps::wan::manual_page},
    Document{"flags", longhaul::apps::wan::flag_rows},
    Document{"effects", longhaul::apps::wan::effect_rows},
    Document{"counters", longhaul::apps::wan::counter_rows},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  for (const Document& document : kDocuments) {
    if (document.name == wanted) return std::fputs(document.text().c_str(), stdout) < 0 ? 1 : 0;
  }
  std::fputs("usage: longhaul-wan-documents man | flags | effects | counters\n", stderr);
  return 2;
}
