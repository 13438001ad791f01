// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul::apps {

/// Words of somebody else (a file's, a peer's) as they may go to a terminal: '?' for each control
/// character, mark that turns the direction of writing, and byte that is no UTF-8; "..." in place
/// of what is longer than `limit` bytes. What the library says is printable already.
std::string printable(std::string_view text, std::size_t limit = 200);
/// The same for a text of several lines, uncut.
std::string printable_lines(std::string_view text);

}  // namespace longhaul::apps
