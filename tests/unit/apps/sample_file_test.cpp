// SPDX-License-Identifier: Apache-2.0
#include "apps/common/sample_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "apps/common/safetensors.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps {
namespace {

TEST(SampleFile, IsAModelOfExactlyTheSizeAskedFor) {
  const TemporaryFolder folder;
  for (const std::uint64_t bytes :
       {sample_bytes_min(), sample_bytes_min() + 1, std::uint64_t{1'000'003},
        std::uint64_t{8u << 20}, std::uint64_t{64u << 20}}) {
    const std::string path = folder.file("sample.safetensors");
    ASSERT_TRUE(write_sample_file(path, bytes));
    const auto file = read_safetensors(path);
    ASSERT_TRUE(file) << file.error().context;
    EXPECT_EQ(file->header.data_bytes, bytes);
    EXPECT_EQ(file->header_bytes % 8, 0u);
    std::set<Dtype> dtypes;
    bool empty = false;
    for (const auto& tensor : file->header.tensors) {
      dtypes.insert(tensor.dtype);
      empty = empty || tensor.bytes() == 0;
    }
    EXPECT_TRUE(empty);
    EXPECT_GE(dtypes.size(), 3u);
    EXPECT_GE(file->header.tensors.size(), 18u);
  }
}

TEST(SampleFile, IsTheSameEveryTime) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_sample_file(folder.file("one"), 3u << 20));
  ASSERT_TRUE(write_sample_file(folder.file("two"), 3u << 20));
  EXPECT_EQ(TemporaryFolder::read(folder.file("one")), TemporaryFolder::read(folder.file("two")));
}

TEST(SampleFile, ASizeTooSmallForAModelIsRefusedWithTheLeast) {
  const TemporaryFolder folder;
  const auto written = write_sample_file(folder.file("sample"), sample_bytes_min() - 1);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().context.find(std::to_string(sample_bytes_min())), std::string::npos);
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
}  // namespace longhaul::apps
