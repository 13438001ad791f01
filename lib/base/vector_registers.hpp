// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace longhaul::base {

/// Marks the upper halves of the vector registers as unused. ISA-L's kernels return without doing
/// so, and every SSE instruction after them then waits for a merge: XXH3 ran ten times slower. Call
/// it after any of them.
void release_vector_registers() noexcept;

}  // namespace longhaul::base
