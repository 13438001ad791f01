// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "lib/base/datagram.hpp"

namespace longhaul::io::kernel {

/// Which sizes to whom the system refused, until somebody asks. Each once; what is beyond its room
/// is forgotten, as it will be refused again.
class TooBigSizes {
 public:
  void add(const base::TooBig& refused) noexcept {
    const auto known = std::span(refused_).first(count_);
    if (count_ == refused_.size() || std::ranges::any_of(known, [&](const base::TooBig& one) {
          return one.peer == refused.peer && one.size == refused.size;
        }))
      return;
    refused_[count_++] = refused;
  }

  /// Moves the first of them to the front of `out`; returns how many.
  std::size_t take(std::span<base::TooBig> out) noexcept {
    const std::size_t taken = std::min(out.size(), count_);
    std::copy_n(refused_.begin(), taken, out.begin());
    std::copy(refused_.begin() + static_cast<std::ptrdiff_t>(taken),
              refused_.begin() + static_cast<std::ptrdiff_t>(count_), refused_.begin());
    count_ -= taken;
    return taken;
  }

 private:
  std::array<base::TooBig, 16> refused_{};
  std::size_t count_ = 0;
};

}  // namespace longhaul::io::kernel
