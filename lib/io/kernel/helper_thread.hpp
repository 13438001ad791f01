// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "longhaul/result.hpp"

namespace longhaul::io::kernel {

/// Runs `work` on a thread of its own and waits for it; what it throws is thrown here. The kernel
/// remembers which threads ever touched a ring, and when the ring goes it interrupts what they are
/// doing: an application's `epoll_wait` would fail with EINTR. So no thread of the application may
/// touch one. Fails with system if there is no thread to be had.
Result<void> on_helper_thread(const std::function<void()>& work);

}  // namespace longhaul::io::kernel
