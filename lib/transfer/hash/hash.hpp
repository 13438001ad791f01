// SPDX-License-Identifier: Apache-2.0
// XXH3-64 (seed 0) of contiguous bytes, by the widest vectors of this CPU. libxxhash's own dispatch
// is only in its shared library, so the same header is compiled once per vector width here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longhaul::transfer::hash {

using Function = std::uint64_t (*)(const void* bytes, std::size_t size);

/// The fastest one that runs here; cheap to ask.
Function fastest() noexcept;

/// Every one that runs here, the portable one first; equal results.
struct Choices {
  Function functions[3];
  std::size_t count;
};
Choices choices() noexcept;

}  // namespace longhaul::transfer::hash
