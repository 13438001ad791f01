// SPDX-License-Identifier: Apache-2.0
// What tensor views and options are refused, and that nothing has happened then.
#include <array>

#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

class Views : public PairTest {
 protected:
  void expect_refused(const ConstTensorView& tensor, ErrorCode code, std::string_view names) {
    const auto send = to_server_.send_tensor(1, tensor);
    ASSERT_FALSE(send);
    EXPECT_EQ(send.error().code, code);
    EXPECT_NE(send.error().context.find(names), std::string::npos) << send.error().context;
  }
  std::array<float, 12> data_{};
  ConstTensorView good() const {
    ConstTensorView tensor;
    tensor.data = data_.data();
    tensor.bytes = sizeof data_;
    tensor.dtype = Dtype::f32;
    tensor.shape = Shape{3, 4};
    return tensor;
  }
};

TEST_F(Views, contiguous_strides_are_taken) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  const std::array<std::int64_t, 2> row_major{4, 1};
  tensor.strides = row_major;
  EXPECT_TRUE(to_server_.send_tensor(1, tensor));
  tensor.shape = Shape{1, 12};
  const std::array<std::int64_t, 2> anything_for_one{-7, 1};
  tensor.strides = anything_for_one;
  EXPECT_TRUE(to_server_.send_tensor(1, tensor));
}

TEST_F(Views, gaps_and_other_orders_are_refused) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  for (const std::array<std::int64_t, 2> strides :
       {std::array<std::int64_t, 2>{8, 1}, {1, 3}, {4, 2}, {-4, 1}, {0, 1}}) {
    tensor.strides = strides;
    expect_refused(tensor, ErrorCode::not_contiguous, "contiguous");
  }
  const std::array<std::int64_t, 1> too_few{1};
  tensor.strides = too_few;
  expect_refused(tensor, ErrorCode::invalid_argument, "strides");
}

TEST_F(Views, lengths_the_wire_cannot_carry_are_refused) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  tensor.dtype = Dtype::u8;
  tensor.bytes = std::uint64_t{1} << 62;
  tensor.shape = Shape{tensor.bytes};
  expect_refused(tensor, ErrorCode::invalid_argument, "2^62");
  auto half = tensor;
  half.bytes = std::uint64_t{1} << 61;
  half.shape = Shape{half.bytes};
  const auto list = to_server_.send_tensors(1, std::array{half, half});
  ASSERT_FALSE(list);
  EXPECT_NE(list.error().context.find("2^62"), std::string::npos) << list.error().context;
}

TEST_F(Views, bytes_must_be_elements_times_size) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  tensor.bytes = 44;
  expect_refused(tensor, ErrorCode::invalid_argument, "12 × 4");
  tensor = good();
  tensor.shape = Shape{std::uint64_t{1} << 62, 16};
  expect_refused(tensor, ErrorCode::invalid_argument, "");
  tensor.shape = Shape{std::uint64_t{1} << 62};  // times 4 is 0 modulo 2^64
  tensor.bytes = 0;
  expect_refused(tensor, ErrorCode::invalid_argument, "");
}

TEST_F(Views, an_unknown_dtype_is_refused_by_number) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  tensor.dtype = static_cast<Dtype>(99);
  expect_refused(tensor, ErrorCode::invalid_argument, "99");
}

TEST_F(Views, null_memory_is_refused_unless_it_is_empty) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  tensor.data = nullptr;
  expect_refused(tensor, ErrorCode::invalid_argument, "null");
  tensor.bytes = 0;
  tensor.shape = Shape{0, 4};
  EXPECT_TRUE(to_server_.send_tensor(1, tensor));
}

TEST_F(Views, device_memory_is_refused_by_name) {
  ASSERT_NO_FATAL_FAILURE(connect());
  auto tensor = good();
  tensor.kind = MemoryKind::cuda;
  expect_refused(tensor, ErrorCode::unsupported, "cuda");
  tensor.kind = MemoryKind::rocm;
  expect_refused(tensor, ErrorCode::unsupported, "rocm");
  const auto region = client_.register_memory(data_.data(), sizeof data_, MemoryKind::managed);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code, ErrorCode::unsupported);
  EXPECT_NE(region.error().context.find("managed"), std::string::npos);
}

TEST_F(Views, a_list_of_no_tensors_is_refused_and_a_bad_one_is_named) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto nothing = to_server_.send_tensors(1, {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::invalid_argument);
  std::vector<ConstTensorView> list(3, good());
  list[2].bytes = 1;
  const auto bad = to_server_.send_tensors(1, list);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().context.rfind("tensor 2: ", 0), 0U) << bad.error().context;
}

TEST_F(Views, registered_memory_is_checked_and_held) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto region = client_.register_memory(data_.data(), sizeof data_);
  ASSERT_TRUE(region) << why(region);
  auto tensor = good();
  tensor.region = *region;
  SendOptions options;
  options.growing = true;
  const auto send = to_server_.send_tensor(1, tensor, options);
  ASSERT_TRUE(send) << why(send);
  EXPECT_EQ(client_.unregister_memory(*region).error().code, ErrorCode::invalid_argument)
      << "an outstanding transfer uses it";
  ASSERT_TRUE(send->cancel());
  EXPECT_EQ(end_of(*send), Status::cancelled);
  EXPECT_TRUE(client_.unregister_memory(*region));
  EXPECT_EQ(client_.unregister_memory(*region).error().code, ErrorCode::invalid_argument);
  expect_refused(tensor, ErrorCode::invalid_argument, "not registered");
}

TEST_F(Views, memory_beyond_its_region_is_refused) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto region = client_.register_memory(data_.data(), sizeof data_ - 4);
  ASSERT_TRUE(region);
  auto tensor = good();
  tensor.region = *region;
  expect_refused(tensor, ErrorCode::invalid_argument, "not inside");
  EXPECT_EQ(client_.register_memory(nullptr, 10).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(client_.register_memory(data_.data(), 0).error().code, ErrorCode::invalid_argument);
}

TEST_F(Views, options_that_contradict_themselves_are_refused) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto refused = [&](const SendOptions& options) {
    const auto send = to_server_.send_tensor(1, good(), options);
    return !send && send.error().code == ErrorCode::invalid_argument;
  };
  SendOptions options;
  options.traffic_class = TrafficClass::control;
  EXPECT_TRUE(refused(options));
  options = {};
  options.deadline = Duration::zero();
  EXPECT_TRUE(refused(options));
  options = {};
  options.loss_budget = 8;
  EXPECT_TRUE(refused(options)) << "a loss budget without bounded_loss";
  options.reliability = Reliability::bounded_loss;
  EXPECT_TRUE(refused(options)) << "bounded_loss without a deadline";
  options.deadline = seconds(1);
  options.loss_budget = 49;
  EXPECT_TRUE(refused(options)) << "more than there is";
  ReceiveOptions late;
  late.deadline = milliseconds(-1);
  std::array<float, 12> target{};
  const auto receive =
      to_server_.recv_tensor(1, bytes_view(static_cast<void*>(target.data()), 48), late);
  EXPECT_EQ(receive.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace longhaul::tests
