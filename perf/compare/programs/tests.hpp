// SPDX-License-Identifier: Apache-2.0
// What is measured, the same for every rival.
#pragma once

#include "perf/compare/programs/ends.hpp"
#include "perf/compare/programs/messages.hpp"
#include "perf/compare/programs/options.hpp"

namespace longhaul::compare {

// `messages` has a slot for each that may be outstanding. What is unanswered at the end of a test
// is still borrowed by the sender.

/// One message outstanding; from the first send to the arrival of the answer. Keys: completions_ms,
/// warm_up (how many were), unfinished_ms (age of the message given up, or null),
/// bytes.
Json message_test(Sender& sender, Messages& messages, const Options& options);

/// `options.outstanding` messages outstanding. Keys: goodput_bps (answered messages, without the
/// first `options.omit` seconds), bytes (answered in the whole time).
Json stream_test(Sender& sender, Messages& messages, const Options& options);

/// CPU time of this process, all threads, user and system.
double cpu_seconds();

}  // namespace longhaul::compare
