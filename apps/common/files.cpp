// SPDX-License-Identifier: Apache-2.0
#include "apps/common/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps {

namespace {

// One system call moves at most 2 GiB; a smaller step keeps interruption prompt.
constexpr std::size_t kStep = 64u << 20;

ErrorCode code_of(int os_error) {
  switch (os_error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::no_permission;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::budget_exceeded;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
      return ErrorCode::invalid_argument;
    default:
      return ErrorCode::system;
  }
}

std::string_view remedy_of(int os_error) {
  switch (os_error) {
    case EACCES:
    case EPERM:
      return "; check the permissions of the file and its folder";
    case EROFS:
      return "; choose a folder on a writable file system";
    case ENOSPC:
      return "; the disk is full: free some space or choose another folder";
    case EDQUOT:
      return "; the quota is used up: free some space or choose another folder";
    case EFBIG:
      return "; it is larger than the file system or ulimit -f allows";
    case ENOENT:
    case ENOTDIR:
      return "; check the path";
    case EISDIR:
      return "; name a file, not a folder";
    default:
      return "";
  }
}

bool reservation_unsupported(int os_error) {
  return os_error == EOPNOTSUPP || os_error == EINVAL || os_error == ENOSYS;
}

std::string partial_name(const std::string& path) {
  return fmt::format("{}.partial.{}", path, ::getpid());
}

std::filesystem::path folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// A file beside `path` that nothing leads to and that goes with the process; none where the file
/// system has no such files, or where it could not be given a name later.
FileDescriptor open_nameless(const std::string& path) {
  if (::access("/proc/self/fd", X_OK) != 0) return FileDescriptor();
  return FileDescriptor(::open(folder_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
}

/// Removes what processes that were killed left behind under the temporary names of `path`.
void remove_leftovers(const std::string& path) {
  const std::string prefix = std::filesystem::path(path).filename().string() + ".partial.";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(path), error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    pid_t owner = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, owner);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == end && owner > 0;
    if (is_id && ::kill(owner, 0) != 0 && errno == ESRCH) ::unlink(entry.path().c_str());
  }
}

}  // namespace

tl::unexpected<Error> file_error(int os_error, std::string_view doing, const std::string& path) {
  return fail(code_of(os_error),
              fmt::format("cannot {} {}{}", doing, printable(path), remedy_of(os_error)), os_error);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int FileDescriptor::release() noexcept {
  return std::exchange(fd_, -1);
}

Result<FileDescriptor> open_for_reading(const std::string& path, std::uint64_t& bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return file_error(errno, "open", path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return file_error(errno, "examine", path);
  if (S_ISDIR(info.st_mode)) return file_error(EISDIR, "read", path);
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is not a regular file; copy it to one first", printable(path)));
  }
  bytes = static_cast<std::uint64_t>(info.st_size);
  return fd;
}

Result<FileDescriptor> open_for_appending(const std::string& path) {
  FileDescriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
  if (fd.get() < 0) return file_error(errno, "open", path);
  return fd;
}

Result<void> read_at(int fd, const std::string& path, std::uint64_t offset,
                     std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(fd, out.data(), std::min(out.size(), kStep), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "read", path);
    if (got == 0) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} ended at byte {} while it was read, {} bytes early; something "
                              "truncates it: let its writer finish first",
                              printable(path), offset, out.size()));
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

OutputFile::OutputFile(std::string path, std::string temporary_path, FileDescriptor fd)
    : path_(std::move(path)), temporary_path_(std::move(temporary_path)), fd_(std::move(fd)) {}

OutputFile::~OutputFile() {
  if (fd_.get() >= 0 && !temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path, std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return fail(ErrorCode::invalid_argument, "the output file would be larger than any file");
  }
  // The rename at the end would replace whatever bears the name, a device included.
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return file_error(EISDIR, "write", path);
    if (!S_ISREG(info.st_mode)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} is not a regular file; name another output", printable(path)));
    }
  }
  remove_leftovers(path);
  std::string temporary;
  FileDescriptor fd = open_nameless(path);
  if (fd.get() < 0) {
    temporary = partial_name(path);
    fd = FileDescriptor(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd.get() < 0) return file_error(errno, "create", path);
  }
  OutputFile file(path, temporary, std::move(fd));
  if (bytes == 0) return file;
  const int os_error = ::posix_fallocate(file.fd_.get(), 0, static_cast<off_t>(bytes));
  if (os_error != 0 && !reservation_unsupported(os_error)) {
    return file_error(os_error, fmt::format("reserve {} for", format_bytes(bytes)), path);
  }
  return file;
}

Result<void> OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put =
        ::pwrite(fd_.get(), data.data(), std::min(data.size(), kStep), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(errno, "write", path_);
    offset += static_cast<std::uint64_t>(put);
    data = data.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> OutputFile::commit() {
  if (::fsync(fd_.get()) != 0) return file_error(errno, "flush", path_);
  if (temporary_path_.empty()) {
    // A link cannot replace a file, a rename can.
    const std::string name = partial_name(path_);
    const std::string nameless = fmt::format("/proc/self/fd/{}", fd_.get());
    ::unlink(name.c_str());
    if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return file_error(errno, "give the finished file the name", path_);
    }
    temporary_path_ = name;
  }
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return file_error(errno, "rename the finished file to", path_);
  }
  if (::close(fd_.release()) != 0) return file_error(errno, "close", path_);
  return {};
}

}  // namespace longhaul::apps
