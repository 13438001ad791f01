// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <set>
#include <thread>

#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

class Transfers : public PairTest {};

class Sizes : public PairTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(Sizes, arrive_unchanged_whether_posted_before_or_after) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(GetParam());
  for (const bool posted_first : {true, false}) {
    std::vector<std::uint8_t> target(source.size() + 1, 0xa5);
    const TensorView where = bytes_view(static_cast<void*>(target.data()), source.size());
    Result<Transfer> receive = fail(ErrorCode::internal);
    if (posted_first) {
      receive = to_client_.recv_tensor(1, where);
      std::this_thread::sleep_for(milliseconds(5));
    }
    const auto send = to_server_.send_tensor(1, view(source));
    ASSERT_TRUE(send) << why(send);
    if (!posted_first) {
      std::this_thread::sleep_for(milliseconds(5));
      receive = to_client_.recv_tensor(1, where);
    }
    ASSERT_TRUE(receive) << why(receive);
    EXPECT_EQ(end_of(*receive), Status::completed) << receive->reason();
    EXPECT_EQ(end_of(*send), Status::completed) << send->reason();
    EXPECT_EQ(std::memcmp(source.data(), target.data(), source.size()), 0);
    EXPECT_EQ(target.back(), 0xa5) << "written beyond the tensor";
    EXPECT_EQ(receive->progress().verified, source.size());
    EXPECT_EQ(receive->progress().bytes, source.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, Sizes,
                         ::testing::Values(0U, 1U, 3U, 1199U, 1200U, 1201U, 65535U, 65536U,
                                           (1U << 20) + 7U, 16U << 20));

TEST_F(Transfers, beyond_transfers_max_are_turned_away_and_take_no_turn) {
  ASSERT_NO_FATAL_FAILURE(connect([](EndpointConfig& config) {
    config.transfers_max = 2;
    config.eager_budget = config.eager_max = 0;
  }));
  const auto source = pattern(300);
  const auto part = [&](std::size_t i) {
    return bytes_view(static_cast<const void*>(source.data() + 100 * i), 100);
  };
  const auto first = to_server_.send_tensor(7, part(0));
  const auto second = to_server_.send_tensor(7, part(1));
  const auto turned_away = to_server_.send_tensor(7, part(2));
  ASSERT_TRUE(first && second);
  ASSERT_FALSE(turned_away);
  EXPECT_EQ(turned_away.error().code, ErrorCode::would_block);
  EXPECT_NE(turned_away.error().context.find("transfers_max"), std::string::npos);
  std::vector<std::uint8_t> target(300);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto receive =
        to_client_.recv_tensor(7, bytes_view(static_cast<void*>(target.data() + 100 * i), 100));
    ASSERT_TRUE(receive) << why(receive);
    if (i == 2) {
      EXPECT_EQ(end_of(*first), Status::completed);
      EXPECT_EQ(end_of(*second), Status::completed);
      const auto third = to_server_.send_tensor(7, part(2));
      ASSERT_TRUE(third) << why(third);
      EXPECT_EQ(end_of(*third), Status::completed);
    }
    EXPECT_EQ(end_of(*receive), Status::completed) << receive->reason();
  }
  EXPECT_EQ(target, source);
}

TEST_F(Transfers, times_without_end_do_not_end_at_once) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(100);
  std::vector<std::uint8_t> target(100);
  SendOptions patient_send;
  patient_send.deadline = Duration::max();
  ReceiveOptions patient_receive;
  patient_receive.deadline = Duration::max();
  const auto send = to_server_.send_tensor(1, view(source), patient_send);
  const auto receive = to_client_.recv_tensor(1, view(target), patient_receive);
  ASSERT_TRUE(send && receive);
  EXPECT_EQ(end_of(*send), Status::completed) << send->reason();
  EXPECT_EQ(end_of(*receive), Status::completed) << receive->reason();
  ConnectOptions patient_connect;
  patient_connect.timeout = Duration::max();
  EXPECT_TRUE(client_.connect(server_.local_address(), patient_connect));
}

TEST_F(Transfers, both_ways_at_once) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto up = pattern(3 << 20, 1);
  const auto down = pattern(2 << 20, 2);
  std::vector<std::uint8_t> up_target(up.size());
  std::vector<std::uint8_t> down_target(down.size());
  const auto receive_up = to_client_.recv_tensor(4, view(up_target));
  const auto receive_down = to_server_.recv_tensor(4, view(down_target));
  const auto send_up = to_server_.send_tensor(4, view(up));
  const auto send_down = to_client_.send_tensor(4, view(down));
  ASSERT_TRUE(receive_up && receive_down && send_up && send_down);
  for (const auto& transfer : {*receive_up, *receive_down, *send_up, *send_down}) {
    EXPECT_EQ(end_of(transfer), Status::completed) << transfer.reason();
  }
  EXPECT_EQ(up_target, up);
  EXPECT_EQ(down_target, down);
}

TEST_F(Transfers, a_list_of_300_tensors_is_one_transfer) {
  ASSERT_NO_FATAL_FAILURE(connect());
  constexpr std::size_t kTensors = 300;
  std::vector<std::vector<std::uint8_t>> sources;
  std::vector<std::vector<std::uint8_t>> targets;
  std::vector<ConstTensorView> from;
  std::vector<TensorView> to;
  for (std::size_t i = 0; i < kTensors; ++i) {
    sources.push_back(pattern(i % 7 == 0 ? 0 : i * 13 * 2, i));
    targets.emplace_back(sources.back().size());
  }
  for (std::size_t i = 0; i < kTensors; ++i) {
    ConstTensorView source = view(std::as_const(sources[i]));
    TensorView target = view(targets[i]);
    if (i % 2 == 0) {
      source.dtype = target.dtype = Dtype::bf16;
      source.shape = target.shape = Shape{sources[i].size() / 2};
    }
    from.push_back(source);
    to.push_back(target);
  }
  const auto receive = to_client_.recv_tensors(9, to);
  const auto send = to_server_.send_tensors(9, from);
  ASSERT_TRUE(receive && send) << why(receive) << why(send);
  EXPECT_EQ(end_of(*receive), Status::completed) << receive->reason();
  EXPECT_EQ(end_of(*send), Status::completed) << send->reason();
  EXPECT_EQ(targets, sources);
}

TEST_F(Transfers, the_nth_send_of_a_tag_meets_its_nth_receive) {
  ASSERT_NO_FATAL_FAILURE(connect());
  constexpr std::size_t kMany = 2000;
  std::vector<std::uint32_t> sources(kMany);
  std::vector<std::uint32_t> targets(kMany);
  std::vector<Transfer> receives;
  std::vector<Transfer> sends;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    sources[i] = i * 2654435761U;
    const Tag tag = i % 5;
    Result<Transfer> receive = fail(ErrorCode::would_block);
    while (!receive && receive.error().code == ErrorCode::would_block) {
      receive = to_client_.recv_tensor(tag, bytes_view(static_cast<void*>(&targets[i]), 4));
    }
    ASSERT_TRUE(receive) << why(receive);
    receives.push_back(*receive);
  }
  for (std::uint32_t i = 0; i < kMany; ++i) {
    Result<Transfer> send = fail(ErrorCode::would_block);
    while (!send && send.error().code == ErrorCode::would_block) {
      send = to_server_.send_tensor(i % 5, bytes_view(static_cast<const void*>(&sources[i]), 4));
    }
    ASSERT_TRUE(send) << why(send);
    sends.push_back(*send);
  }
  for (const Transfer& transfer : receives) ASSERT_EQ(end_of(transfer), Status::completed);
  for (const Transfer& transfer : sends) ASSERT_EQ(end_of(transfer), Status::completed);
  EXPECT_EQ(targets, sources);
}

TEST_F(Transfers, a_receive_that_nobody_sends_to_can_be_cancelled) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(100);
  const auto receive = to_client_.recv_tensor(1, view(target));
  ASSERT_TRUE(receive);
  EXPECT_EQ(receive->status(), Status::pending);
  ASSERT_TRUE(receive->cancel());
  EXPECT_EQ(end_of(*receive), Status::cancelled);
  EXPECT_TRUE(receive->cancel()) << "cancelling what has ended changes nothing";
}

TEST_F(Transfers, a_cancelled_send_ends_at_both_ends) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(1 << 20);
  std::vector<std::uint8_t> target(source.size());
  SendOptions options;
  options.growing = true;  // it cannot complete by itself
  const auto receive = to_client_.recv_tensor(1, view(target));
  const auto send = to_server_.send_tensor(1, view(source), options);
  ASSERT_TRUE(receive && send);
  std::this_thread::sleep_for(milliseconds(10));
  ASSERT_TRUE(send->cancel());
  EXPECT_EQ(end_of(*send), Status::cancelled);
  EXPECT_EQ(end_of(*receive), Status::cancelled);
}

TEST_F(Transfers, deadlines_end_sends_and_receives_that_meet_nobody) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(1 << 20);
  std::vector<std::uint8_t> target(100);
  ReceiveOptions receive_options;
  receive_options.deadline = milliseconds(50);
  SendOptions send_options;
  send_options.deadline = milliseconds(50);
  const auto receive = to_client_.recv_tensor(1, view(target), receive_options);
  const auto send = to_server_.send_tensor(2, view(source), send_options);
  ASSERT_TRUE(receive && send);
  EXPECT_EQ(end_of(*receive), Status::timed_out);
  EXPECT_EQ(end_of(*send), Status::timed_out);
}

TEST_F(Transfers, waiting_can_give_up_while_the_transfer_goes_on) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(4);
  const auto receive = to_client_.recv_tensor(1, view(target));
  ASSERT_TRUE(receive);
  const auto status = receive->wait(milliseconds(20));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::timed_out);
  EXPECT_EQ(receive->status(), Status::pending);
  const std::vector<std::uint8_t> source{1, 2, 3, 4};
  const auto send = to_server_.send_tensor(1, view(source));
  ASSERT_TRUE(send);
  EXPECT_EQ(end_of(*receive), Status::completed);
  EXPECT_EQ(end_of(*send), Status::completed);
  EXPECT_EQ(target, source);
}

TEST_F(Transfers, another_dtype_is_refused_at_both_ends_with_a_reason) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(4096);
  std::vector<std::uint8_t> target(4096);
  ConstTensorView from = view(source);
  from.dtype = Dtype::f32;
  from.shape = Shape{1024};
  TensorView to = view(target);
  to.dtype = Dtype::i32;
  to.shape = Shape{1024};
  const auto receive = to_client_.recv_tensor(1, to);
  const auto send = to_server_.send_tensor(1, from);
  ASSERT_TRUE(receive && send);
  EXPECT_EQ(end_of(*receive), Status::refused);
  EXPECT_EQ(end_of(*send), Status::refused);
  EXPECT_FALSE(receive->reason().empty());
  EXPECT_FALSE(send->reason().empty());
}

TEST_F(Transfers, another_shape_or_size_is_refused_at_both_ends) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(4096);
  std::vector<std::uint8_t> target(4096);
  ConstTensorView from = view(source);
  from.shape = Shape{64, 64};
  TensorView to = view(target);
  to.shape = Shape{32, 128};
  auto receive = to_client_.recv_tensor(1, to);
  auto send = to_server_.send_tensor(1, from);
  ASSERT_TRUE(receive && send);
  EXPECT_EQ(end_of(*receive), Status::refused);
  EXPECT_EQ(end_of(*send), Status::refused);
  to = bytes_view(static_cast<void*>(target.data()), 4095);
  receive = to_client_.recv_tensor(1, to);
  send = to_server_.send_tensor(1, view(source));
  ASSERT_TRUE(receive && send);
  EXPECT_EQ(end_of(*receive), Status::refused);
  EXPECT_EQ(end_of(*send), Status::refused);
}

TEST_F(Transfers, a_growing_source_goes_as_far_as_it_is_ready) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(4 << 20);
  std::vector<std::uint8_t> memory(source.size());
  std::vector<std::uint8_t> target(source.size());
  SendOptions options;
  options.growing = true;
  const auto receive = to_client_.recv_tensor(1, view(target));
  const auto send = to_server_.send_tensor(1, view(std::as_const(memory)), options);
  ASSERT_TRUE(receive && send);
  constexpr std::size_t kStep = 300'007;
  for (std::size_t at = 0; at < source.size(); at += kStep) {
    EXPECT_EQ(send->status(), Status::pending);
    const std::size_t end = std::min(at + kStep, source.size());
    std::memcpy(memory.data() + at, source.data() + at, end - at);
    ASSERT_TRUE(send->ready(end));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(end_of(*receive), Status::completed) << receive->reason();
  EXPECT_EQ(end_of(*send), Status::completed) << send->reason();
  EXPECT_EQ(target, source);
}

TEST_F(Transfers, ready_is_refused_where_it_means_nothing) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern(1000);
  SendOptions options;
  options.growing = true;
  const auto growing = to_server_.send_tensor(1, view(source), options);
  const auto whole = to_server_.send_tensor(2, view(source));
  ASSERT_TRUE(growing && whole);
  EXPECT_EQ(whole->ready(10).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(growing->ready(1001).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(growing->ready(500));
  EXPECT_EQ(growing->ready(499).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(growing->ready(500));
  client_.close();  // the source is the library's until then
}

TEST_F(Transfers, piece_events_cover_every_byte_and_precede_the_end) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto source = pattern((5 << 20) + 12345);
  std::vector<std::uint8_t> target(source.size());
  ReceiveOptions options;
  options.piece_events = true;
  options.cookie = 77;
  const auto receive = to_client_.recv_tensor(1, view(target), options);
  const auto send = to_server_.send_tensor(1, view(source));
  ASSERT_TRUE(receive && send);
  std::vector<bool> placed(source.size());
  std::vector<bool> verified(source.size());
  std::vector<Completion> batch(64);
  bool ended = false;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!ended && std::chrono::steady_clock::now() < deadline) {
    const std::size_t count = server_.poll(batch);
    for (std::size_t i = 0; i < count; ++i) {
      const Completion& completion = batch[i];
      if (completion.transfer_id != receive->id()) continue;
      EXPECT_FALSE(ended) << "an event after the end";
      EXPECT_EQ(completion.cookie, 77U);
      EXPECT_EQ(completion.tag, 1U);
      if (completion.kind == Completion::Kind::transfer) {
        EXPECT_EQ(completion.status, Status::completed);
        ended = true;
        continue;
      }
      auto& map = completion.kind == Completion::Kind::placed ? placed : verified;
      ASSERT_LE(completion.range.end, source.size());
      ASSERT_LT(completion.range.begin, completion.range.end);
      for (std::uint64_t at = completion.range.begin; at < completion.range.end; ++at) {
        map[at] = true;
      }
    }
    if (count == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::count(placed.begin(), placed.end(), false), 0);
  EXPECT_EQ(std::count(verified.begin(), verified.end(), false), 0);
  EXPECT_EQ(target, source);
  EXPECT_EQ(end_of(*send), Status::completed);
}

TEST_F(Transfers, transfers_have_different_ids) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(1);
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    const auto receive = to_client_.recv_tensor(1, view(target));
    ASSERT_TRUE(receive);
    EXPECT_NE(receive->id(), 0U);
    ids.insert(receive->id());
  }
  EXPECT_EQ(ids.size(), 100U);
  server_.close();  // the target is the library's until then
}

}  // namespace
}  // namespace longhaul::tests
