// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "longhaul/time.hpp"

namespace longhaul::runtime {

/// Makes the calling thread's short sleeps end on time: Linux otherwise lets timers of ordinary
/// threads be 50 µs late (prctl(2), PR_SET_TIMERSLACK).
void sharpen_naps() noexcept;

/// Gives the core away for that long, whatever arrives meanwhile.
void nap(Duration time) noexcept;

}  // namespace longhaul::runtime
