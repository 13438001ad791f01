// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace longhaul {

enum class LogLevel : std::uint8_t { debug = 0, info = 1, warning = 2, error = 3 };

/// Receives one line of printable UTF-8 without newline, whatever a peer has said. Called from
/// worker threads, and inside `Endpoint::open()` from the caller's, never concurrently for one
/// endpoint; it must not block for long nor call back into the library. The library itself never
/// writes to stdout or stderr.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

}  // namespace longhaul
