// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "apps/common/sample_file.hpp"
#include "apps/perf/source.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps::perf {
namespace {

using testing::HasSubstr;

/// Moves everything from a source to a sink, as a perfect network would; `touch` may spoil it.
template <typename Touch>
void cross(Source& source, Sink& sink, Touch touch) {
  std::uint64_t number = 0;
  for (;;) {
    auto posting = sink.next().value();
    while (!posting && sink.work().value()) {
    }
    if (!posting) posting = sink.next().value();
    const auto item = source.next();
    if (!item || !posting) {
      EXPECT_EQ(item.has_value(), posting.has_value());
      break;
    }
    ASSERT_EQ(item->tag, posting->tag);
    ASSERT_EQ(item->view.bytes, posting->view.bytes);
    EXPECT_EQ(item->view.dtype, posting->view.dtype);
    EXPECT_EQ(item->view.shape, posting->view.shape);
    std::memcpy(posting->view.data, item->view.data, item->view.bytes);
    touch(number++, posting->view);
    sink.on_completed(posting->index);
  }
  while (sink.work().value()) {
  }
}

void leave_alone(std::uint64_t, const TensorView&) {}

TestPlan stream_plan(std::uint64_t bytes, std::uint64_t transfers) {
  TestPlan plan;
  plan.extents = {bytes};
  plan.bytes = bytes;
  plan.transfers = transfers;
  plan.parallel = 2;
  plan.seed = 77;
  return plan;
}

TEST(StreamSink, AcceptsWhatTheSourceMakes) {
  for (const std::uint64_t bytes : {0u, 1u, 100u, 4096u, 5000u, 100'000u}) {
    const TestPlan plan = stream_plan(bytes, 150);
    auto source = StreamSource::create(plan).value();
    auto sink = StreamSink::create(plan).value();
    cross(source, *sink, leave_alone);
    std::vector<std::string> problems;
    ASSERT_TRUE(sink->conclude({}, problems));
    EXPECT_TRUE(problems.empty()) << bytes << problems.front();
  }
}

TEST(StreamSink, NoticesATransferInAnothersPlace) {
  const TestPlan plan = stream_plan(10'000, 3);
  auto source = StreamSource::create(plan).value();
  auto sink = StreamSink::create(plan).value();
  std::vector<std::byte> first;
  cross(source, *sink, [&](std::uint64_t number, const TensorView& view) {
    const auto* data = static_cast<const std::byte*>(view.data);
    if (number == 0) first.assign(data, data + view.bytes);
    if (number == 2) std::memcpy(view.data, first.data(), view.bytes);
  });
  std::vector<std::string> problems;
  ASSERT_TRUE(sink->conclude({}, problems));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("number 2"));
}

TEST(StreamSink, RefusesAWindowThatDoesNotFitMemory) {
  const auto sink = StreamSink::create(stream_plan(std::uint64_t{1} << 50, 3));
  ASSERT_FALSE(sink);
  EXPECT_THAT(sink.error().context, HasSubstr("--size"));
}

TEST(ReceiveWindow, IsAlwaysLargerThanWhatIsInFlight) {
  for (const std::uint32_t parallel : {1u, 2u, 64u, 16384u}) {
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{1} << 40}) {
      EXPECT_GT(receive_window(bytes, parallel), parallel);
      EXPECT_LE(receive_window(bytes, parallel), std::uint64_t{4} * parallel);
    }
  }
  EXPECT_EQ(receive_window(64u << 20, 4), 5u);
}

class FileSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_sample_file(folder_.file("model"), 6u << 20));
    file_ = read_safetensors(folder_.file("model")).value();
    plan_ = plan_file(Options{}, file_);
  }

  TemporaryFolder folder_;
  SafetensorsFile file_;
  TestPlan plan_;
  std::vector<std::string> problems_;
};

TEST_F(FileSinkTest, WritesAnIdenticalFile) {
  auto source = FileSource::create(file_).value();
  auto sink = FileSink::create(plan_, file_.raw_header(), folder_.file("copy")).value();
  EXPECT_EQ(sink->expected(), file_.header.tensors.size());
  cross(source, *sink, leave_alone);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy")));
  ASSERT_TRUE(sink->conclude(digests_of(file_), problems_));
  EXPECT_TRUE(problems_.empty());
  EXPECT_EQ(TemporaryFolder::read(folder_.file("copy")),
            TemporaryFolder::read(folder_.file("model")));
  EXPECT_EQ(folder_.entries(), 2u);
}

TEST_F(FileSinkTest, AWrongByteIsNamedByItsTensorAndNothingIsWritten) {
  auto source = FileSource::create(file_).value();
  {
    auto sink = FileSink::create(plan_, file_.raw_header(), folder_.file("copy")).value();
    cross(source, *sink, [](std::uint64_t number, const TensorView& view) {
      if (number == 1) static_cast<std::byte*>(view.data)[view.bytes - 1] ^= std::byte{1};
    });
    ASSERT_TRUE(sink->conclude(digests_of(file_), problems_));
    ASSERT_EQ(problems_.size(), 1u);
    EXPECT_THAT(problems_[0], HasSubstr(file_.header.tensors[1].name));
  }
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(FileSinkTest, MissingTensorsAndDigestsAreProblems) {
  auto sink = FileSink::create(plan_, file_.raw_header(), "").value();
  const auto posting = sink->next().value();
  ASSERT_TRUE(posting);
  sink->on_failed(posting->index);
  ASSERT_TRUE(sink->conclude(digests_of(file_), problems_));
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_THAT(problems_[0], HasSubstr("did not arrive"));

  problems_.clear();
  auto source = FileSource::create(file_).value();
  auto other = FileSink::create(plan_, file_.raw_header(), "").value();
  cross(source, *other, leave_alone);
  ASSERT_TRUE(other->conclude({}, problems_));
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_THAT(problems_[0], HasSubstr("no digest"));
}

TEST_F(FileSinkTest, DiscardingRemovesTheOutputAtOnce) {
  auto sink = FileSink::create(plan_, file_.raw_header(), folder_.file("copy")).value();
  // Beside the source a file under a temporary name, or one without any.
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy")));
  sink->discard();
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(FileSinkTest, AHeaderThatLiesIsRefused) {
  plan_.file_bytes += 1;
  EXPECT_FALSE(FileSink::create(plan_, file_.raw_header(), ""));
  plan_.file_bytes -= 1;
  plan_.header_bytes -= 1;
  EXPECT_FALSE(FileSink::create(plan_, file_.raw_header().first(plan_.header_bytes), ""));
}

TEST_F(FileSinkTest, AnOutputThatCannotBeMadeIsAnErrorBeforeAnythingMoves) {
  const auto sink = FileSink::create(plan_, file_.raw_header(), "/nonexistent/copy");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().os_error, ENOENT);
}

}  // namespace
}  // namespace longhaul::apps::perf
