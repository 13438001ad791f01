// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Takes the numbers of stdin, stdout and stderr where whoever started this process closed them, so
/// that no file, pipe or socket it opens later gets one: that would be read and written as if it
/// were standard, and replaced by a daemon. They stay of no use, as closed ones are: reading and
/// writing fails. Call first thing in main.
Result<void> hold_standard_descriptors();

}  // namespace longhaul::apps
