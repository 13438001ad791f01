// SPDX-License-Identifier: Apache-2.0
// Transport parameters: whatever is read is written, and then read as the same.
#include <array>

#include "lib/wire/frame.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longhaul;
  const auto parameters = wire::read_transport_parameters(fuzz::bytes_of(data, size));
  if (!parameters) return 0;
  std::array<std::byte, 256> out;
  const std::size_t written = wire::write_transport_parameters(*parameters, out);
  fuzz::require(written > 0, "what was read can be written");
  fuzz::require(wire::read_transport_parameters(std::span(out).first(written)) == parameters,
                "parameters are read as they were written");
  for (std::size_t room = 0; room < written; ++room)
    fuzz::require(wire::write_transport_parameters(*parameters, std::span(out).first(room)) == 0,
                  "nothing is written without room");
  return 0;
}
