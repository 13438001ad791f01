// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "longhaul/result.hpp"

namespace longhaul::apps::perf {

/// Where reports go. Never fails a test: what cannot be written is lost, and that is said once.
/// One thread uses it.
class Output {
 public:
  virtual ~Output() = default;
  /// Part of a report, whole lines or not.
  virtual void write(std::string_view text) = 0;
  /// A line for the operator, without "longhaul-perf:" and line end: on stderr, and where reports
  /// go if that is a file.
  virtual void complain(std::string_view line) = 0;
  /// Something was lost that nobody else has: a report is incomplete where it was to be read. Not
  /// so for a log, which is beside the point of a test.
  virtual bool lost() const { return false; }
  /// A human watches.
  virtual bool terminal() const { return false; }
};

/// stdout.
std::unique_ptr<Output> standard_output();

/// Appends to `path`, which is made if it does not exist. A thread of its own writes, so that a
/// slow disk delays no packet: at most 1 MiB waits, what comes beyond it is lost. Leaving waits at
/// most 2 s for the rest.
Result<std::unique_ptr<Output>> log_file(const std::string& path);

}  // namespace longhaul::apps::perf
