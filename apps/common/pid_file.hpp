// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "longhaul/result.hpp"

namespace longhaul::apps {

/// A file with this process's id and a line end, removed when this goes.
class PidFile {
 public:
  /// One left behind by a process that is gone is replaced; one of a living process is an error
  /// that names it.
  static Result<PidFile> create(const std::string& path);
  PidFile(PidFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PidFile& operator=(PidFile&&) = delete;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  /// Removes the file unless another process has put its id there meanwhile.
  ~PidFile();

 private:
  explicit PidFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace longhaul::apps
