// SPDX-License-Identifier: Apache-2.0
#include "apps/common/key_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"

namespace longhaul::apps {

namespace {

constexpr std::size_t kShortKey = 16;
constexpr std::size_t kKey = 32;
constexpr mode_t kOthers = 077;

Result<std::string> read_key(const std::string& path) {
  std::uint64_t bytes = 0;
  auto fd = open_for_reading(path, bytes);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  if (bytes != kShortKey && bytes != kKey) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{} has {} bytes and a key has {} or {}; name another file, or remove it "
                    "to have a new key made",
                    printable(path), bytes, kShortKey, kKey));
  }
  struct stat info {};
  if (::fstat(fd->get(), &info) == 0 && (info.st_mode & kOthers) != 0) {
    return fail(ErrorCode::no_permission,
                fmt::format("others may read or write the key {}; say chmod 600 {}",
                            printable(path), printable(path)));
  }
  std::string key(bytes, '\0');
  if (auto got = read_at(fd->get(), path, 0, std::as_writable_bytes(std::span(key))); !got) {
    return tl::unexpected(std::move(got.error()));
  }
  return key;
}

Result<void> make_key(const std::string& path) {
  std::array<char, kKey> key{};
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return fail(ErrorCode::system, "the system gives no random bytes", errno);
  }
  auto made = make_secret_file(path, {key.data(), key.size()});
  explicit_bzero(key.data(), key.size());
  if (!made) return tl::unexpected(std::move(made.error()));
  return {};
}

}  // namespace

// The file gets its name only once it is whole, and never takes another's.
Result<bool> make_secret_file(const std::string& path, std::string_view content) {
  const std::string temporary = fmt::format("{}.new.{}", path, ::getpid());
  ::unlink(temporary.c_str());
  const FileDescriptor fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto failed = [&] {
    const int cause = errno;
    ::unlink(temporary.c_str());
    return file_error(cause, "make the key", path);
  };
  if (fd.get() < 0) return failed();
  if (::write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    return failed();
  }
  if (::fsync(fd.get()) != 0) return failed();
  const bool taken = ::link(temporary.c_str(), path.c_str()) != 0;
  if (taken && errno != EEXIST) return failed();
  ::unlink(temporary.c_str());
  return !taken;
}

Result<std::string> read_or_make_key(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 && errno == ENOENT) {
    if (auto made = make_key(path); !made) return tl::unexpected(std::move(made.error()));
  }
  return read_key(path);
}

}  // namespace longhaul::apps
