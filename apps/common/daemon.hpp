// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/files.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps {

/// A process that goes on in the background. Errors of its start still reach the terminal: the
/// process the user started waits until the other one is ready or has failed.
class Daemon {
 public:
  /// Forks; returns in the child only. The parent ends with status 0 when `ready()` was called,
  /// else with the child's status. Call before any thread starts.
  static Result<Daemon> start();
  /// From now on nothing binds this process to the terminal: stdin, stdout and stderr go nowhere,
  /// the working directory is "/".
  Result<void> ready();

 private:
  explicit Daemon(FileDescriptor parent) : parent_(std::move(parent)) {}

  FileDescriptor parent_;
};

}  // namespace longhaul::apps
