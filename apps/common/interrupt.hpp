// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/files.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Turns SIGINT and SIGTERM into a readable descriptor. The first one is reported; from then on
/// the signals have their default effect again, so that a second Ctrl-C always kills.
/// Make it before any thread starts: they inherit the blocked signals.
class InterruptWatch {
 public:
  static Result<InterruptWatch> create();

  int fd() const noexcept { return fd_.get(); }
  /// Call when `fd()` is readable, or at any time; true once a signal has come.
  bool interrupted();

 private:
  explicit InterruptWatch(FileDescriptor fd) : fd_(std::move(fd)) {}

  FileDescriptor fd_;
  bool interrupted_ = false;
};

}  // namespace longhaul::apps
