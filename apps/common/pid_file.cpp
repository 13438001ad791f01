// SPDX-License-Identifier: Apache-2.0
#include "apps/common/pid_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>

#include "apps/common/printable.hpp"

namespace longhaul::apps {

namespace {

// A process that was killed, or is just starting, may hold the lock for a moment.
constexpr int kAttempts = 25;
constexpr auto kPause = std::chrono::milliseconds(20);

tl::unexpected<Error> pid_file_error(std::string_view doing, const std::string& path) {
  const int os_error = errno;
  return fail(ErrorCode::system,
              fmt::format("cannot {} the pidfile {}; check the path and its permissions, or name "
                          "another file",
                          doing, printable(path)),
              os_error);
}

/// The id in the file; nothing if it holds something else.
std::optional<pid_t> read_pid(int fd) {
  std::array<char, 16> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  pid_t id = 0;
  if (got <= 0 || std::from_chars(text.data(), text.data() + got, id).ec != std::errc()) return {};
  return id;
}

FileDescriptor open_existing(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
}

/// False if a living process holds the file at `path`; true once there is none.
Result<bool> remove_stale(const std::string& path) {
  const FileDescriptor found = open_existing(path);
  if (found.get() < 0 && errno == ENOENT) return true;
  struct stat info {};
  const bool regular =
      found.get() >= 0 ? ::fstat(found.get(), &info) == 0 && S_ISREG(info.st_mode) : errno != ELOOP;
  if (!regular) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is not a regular file; name another pidfile", printable(path)));
  }
  if (found.get() < 0) return pid_file_error("open", path);
  if (::flock(found.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    return pid_file_error("lock", path);
  }
  // Who replaced the file meanwhile has another lock, and the name.
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_ino != info.st_ino ||
      named.st_dev != info.st_dev)
    return false;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return pid_file_error("replace", path);
  return true;
}

/// A locked file with our id under the name `name`, which is to become `path`.
Result<FileDescriptor> write_beside(const std::string& name, const std::string& path) {
  ::unlink(name.c_str());
  FileDescriptor fd(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (fd.get() < 0) return pid_file_error("create", path);
  const std::string text = fmt::format("{}\n", ::getpid());
  const bool written = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 &&
                       ::write(fd.get(), text.data(), text.size()) == std::ssize(text);
  if (written) return fd;
  auto error = pid_file_error("write", path);
  ::unlink(name.c_str());
  return error;
}

tl::unexpected<Error> held_by_another(const std::string& path) {
  const FileDescriptor found = open_existing(path);
  const auto owner = found.get() >= 0 ? read_pid(found.get()) : std::nullopt;
  return fail(
      ErrorCode::address_in_use,
      fmt::format("{} belongs to {}, which runs; stop it or name another file", printable(path),
                  owner ? fmt::format("process {}", *owner) : "another process"));
}

std::string name_beside(const std::string& path) {
  return fmt::format("{}.partial.{}", path, ::getpid());
}

/// Removes a stale file, and waits a moment for one whose process is about to end.
Result<void> free_name(const std::string& path) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kPause);
    auto removed = remove_stale(path);
    if (!removed) return tl::unexpected(std::move(removed.error()));
    if (*removed) return {};
  }
  return held_by_another(path);
}

}  // namespace

Result<void> PidFile::check(const std::string& path) {
  const std::string beside = name_beside(path);
  const auto lock = write_beside(beside, path);
  if (!lock) return tl::unexpected(lock.error());
  ::unlink(beside.c_str());
  return free_name(path);
}

Result<PidFile> PidFile::create(const std::string& path) {
  const std::string beside = name_beside(path);
  auto lock = write_beside(beside, path);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  // From here on `beside` goes with this, or becomes `path`.
  PidFile file(beside, std::move(*lock));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto freed = free_name(path); !freed) return tl::unexpected(std::move(freed.error()));
    // Fails if another process that starts now was faster.
    if (::link(beside.c_str(), path.c_str()) == 0) {
      ::unlink(beside.c_str());
      file.path_ = path;
      return file;
    }
    if (errno != EEXIST) return pid_file_error("create", path);
  }
  return held_by_another(path);
}

PidFile::~PidFile() {
  if (path_.empty()) return;
  const FileDescriptor found = open_existing(path_);
  if (found.get() >= 0 && read_pid(found.get()) == ::getpid()) ::unlink(path_.c_str());
}

}  // namespace longhaul::apps
