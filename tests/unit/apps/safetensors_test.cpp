// SPDX-License-Identifier: Apache-2.0
#include "apps/common/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "apps/common/pattern.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps {
namespace {

using testing::HasSubstr;

std::string prefix_of(std::uint64_t length) {
  std::string prefix;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    prefix += static_cast<char>(length >> shift & 0xff);
  }
  return prefix;
}

std::string file_of(const std::string& json, std::size_t data_bytes) {
  return prefix_of(json.size()) + json + std::string(data_bytes, 'd');
}

Result<SafetensorsFile> read_text(const std::string& content) {
  const TemporaryFolder folder;
  return read_safetensors(folder.write("model.safetensors", content));
}

/// The error of a file with this header and so much data.
std::string error_of(const std::string& json, std::size_t data_bytes) {
  const auto file = read_text(file_of(json, data_bytes));
  if (file) return "accepted";
  EXPECT_THAT(file.error().context, HasSubstr("model.safetensors"));
  EXPECT_THAT(file.error().context, HasSubstr("; ")) << "a remedy is due";
  return file.error().context;
}

TEST(Safetensors, ReadsNamesShapesAndDataInMemoryOrder) {
  const auto file =
      read_text(file_of(R"({"__metadata__":{"format":"pt"},)"
                        R"("b":{"dtype":"F32","shape":[2],"data_offsets":[6,14]},)"
                        R"("a":{"dtype":"BF16","shape":[3,1],"data_offsets":[0,6]},)"
                        R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[14,14]},)"
                        R"("step":{"dtype":"I64","shape":[],"data_offsets":[14,22]}}   )",
                        22));
  ASSERT_TRUE(file) << file.error().context;
  const auto& tensors = file->header.tensors;
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, Dtype::bf16);
  EXPECT_EQ(tensors[0].extents, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[2].name, "empty");
  EXPECT_EQ(tensors[2].bytes(), 0u);
  EXPECT_EQ(tensors[3].name, "step");
  EXPECT_TRUE(tensors[3].extents.empty());
  EXPECT_EQ(file->data_of(tensors[1]).size(), 8u);
}

TEST(Safetensors, EveryDtypeOfTheLibraryIsRead) {
  EXPECT_EQ(safetensors_dtypes().size(), 15u);
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) {
    EXPECT_EQ(dtype.element_bytes, element_size(dtype.dtype)) << dtype.name;
    const std::string bytes = std::to_string(3 * dtype.element_bytes);
    const auto file = read_text(file_of(R"({"t":{"dtype":")" + std::string(dtype.name) +
                                            R"(","shape":[3],"data_offsets":[0,)" + bytes + "]}}",
                                        3 * dtype.element_bytes));
    ASSERT_TRUE(file) << file.error().context;
    EXPECT_EQ(file->header.tensors.front().dtype, dtype.dtype);
  }
}

TEST(Safetensors, AFileWithoutTensorsIsEmptyAndGood) {
  const auto file = read_text(file_of("{}", 0));
  ASSERT_TRUE(file) << file.error().context;
  EXPECT_TRUE(file->header.tensors.empty());
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = file_of(R"({"t":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", 5);
  ASSERT_TRUE(read_text(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read_text(whole.substr(0, length))) << length;
  }
}

TEST(Safetensors, ALyingHeaderLengthAllocatesNothing) {
  for (const std::uint64_t length :
       {std::uint64_t{100}, std::uint64_t{200'000'000}, std::uint64_t{1} << 40, ~std::uint64_t{0},
        ~std::uint64_t{0} - 7, std::uint64_t{1} << 63}) {
    const auto file = read_text(prefix_of(length) + "{}");
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().context, HasSubstr("not a safetensors file"));
  }
}

TEST(Safetensors, TheFormatsOwnHeaderLimitHolds) {
  const std::string prefix = prefix_of(kSafetensorsHeaderMax + 1);
  const auto length =
      safetensors_header_length("m", std::as_bytes(std::span(prefix)), kSafetensorsHeaderMax * 10);
  EXPECT_FALSE(length);
}

TEST(Safetensors, OffsetsOutsideTheDataAreRefused) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[6],"data_offsets":[0,6]}})", 5),
              HasSubstr("tensor \"w\""));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[4,3]}})", 5),
              HasSubstr("data_offsets [4, 3]"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[1],)"
                       R"("data_offsets":[18446744073709551615,18446744073709551615]}})",
                       5),
              HasSubstr("do not lie within"));
}

TEST(Safetensors, ShapesThatOverflowAreRefused) {
  EXPECT_THAT(
      error_of(R"({"w":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
      HasSubstr("exceeds 64 bits"));
  EXPECT_THAT(
      error_of(R"({"w":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0),
      HasSubstr("exceeds 64 bits"));
}

TEST(Safetensors, AnEmptyTensorMayHaveHugeOtherExtents) {
  // The product must not be refused for what a zero makes irrelevant, as long as it fits.
  EXPECT_EQ(error_of(R"({"w":{"dtype":"U8","shape":[0,4294967296],"data_offsets":[0,0]}})", 0),
            "accepted");
}

TEST(Safetensors, SizeMustEqualShapeTimesElement) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
              HasSubstr("make 8 bytes but data_offsets span 4"));
}

TEST(Safetensors, HolesOverlapsAndTrailingBytesAreRefused) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
                       5),
              HasSubstr("leave a hole"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
                       5),
              HasSubstr("overlap"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 5),
              HasSubstr("2 bytes after the last tensor"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})", 4),
              HasSubstr("leave a hole"));
}

TEST(Safetensors, UnknownDtypesAreNamedWithTheKnownOnes) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1),
              testing::AllOf(HasSubstr("\"F4\""), HasSubstr("BF16"), HasSubstr("tensor \"w\"")));
}

TEST(Safetensors, TooManyDimensionsAreRefused) {
  EXPECT_THAT(
      error_of(R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1),
      HasSubstr("9 dimensions"));
}

TEST(Safetensors, MalformedJsonIsRefused) {
  for (const char* json : {"",
                           "[]",
                           "1",
                           "null",
                           "\"x\"",
                           "{",
                           "{}}",
                           R"({"w":1})",
                           R"({"w":null})",
                           R"({"w":[]})",
                           R"({"w":{}})",
                           R"({"w":{"dtype":"U8","shape":[1]}})",
                           R"({"w":{"dtype":"U8","data_offsets":[0,1]}})",
                           R"({"w":{"shape":[1],"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":1,"shape":[1],"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})",
                           R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0]}})",
                           R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})",
                           R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"extra":{}}})",
                           R"({"w":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})",
                           R"({"__metadata__":"x"})",
                           R"({"__metadata__":{"a":1}})",
                           R"({"__metadata__":{"a":{"b":"c"}}})",
                           "{\"\xff\":{}}"}) {
    EXPECT_NE(error_of(json, 1), "accepted") << json;
  }
}

TEST(Safetensors, ATensorNamedTwiceIsRefused) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                       2),
              HasSubstr("\"w\" twice"));
}

TEST(Safetensors, DeepNestingIsRefusedAtOnce) {
  EXPECT_NE(error_of(std::string(1'000'000, '['), 0), "accepted");
  EXPECT_NE(error_of("{\"w\":" + std::string(1'000'000, '['), 0), "accepted");
}

TEST(Safetensors, NoFlippedByteOfAHeaderIsMisread) {
  const std::string good =
      file_of(R"({"ab":{"dtype":"U16","shape":[3,2],"data_offsets":[0,12]}})", 12);
  const std::size_t header = good.size() - 12;
  const Pattern pattern(3);
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    std::string bad = good;
    const std::size_t at = pattern.word(2 * round) % header;
    bad[at] = static_cast<char>(pattern.word(2 * round + 1) & 0xff);
    const auto bytes = std::as_bytes(std::span(bad));
    const auto length = safetensors_header_length("m", bytes, bad.size());
    if (!length) continue;
    const auto parsed =
        parse_safetensors_header("m", bytes.subspan(8, *length), bad.size() - 8 - *length);
    if (!parsed) continue;
    std::uint64_t covered = 0;
    for (const auto& entry : parsed->tensors) covered += entry.bytes();
    EXPECT_EQ(covered, bad.size() - 8 - *length);
  }
}

}  // namespace
}  // namespace longhaul::apps
