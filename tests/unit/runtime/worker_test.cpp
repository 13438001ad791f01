// SPDX-License-Identifier: Apache-2.0
#include "lib/runtime/worker.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "lib/crypto/secret_random.hpp"
#include "tests/support/fake_core.hpp"
#include "tests/unit/runtime/fake_backend.hpp"

namespace longhaul::runtime {
namespace {

using tests::CoreScript;
using tests::FakeBackend;

class TestOwner final : public Owner {
 public:
  explicit TestOwner(std::uint64_t transfer) : Owner(Kind::transfer, transfer) {}
};

class RecordingSink final : public EventSink {
 public:
  void adopt(std::shared_ptr<Owner> owner) override { adopted.push_back(owner->id); }
  bool on_event(endpoint::Event& event) override {
    ++offers;
    if (room == 0) return false;
    --room;
    if (const auto* transfer = std::get_if<endpoint::TransferEvent>(&event)) {
      ended.push_back(transfer->transfer);
    }
    return true;
  }
  std::size_t room = 1000;
  int offers = 0;
  std::vector<std::uint64_t> adopted;
  std::vector<std::uint64_t> ended;
};

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() { make({}); }

  void make(WorkerOptions options) {
    tests::use_script(script_);
    auto backend = std::make_unique<FakeBackend>();
    backend_ = backend.get();
    options.mailbox_capacity = 8;
    worker_ = std::make_unique<Worker>(
        std::move(backend),
        std::make_unique<endpoint::Endpoint>(EndpointConfig{},
                                             endpoint::Environment(crypto::simulated_entropy(1))),
        sink_, options);
  }
  static Request cancel(std::uint64_t transfer) {
    Request request;
    request.body = CancelRequest{1, transfer};
    return request;
  }
  static endpoint::Event end_of(std::uint64_t transfer) {
    endpoint::TransferEvent event;
    event.transfer = transfer;
    event.status = Status::cancelled;
    return event;
  }
  Timestamp at(std::int64_t microseconds) const {
    return Timestamp(std::chrono::microseconds(microseconds));
  }

  CoreScript script_;
  RecordingSink sink_;
  FakeBackend* backend_ = nullptr;
  std::unique_ptr<Worker> worker_;
};

TEST_F(WorkerTest, a_turn_without_anything_to_do_is_no_work) {
  EXPECT_FALSE(worker_->run_once(at(1)));
  EXPECT_TRUE(script_.calls.empty());
  EXPECT_EQ(worker_->next_due(), kNever);
}

TEST_F(WorkerTest, a_burst_of_datagrams_reaches_the_core_in_one_call) {
  backend_->arrivals = {"a", "b", "c"};
  EXPECT_TRUE(worker_->run_once(at(1)));
  EXPECT_EQ(script_.received, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(script_.bursts, (std::vector<std::size_t>{3}));
}

TEST_F(WorkerTest, refusals_are_asked_for_only_while_somebody_connects) {
  base::Refusal closed;
  closed.peer.port = 7;
  backend_->refusals = {closed, closed};
  worker_->run_once(at(1));
  EXPECT_TRUE(backend_->watches.empty());
  EXPECT_TRUE(script_.calls.empty());
  script_.connecting = true;
  worker_->run_once(at(2));
  worker_->run_once(at(3));
  EXPECT_EQ(script_.calls, (std::vector<std::string>{"refused 7", "refused 7"}));
  script_.connecting = false;
  backend_->refusals = {closed};
  worker_->run_once(at(4));
  EXPECT_EQ(script_.calls.size(), 2U);
  EXPECT_EQ(backend_->watches, (std::vector<bool>{true, false}));
}

TEST_F(WorkerTest, a_full_burst_may_have_left_input) {
  backend_->arrivals = {"a", "b", "c", "d", "e"};
  worker_->run_once(at(1));
  EXPECT_TRUE(worker_->input_left());
  worker_->run_once(at(1));
  EXPECT_FALSE(worker_->input_left());
  EXPECT_EQ(script_.received.size(), 5U);
}

TEST_F(WorkerTest, a_timeout_fires_when_its_time_has_come_and_not_before) {
  script_.next_timeout = at(10);
  EXPECT_FALSE(worker_->run_once(at(9)));
  EXPECT_EQ(worker_->next_due(), at(10));
  EXPECT_TRUE(worker_->run_once(at(10)));
  EXPECT_EQ(script_.calls, (std::vector<std::string>{"timeout"}));
}

TEST_F(WorkerTest, a_backend_that_holds_datagrams_back_makes_the_worker_due) {
  script_.next_timeout = at(20);
  backend_->release = at(15);
  EXPECT_EQ(worker_->next_due(), at(15));
}

TEST_F(WorkerTest, requests_are_taken_in_order_and_their_owners_are_known_first) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    Request request;
    request.owner = std::make_shared<TestOwner>(id);
    request.body = endpoint::SendRequest{1, id, 5, {}, {}};
    ASSERT_TRUE(worker_->post(std::move(request)));
  }
  ASSERT_TRUE(worker_->post(cancel(2)));
  EXPECT_TRUE(worker_->run_once(at(1)));
  EXPECT_EQ(script_.calls, (std::vector<std::string>{"send 1", "send 2", "send 3", "cancel 2"}));
  EXPECT_EQ(sink_.adopted, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(WorkerTest, a_full_mailbox_refuses_and_leaves_the_request_alone) {
  for (std::uint64_t id = 0; id < 8; ++id) ASSERT_TRUE(worker_->post(cancel(id)));
  Request request = cancel(9);
  request.owner = std::make_shared<TestOwner>(9);
  EXPECT_FALSE(worker_->post(std::move(request)));
  EXPECT_NE(request.owner, nullptr);  // NOLINT(bugprone-use-after-move): that it is not is the test
  EXPECT_TRUE(worker_->run_once(at(1)));
  EXPECT_TRUE(worker_->post(std::move(request)));
}

TEST_F(WorkerTest, deadlines_count_from_the_call_and_not_from_the_turn) {
  Request request;
  request.posted_at = at(100);
  endpoint::ReceiveRequest receive{1, 1, 5, {}, {}};
  receive.options.deadline = std::chrono::microseconds(50);
  request.body = receive;
  ASSERT_TRUE(worker_->post(std::move(request)));
  request = Request{};
  request.posted_at = at(100);
  receive.options.deadline = std::chrono::microseconds(5);
  request.body = receive;
  ASSERT_TRUE(worker_->post(std::move(request)));
  worker_->run_once(at(120));
  EXPECT_EQ(script_.deadlines,
            (std::vector<Duration>{std::chrono::microseconds(30), Duration::zero()}));
}

TEST_F(WorkerTest, everything_the_core_has_to_send_leaves_in_one_turn) {
  for (int i = 0; i < 11; ++i) script_.outgoing.push_back({std::to_string(i), {}});
  EXPECT_TRUE(worker_->run_once(at(1)));
  ASSERT_EQ(backend_->sent.size(), 11U);
  EXPECT_EQ(backend_->sent.front(), "0");
  EXPECT_EQ(backend_->sent.back(), "10");
}

TEST_F(WorkerTest, what_the_backend_does_not_take_leaves_first_next_time) {
  for (int i = 0; i < 6; ++i) script_.outgoing.push_back({std::to_string(i), {}});
  backend_->room = 3;
  EXPECT_TRUE(worker_->run_once(at(1)));
  EXPECT_EQ(backend_->sent.size(), 3U);
  EXPECT_GT(worker_->next_due(), at(1));
  EXPECT_LT(worker_->next_due(), at(1001));
  EXPECT_FALSE(worker_->run_once(at(2)));
  backend_->room = 100;
  EXPECT_TRUE(worker_->run_once(at(200)));
  EXPECT_EQ(backend_->sent, (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(worker_->next_due(), kNever);
}

TEST_F(WorkerTest, a_transfer_ends_only_after_no_slot_points_into_its_memory) {
  std::string tensor = "tensor";
  script_.outgoing.push_back({"head:", std::as_bytes(std::span(tensor))});
  script_.events.push_back(end_of(1));
  backend_->room = 0;
  worker_->run_once(at(1));
  ASSERT_EQ(sink_.ended, (std::vector<std::uint64_t>{1}));
  tensor = "XXXXXX";  // from now on the memory is the caller's
  backend_->room = 1;
  worker_->run_once(at(200));
  EXPECT_EQ(backend_->sent, (std::vector<std::string>{"head:tensor"}));
}

TEST_F(WorkerTest, without_the_bytes_a_transfer_waits_for_its_slots_to_leave) {
  WorkerOptions options;
  options.payload_mode = base::PayloadMode::reference;
  make(options);
  const std::string tensor = "tensor";
  script_.outgoing.push_back({"head:", std::as_bytes(std::span(tensor))});
  script_.events.push_back(end_of(1));
  backend_->room = 0;
  worker_->run_once(at(1));
  EXPECT_TRUE(sink_.ended.empty());
  backend_->room = 1;
  worker_->run_once(at(200));
  EXPECT_EQ(sink_.ended, (std::vector<std::uint64_t>{1}));
}

TEST_F(WorkerTest, a_transfer_ends_only_after_the_backend_let_go_of_its_memory) {
  script_.events.push_back(end_of(1));
  script_.events.push_back(end_of(2));
  backend_->holds_payload = true;
  EXPECT_FALSE(worker_->run_once(at(1)));
  EXPECT_TRUE(sink_.ended.empty());
  // Nobody wakes the worker when the last reference goes, so it looks again by itself.
  EXPECT_GT(worker_->next_due(), at(1));
  EXPECT_LT(worker_->next_due(), at(1001));
  EXPECT_FALSE(worker_->run_once(at(200)));
  EXPECT_TRUE(sink_.ended.empty());
  backend_->holds_payload = false;
  EXPECT_TRUE(worker_->run_once(at(400)));
  EXPECT_EQ(sink_.ended, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(worker_->next_due(), kNever);
}

TEST_F(WorkerTest, a_full_sink_stops_the_events_without_losing_one) {
  for (std::uint64_t id = 1; id <= 3; ++id) script_.events.push_back(end_of(id));
  sink_.room = 1;
  worker_->run_once(at(1));
  EXPECT_EQ(sink_.ended, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(script_.events.size(), 1U) << "the third must still be the core's";
  EXPECT_FALSE(worker_->run_once(at(2)));
  sink_.room = 10;
  EXPECT_TRUE(worker_->run_once(at(3)));
  EXPECT_EQ(sink_.ended, (std::vector<std::uint64_t>{1, 2, 3}));
}

struct CountingQuery final : Query {
  void answer(const QueryView& view) override { connections = view.core.stats().connections; }
  std::uint32_t connections = 0;
};

TEST_F(WorkerTest, a_query_is_answered_on_the_workers_turn) {
  const auto query = std::make_shared<CountingQuery>();
  Request request;
  request.body = QueryRequest{query};
  ASSERT_TRUE(worker_->post(std::move(request)));
  EXPECT_FALSE(query->answered());
  worker_->run_once(at(1));
  ASSERT_TRUE(query->answered());
  EXPECT_EQ(query->connections, 7U);
}

TEST_F(WorkerTest, winding_up_takes_what_was_posted_before_it_closes) {
  ASSERT_TRUE(worker_->post(cancel(1)));
  const VirtualClock clock(at(1));
  worker_->wind_up(clock, "enough", std::chrono::milliseconds(1));
  EXPECT_EQ(backend_->finishes, 1) << "what only the worker's thread can give back";
  EXPECT_EQ(script_.calls, (std::vector<std::string>{"cancel 1", "close_all enough"}));
}

TEST_F(WorkerTest, a_stop_that_comes_in_the_middle_of_a_turn_is_not_slept_through) {
  const MachineClock clock;
  std::atomic<bool> stop{false};
  // After the loop looked at `stop` and before the turn looks at the mailbox.
  backend_->on_receive = [&] {
    stop.store(true, std::memory_order_release);
    worker_->nudge();
  };
  std::thread rescue([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    backend_->wake();
  });
  worker_->run(clock, stop);
  EXPECT_EQ(backend_->sleeps, 0);
  rescue.join();
}

TEST_F(WorkerTest, a_sleeping_worker_is_woken_by_a_post) {
  const MachineClock clock;
  std::atomic<bool> stop{false};
  std::thread thread([&] { worker_->run(clock, stop); });
  for (int round = 1; round <= 20; ++round) {
    while (backend_->sleeps.load() < round) std::this_thread::yield();
    ASSERT_TRUE(worker_->post(cancel(static_cast<std::uint64_t>(round))));
  }
  while (backend_->sleeps.load() < 21) std::this_thread::yield();
  stop.store(true);
  worker_->nudge();
  thread.join();
  EXPECT_EQ(script_.calls.size(), 20U);
}

TEST_F(WorkerTest, sleep_lasts_until_the_next_deadline_at_most) {
  script_.next_timeout = at(5000);
  backend_->wake();
  worker_->sleep(at(1000), std::chrono::seconds(1));
  backend_->wake();
  worker_->sleep(at(1000), std::chrono::milliseconds(1));
  worker_->sleep(at(4990), std::chrono::seconds(1));  // too short to be slept
  EXPECT_EQ(backend_->waits,
            (std::vector<Duration>{std::chrono::milliseconds(4), std::chrono::milliseconds(1)}));
}

TEST_F(WorkerTest, sizes_the_system_refused_reach_the_core) {
  backend_->too_big = {8972, 1473};
  EXPECT_TRUE(worker_->run_once(at(1)));
  EXPECT_EQ(script_.calls, (std::vector<std::string>{"too big 8972", "too big 1473"}));
  EXPECT_FALSE(worker_->run_once(at(2)));
}

TEST_F(WorkerTest, where_round_trips_are_long_a_busy_worker_naps_between_turns) {
  const MachineClock clock;
  const auto turns_in = [&](Duration rtt) {
    script_.shortest_rtt = rtt;
    std::atomic<bool> stop{false};
    int turns = 0;
    const Timestamp end = clock.now() + std::chrono::milliseconds(30);
    backend_->on_receive = [&] {
      ++turns;
      backend_->arrivals.push_back("one, so that every turn is work");
      if (clock.now() >= end) stop.store(true);
    };
    worker_->run(clock, stop);
    return turns;
  };
  EXPECT_LE(turns_in(std::chrono::milliseconds(50)), 301);  // of 100 µs each
  EXPECT_LE(turns_in(std::chrono::milliseconds(5)), 770);   // of 39 µs
  EXPECT_EQ(backend_->sleeps, 0);
}

TEST_F(WorkerTest, a_nap_ends_with_the_next_deadline) {
  script_.shortest_rtt = std::chrono::milliseconds(50);
  script_.next_timeout = at(1030);
  const MachineClock clock;
  const Timestamp before = clock.now();
  worker_->sleep(at(1000), std::chrono::seconds(1));
  EXPECT_GE(clock.now() - before, std::chrono::microseconds(30));
  EXPECT_TRUE(backend_->waits.empty()) << "too short to be slept";
}

TEST_F(WorkerTest, a_post_that_was_not_looked_at_keeps_the_worker_awake) {
  ASSERT_TRUE(worker_->post(cancel(1)));
  worker_->sleep(at(1), std::chrono::seconds(1));
  EXPECT_TRUE(backend_->waits.empty());
}

}  // namespace
}  // namespace longhaul::runtime
