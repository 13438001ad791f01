// SPDX-License-Identifier: Apache-2.0
#include "apps/common/pid_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <span>
#include <string_view>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"

namespace longhaul::apps {

namespace {

/// The id in the file; nothing if there is none, or something else.
std::optional<pid_t> read_pid(const std::string& path) {
  std::uint64_t bytes = 0;
  const auto fd = open_for_reading(path, bytes);
  std::array<char, 16> text{};
  if (!fd) return {};
  const ssize_t got = ::read(fd->get(), text.data(), text.size());
  pid_t id = 0;
  if (got <= 0 || std::from_chars(text.data(), text.data() + got, id).ec != std::errc()) return {};
  return id;
}

bool alive(pid_t id) {
  return id > 0 && (::kill(id, 0) == 0 || errno == EPERM);
}

}  // namespace

Result<PidFile> PidFile::create(const std::string& path) {
  const auto other = read_pid(path);
  if (other && *other != ::getpid() && alive(*other)) {
    return fail(ErrorCode::address_in_use,
                fmt::format("{} belongs to process {}, which runs; stop it or name another file",
                            printable(path), *other));
  }
  auto file = OutputFile::create(path, 0);
  if (!file) return tl::unexpected(std::move(file.error()));
  const std::string text = fmt::format("{}\n", ::getpid());
  if (auto put = file->write_at(0, std::as_bytes(std::span(text))); !put) {
    return tl::unexpected(std::move(put.error()));
  }
  if (auto committed = file->commit(); !committed) {
    return tl::unexpected(std::move(committed.error()));
  }
  return PidFile(path);
}

PidFile::~PidFile() {
  if (!path_.empty() && read_pid(path_) == ::getpid()) ::unlink(path_.c_str());
}

}  // namespace longhaul::apps
