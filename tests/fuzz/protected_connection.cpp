// SPDX-License-Identifier: Apache-2.0
// A whole connection with a pre-shared key: whoever is on the line has none, and everything
// promised holds.
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/script.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  longhaul::fuzz::play_connection(data, size, true);
  return 0;
}
