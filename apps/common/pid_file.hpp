// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "apps/common/files.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps {

/// A file with this process's id and a line end, removed when this goes. It is locked (flock) as
/// long as this lives: whether its process runs is asked of the lock and not of the number, which
/// may be somebody else's by now.
class PidFile {
 public:
  /// The error that `create` would give now; nothing appears.
  static Result<void> check(const std::string& path);
  /// One left behind without a lock is replaced; one that a living process holds is an error that
  /// names it. The file appears whole.
  static Result<PidFile> create(const std::string& path);
  PidFile(PidFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  PidFile& operator=(PidFile&&) = delete;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  /// Removes the file unless another process has put its id there meanwhile.
  ~PidFile();

 private:
  PidFile(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileDescriptor lock_;
};

}  // namespace longhaul::apps
