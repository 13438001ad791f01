// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace longhaul::transfer::hash {

std::uint64_t portable(const void* bytes, std::size_t size);
std::uint64_t avx2(const void* bytes, std::size_t size);    // x86-64 only
std::uint64_t avx512(const void* bytes, std::size_t size);  // x86-64 only

}  // namespace longhaul::transfer::hash
