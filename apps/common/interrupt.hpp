// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/files.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Turns SIGINT, SIGTERM, SIGHUP (the terminal closed) and SIGPIPE (who read stdout is gone) into a
/// readable descriptor; the latter two unless they are ignored, as under nohup. The first one is
/// reported, with what comes within 20 ms of it; from then on they have their default effect again,
/// so that a second Ctrl-C always kills. Only SIGPIPE stays without effect: it is met by the thread
/// that writes, which has to be the one that looks here. Make it before any thread starts: they
/// inherit the blocked signals.
class InterruptWatch {
 public:
  static Result<InterruptWatch> create();

  int fd() const noexcept { return fd_.get(); }
  /// Call when `fd()` is readable, or at any time; true once a signal has come.
  bool interrupted();
  /// It was SIGPIPE: nobody reads stdout any more.
  bool output_gone() const noexcept { return output_gone_; }

 private:
  explicit InterruptWatch(FileDescriptor fd) : fd_(std::move(fd)) {}

  FileDescriptor fd_;
  bool interrupted_ = false;
  bool output_gone_ = false;
};

}  // namespace longhaul::apps
