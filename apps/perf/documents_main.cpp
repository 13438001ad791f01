// SPDX-License-Identifier: Apache-2.0
// Build tool: prints what is made from the flag table.
#include <cstdio>
#include <string_view>

#include "apps/perf/flags.hpp"

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  if (wanted != "man" && wanted != "flags") {
    std::fputs("usage: longhaul-perf-documents man | flags\n", stderr);
    return 2;
  }
  const std::string text = wanted == "man" ? longhaul::apps::perf::manual_page()
                                           : longhaul::apps::perf::flag_table_markdown();
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}
