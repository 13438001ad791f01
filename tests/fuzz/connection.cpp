// SPDX-License-Identifier: Apache-2.0
// A whole connection with security none: whoever is on the line can compute a checksum.
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/script.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  longhaul::fuzz::play_connection(data, size, false);
  return 0;
}
