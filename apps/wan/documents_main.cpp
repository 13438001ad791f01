// SPDX-License-Identifier: Apache-2.0
// Build tool: prints the manual page.
#include <cstdio>

#include "apps/wan/flags.hpp"

int main() {
  return std::fputs(longhaul::apps::wan::manual_page().c_str(), stdout) < 0 ? 1 : 0;
}
