// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/output.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "apps/common/files.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps::perf {
namespace {

using testing::HasSubstr;

TEST(LogFile, AppendsReportsAndComplaints) {
  const TemporaryFolder folder;
  for (const char* text : {"first\n", "second\n"}) {
    auto log = log_file(folder.file("log")).value();
    log->write(text);
    testing::internal::CaptureStderr();
    log->complain("oh no");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "longhaul-perf: oh no\n");
  }
  EXPECT_EQ(TemporaryFolder::read(folder.file("log")),
            "first\nlonghaul-perf: oh no\nsecond\nlonghaul-perf: oh no\n");
}

TEST(LogFile, AFolderThatIsNotThereIsNamed) {
  const auto log = log_file("/nonexistent/log");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().context, HasSubstr("/nonexistent/log"));
}

TEST(LogFile, AFullDiskIsToldOnceAndHoldsNothingUp) {
  testing::internal::CaptureStderr();
  {
    auto log = log_file("/dev/full").value();
    for (int i = 0; i < 1000; ++i) log->write("a line\n");
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_THAT(warnings, HasSubstr("No space left"));
  EXPECT_EQ(warnings.find("warning"), warnings.rfind("warning")) << warnings;
}

/// A reader that never reads is the slowest disk there is.
TEST(LogFile, ASlowDiskLosesLinesAndNoTime) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  const FileDescriptor reader(::open(folder.file("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_GE(reader.get(), 0);
  testing::internal::CaptureStderr();
  const auto begin = std::chrono::steady_clock::now();
  {
    auto log = log_file(folder.file("fifo")).value();
    const std::string line(1000, 'x');
    for (int i = 0; i < 5000; ++i) log->write(line);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_THAT(warnings, HasSubstr("too slow"));
  EXPECT_EQ(warnings.find("warning"), warnings.rfind("warning")) << warnings;
}

TEST(LogFile, AFifoNobodyReadsIsAnErrorAndNoWait) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(log_file(folder.file("fifo")));
}

}  // namespace
}  // namespace longhaul::apps::perf
