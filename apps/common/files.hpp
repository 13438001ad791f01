// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apps/common/buffer.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps {

/// Closes its descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  int get() const noexcept { return fd_; }
  int release() noexcept;

 private:
  int fd_ = -1;
};

/// What the system refused to do with a file: "cannot create PATH (No such file or directory);
/// check the path".
tl::unexpected<Error> file_error(int os_error, std::string_view doing, const std::string& path);
/// Opens a regular file for reading and says how long it is.
Result<FileDescriptor> open_for_reading(const std::string& path, std::uint64_t& bytes);
/// Opens for appending and makes the file if need be; never waits for a reader of a FIFO.
Result<FileDescriptor> open_for_appending(const std::string& path);
/// Fills `out` from `offset`; a file that ends earlier is an error. Reads, never maps: a file that
/// shrinks meanwhile gives an error, not a signal.
Result<void> read_at(int fd, const std::string& path, std::uint64_t offset,
                     std::span<std::byte> out);

/// A file that appears under its name complete or not at all: written beside it without a name (or,
/// where the file system has no such files, under a temporary one), renamed by `commit()`, gone if
/// that is never reached. What killed processes left under temporary names is removed.
class OutputFile {
 public:
  /// Reserves `bytes` at once, so that a disk too small is known before anything moves.
  static Result<OutputFile> create(const std::string& path, std::uint64_t bytes);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> data);
  /// Flushes to the disk (which may be full only then) and renames.
  Result<void> commit();
  const std::string& path() const noexcept { return path_; }
  /// Empty while the file has no name at all.
  const std::string& temporary_path() const noexcept { return temporary_path_; }

 private:
  OutputFile(std::string path, std::string temporary_path, FileDescriptor fd);

  std::string path_;
  std::string temporary_path_;
  FileDescriptor fd_;
};

}  // namespace longhaul::apps
