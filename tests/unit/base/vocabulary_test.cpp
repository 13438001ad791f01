// SPDX-License-Identifier: Apache-2.0
// Names, numbers and texts of the public vocabulary headers.
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <set>

#include "longhaul/address.hpp"
#include "longhaul/error.hpp"
#include "longhaul/stats.hpp"
#include "longhaul/status.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul {
namespace {

template <typename Enum>
void expect_distinct_names(unsigned first, unsigned last) {
  std::set<std::string_view> names;
  for (unsigned i = first; i <= last; ++i) {
    const std::string_view name = to_string(static_cast<Enum>(i));
    EXPECT_NE(name, "unknown") << i;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
  }
  EXPECT_EQ(to_string(static_cast<Enum>(last + 1)), "unknown");
}

TEST(Names, every_enumerator_has_one_of_its_own) {
  expect_distinct_names<ErrorCode>(1, 18);
  expect_distinct_names<Status>(0, 9);
  expect_distinct_names<TrafficClass>(0, 3);
  expect_distinct_names<Reliability>(0, 2);
  expect_distinct_names<Dtype>(1, 15);
  expect_distinct_names<DropReason>(0, kDropReasons - 1);
}

TEST(Names, are_those_of_the_enumerators) {
  EXPECT_EQ(to_string(ErrorCode::cannot_fill_pipe), "cannot_fill_pipe");
  EXPECT_EQ(to_string(ErrorCode::not_authenticated), "not_authenticated");
  EXPECT_EQ(to_string(Status::completed_partial), "completed_partial");
  EXPECT_EQ(to_string(TrafficClass::scavenger), "scavenger");
  EXPECT_EQ(to_string(Reliability::bounded_loss), "bounded_loss");
  EXPECT_EQ(to_string(DropReason::failed_integrity), "failed_integrity");
  EXPECT_EQ(to_string(Dtype::boolean), "bool");
}

TEST(Error, puts_the_systems_words_behind_the_cause_and_before_the_remedy) {
  const Error error{ErrorCode::address_in_use, EADDRINUSE,
                    "UDP port 5201 is taken; choose another port"};
  EXPECT_EQ(to_string(error),
            "address_in_use: UDP port 5201 is taken (Address already in use); choose another "
            "port");
}

TEST(Error, leaves_out_what_it_does_not_have) {
  EXPECT_EQ(to_string(Error{ErrorCode::closed, 0, ""}), "closed");
  EXPECT_EQ(to_string(Error{ErrorCode::closed, 0, "it is over"}), "closed: it is over");
  EXPECT_EQ(to_string(Error{ErrorCode::system, EBADF, ""}), "system (Bad file descriptor)");
  EXPECT_EQ(to_string(Error{ErrorCode::system, EBADF, "poll"}),
            "system: poll (Bad file descriptor)");
}

TEST(Address, parses_and_prints_both_families) {
  const auto v4 = SocketAddress::parse("192.0.2.1", 5201);
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->family, AddressFamily::ipv4);
  EXPECT_EQ(v4->port, 5201);
  const std::array<std::uint8_t, 16> expected{192, 0, 2, 1};
  EXPECT_EQ(v4->bytes, expected);
  EXPECT_EQ(to_string(*v4), "192.0.2.1:5201");

  const auto v6 = SocketAddress::parse("2001:db8::1", 65535);
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->family, AddressFamily::ipv6);
  EXPECT_EQ(v6->bytes[0], 0x20);
  EXPECT_EQ(v6->bytes[15], 1);
  EXPECT_EQ(to_string(*v6), "[2001:db8::1]:65535");

  const auto scoped = SocketAddress::parse("fe80::1%12", 1);
  ASSERT_TRUE(scoped);
  EXPECT_EQ(scoped->scope_id, 12u);
  EXPECT_EQ(to_string(*scoped), "[fe80::1%12]:1");
}

TEST(Address, refuses_everything_else_by_name) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "localhost"sv, "192.0.2"sv, "192.0.2.256"sv, " 192.0.2.1"sv, "192.0.2.1 "sv,
        "192.0.2.1%1"sv, "[::1]"sv, "::1%"sv, "::1%eth0"sv, "::1%1x"sv, "::1%-1"sv,
        "::1%4294967296"sv, "1:2:3:4:5:6:7:8:9"sv, "192.0.2.1\0x"sv, "::1\0"sv, "%"sv}) {
    const auto address = SocketAddress::parse(text, 1);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(address.error().context.find("resolve()"), std::string::npos) << "no remedy";
  }
}

TEST(Dtype, names_and_sizes_are_fixed) {
  const std::pair<std::string_view, std::size_t> rows[] = {
      {"u8", 1},  {"i8", 1},  {"u16", 2},    {"i16", 2},    {"u32", 4},
      {"i32", 4}, {"u64", 8}, {"i64", 8},    {"f16", 2},    {"bf16", 2},
      {"f32", 4}, {"f64", 8}, {"f8e4m3", 1}, {"f8e5m2", 1}, {"bool", 1}};
  unsigned number = 1;
  for (const auto& [name, size] : rows) {
    const auto dtype = parse_dtype(name);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(static_cast<unsigned>(*dtype), number++) << "the number travels on the wire";
    EXPECT_EQ(to_string(*dtype), name);
    EXPECT_EQ(element_size(*dtype), size);
  }
  EXPECT_EQ(element_size(Dtype{0}), 0u);
  EXPECT_EQ(element_size(Dtype{16}), 0u);
}

TEST(Dtype, an_unknown_name_is_answered_with_the_known_ones) {
  const auto dtype = parse_dtype("float32");
  ASSERT_FALSE(dtype);
  EXPECT_EQ(dtype.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(dtype.error().context.find("'float32'"), std::string::npos);
  EXPECT_NE(dtype.error().context.find(" f32"), std::string::npos);
}

TEST(Shape, counts_elements_and_prints_extents) {
  EXPECT_EQ(Shape{}.elements().value(), 1u);
  EXPECT_EQ(to_string(Shape{}), "scalar");
  EXPECT_EQ((Shape{4096, 4096}).elements().value(), 4096u * 4096u);
  EXPECT_EQ(to_string(Shape{4096, 4096}), "4096x4096");
  EXPECT_EQ(to_string(Shape{7}), "7");
  EXPECT_EQ((Shape{1ULL << 32, (1ULL << 32) - 1}).elements().value(), ((1ULL << 32) - 1) << 32);
}

TEST(Shape, refuses_a_product_beyond_64_bits_unless_it_is_empty) {
  const auto elements = Shape{1ULL << 32, 1ULL << 32}.elements();
  ASSERT_FALSE(elements);
  EXPECT_EQ(elements.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(elements.error().context.find("4294967296x4294967296"), std::string::npos);
  EXPECT_EQ((Shape{~0ULL, ~0ULL, 0}).elements().value(), 0u);
  EXPECT_EQ((Shape{0, ~0ULL, ~0ULL}).elements().value(), 0u);
}

TEST(Shape, refuses_more_than_eight_dimensions) {
  const std::array<std::uint64_t, 9> nine{1, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto shape = Shape::from(nine);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(Shape::from(std::span(nine).first(8)));
  EXPECT_FALSE((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}).elements()) << "must not pass for one element";
}

TEST(BytesView, is_one_dimension_of_u8) {
  std::array<char, 5> memory{};
  const TensorView view = bytes_view(memory.data(), memory.size());
  EXPECT_EQ(view.data, memory.data());
  EXPECT_EQ(view.bytes, 5u);
  EXPECT_EQ(view.dtype, Dtype::u8);
  EXPECT_EQ(view.shape, Shape{5});
  const void* const constant = memory.data();
  const ConstTensorView const_view = bytes_view(constant, 5);
  EXPECT_EQ(const_view.data, memory.data());
  EXPECT_EQ(const_view.shape, Shape{5});
}

}  // namespace
}  // namespace longhaul
