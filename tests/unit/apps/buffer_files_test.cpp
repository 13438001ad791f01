// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "apps/common/buffer.hpp"
#include "apps/common/files.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Buffer, HoldsWhatIsAskedForAndNoMoreThanThereIs) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5u << 20}}) {
    auto buffer = Buffer::allocate(bytes, "test");
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_NE(buffer->data(), nullptr);
  }
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    const auto buffer = Buffer::allocate(bytes, "receive window");
    ASSERT_FALSE(buffer);
    EXPECT_NE(buffer.error().context.find("receive window"), std::string::npos);
  }
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  auto file = OutputFile::create(folder.file("out"), 6);
  ASSERT_TRUE(file) << file.error().context;
  ASSERT_TRUE(file->write_at(3, bytes_of("def")));
  ASSERT_TRUE(file->write_at(0, bytes_of("abc")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(TemporaryFolder::read(folder.file("out")), "abcdef");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, LeavesNothingBehindWhenGivenUp) {
  const TemporaryFolder folder;
  folder.write("out", "old");
  {
    auto file = OutputFile::create(folder.file("out"), 3);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write_at(0, bytes_of("new")));
    // Where the file system can, not even a kill would leave anything behind.
    EXPECT_EQ(folder.entries(), file->temporary_path().empty() ? 1u : 2u);
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(TemporaryFolder::read(folder.file("out")), "old");
}

TEST(OutputFile, RemovesWhatKilledProcessesLeftAndNothingElse) {
  const TemporaryFolder folder;
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string living = fmt::format("out.partial.{}", ::getppid());
  folder.write(fmt::format("out.partial.{}", gone), "stale");
  folder.write(fmt::format("other.partial.{}", gone), "not ours");
  folder.write(fmt::format("out.partial.{}x", gone), "no id");
  folder.write(living, "somebody writes it");
  auto file = OutputFile::create(folder.file("out"), 3);
  ASSERT_TRUE(file) << file.error().context;
  EXPECT_FALSE(std::filesystem::exists(folder.file(fmt::format("out.partial.{}", gone))));
  ASSERT_TRUE(file->write_at(0, bytes_of("new")));
  // One of our own id is nobody else's.
  folder.write(fmt::format("out.partial.{}", ::getpid()), "of an earlier life");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(TemporaryFolder::read(folder.file("out")), "new");
  EXPECT_EQ(TemporaryFolder::read(folder.file(living)), "somebody writes it");
  EXPECT_EQ(folder.entries(), 4u);
}

TEST(OutputFile, AFullDiskIsKnownBeforeAnythingMovesAndLeavesNothing) {
  const TemporaryFolder folder;
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{4096, old.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto file = OutputFile::create(folder.file("out"), 1u << 20);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::budget_exceeded);
  EXPECT_NE(file.error().os_error, 0);
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(OutputFile, AMissingFolderIsNamed) {
  const auto file = OutputFile::create("/nonexistent/out", 1);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().os_error, ENOENT);
  EXPECT_NE(file.error().context.find("/nonexistent/out"), std::string::npos);
}

TEST(ReadAt, AFileThatShrinksGivesAnErrorAndNoSignal) {
  const TemporaryFolder folder;
  const std::string path = folder.write("data", std::string(10'000, 'x'));
  std::uint64_t bytes = 0;
  const auto fd = open_for_reading(path, bytes);
  ASSERT_TRUE(fd);
  ASSERT_EQ(bytes, 10'000u);
  std::filesystem::resize_file(path, 5'000);
  std::vector<std::byte> out(bytes);
  const auto read = read_at(fd->get(), path, 0, out);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().context.find("ended at byte 5000"), std::string::npos);
}

TEST(OpenForReading, FoldersPipesAndAbsentFilesAreRefused) {
  const TemporaryFolder folder;
  std::uint64_t bytes = 0;
  EXPECT_EQ(open_for_reading(folder.file("absent"), bytes).error().os_error, ENOENT);
  EXPECT_EQ(open_for_reading(folder.file(""), bytes).error().os_error, EISDIR);
  EXPECT_FALSE(open_for_reading("/dev/null", bytes));
}

}  // namespace
}  // namespace longhaul::apps
