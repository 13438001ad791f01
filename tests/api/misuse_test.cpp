// SPDX-License-Identifier: Apache-2.0
// Handles that name nothing or something that has ended, calls in the wrong state, numbers that are
// no enumerators: every call has an answer. The C interface's twin is tests/capi.
#include "tests/api/fixture.hpp"

namespace longhaul::tests {
namespace {

class Misuse : public PairTest {
 protected:
  template <typename T>
  static ErrorCode code_of(const Result<T>& result) {
    EXPECT_FALSE(result);
    return result ? ErrorCode{} : result.error().code;
  }

  // Every call that can fail, on an endpoint that is not open any more.
  void expect_closed(Endpoint& endpoint) {
    EXPECT_EQ(code_of(endpoint.listen()), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.accept()), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.accept(milliseconds(1))), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.connect(loopback(9))), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.connect_async(loopback(9))), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.register_memory(data_.data(), data_.size())), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.unregister_memory(Region{1})), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.stats()), ErrorCode::closed);
    EXPECT_EQ(code_of(endpoint.dump([](std::string_view) {})), ErrorCode::closed);
    EXPECT_EQ(endpoint.completion_fd(), -1);
    EXPECT_FALSE(endpoint.run_once());
  }
  void expect_closed(const Connection& connection) {
    const auto& source = data_;
    const ConstTensorView out = view(source);
    const TensorView in = view(data_);
    EXPECT_EQ(connection.status(), Status::closed);
    EXPECT_EQ(code_of(connection.send_tensor(1, out)), ErrorCode::closed);
    EXPECT_EQ(code_of(connection.recv_tensor(1, in)), ErrorCode::closed);
    EXPECT_EQ(code_of(connection.send_tensors(1, {&out, 1})), ErrorCode::closed);
    EXPECT_EQ(code_of(connection.recv_tensors(1, {&in, 1})), ErrorCode::closed);
    EXPECT_EQ(code_of(connection.wait_connected(milliseconds(1))), ErrorCode::closed);
  }

  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(16);
};

TEST_F(Misuse, handles_that_name_nothing_answer_every_call) {
  Endpoint endpoint;
  expect_closed(endpoint);
  Completion completion;
  EXPECT_EQ(endpoint.poll({&completion, 1}), 0U);
  const Connection connection;
  expect_closed(connection);
  EXPECT_EQ(connection.id(), 0U);
  EXPECT_EQ(code_of(connection.stats()), ErrorCode::closed);
  EXPECT_EQ(code_of(connection.close()), ErrorCode::closed);
  const Transfer transfer;
  EXPECT_EQ(transfer.id(), 0U);
  EXPECT_EQ(transfer.status(), Status::closed);
  EXPECT_EQ(code_of(transfer.wait(milliseconds(1))), ErrorCode::closed);
  EXPECT_EQ(code_of(transfer.cancel()), ErrorCode::closed);
  EXPECT_EQ(code_of(transfer.ready(1)), ErrorCode::closed);
  EXPECT_EQ(transfer.progress().bytes, 0U);
  EXPECT_TRUE(transfer.received_ranges().empty() && transfer.reason().empty());
}

TEST_F(Misuse, a_moved_from_endpoint_is_one_that_was_never_opened) {
  ASSERT_NO_FATAL_FAILURE(connect());
  Endpoint other = std::move(client_);
  expect_closed(client_);  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_TRUE(other.valid());
  EXPECT_EQ(to_server_.status(), Status::completed);
}

TEST_F(Misuse, an_endpoint_closed_twice_answers_every_call) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto receive = to_server_.recv_tensor(1, view(data_));
  ASSERT_TRUE(receive);
  client_.close();
  client_.close();
  expect_closed(client_);
  expect_closed(to_server_);
  EXPECT_TRUE(to_server_.close()) << "it has ended already";
  EXPECT_EQ(code_of(to_server_.stats()), ErrorCode::closed);
  EXPECT_EQ(receive->wait().value(), Status::closed);
  EXPECT_TRUE(receive->cancel());
  EXPECT_FALSE(receive->reason().empty());
  EXPECT_NE(client_.local_address().port, 0) << "still known";
}

TEST_F(Misuse, calls_in_the_wrong_state_say_so) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto accepted = client_.accept(kPatience);
  EXPECT_EQ(code_of(accepted), ErrorCode::invalid_argument);
  EXPECT_NE(why(accepted).find("listen()"), std::string::npos) << why(accepted);
  EXPECT_TRUE(server_.listen()) << "once is enough";
  EXPECT_FALSE(client_.run_once()) << "it has a thread of its own";
}

TEST_F(Misuse, numbers_that_are_no_enumerators_are_refused) {
  ASSERT_NO_FATAL_FAILURE(connect());
  const auto& source = data_;
  SendOptions options;
  options.reliability = static_cast<Reliability>(7);
  EXPECT_EQ(code_of(to_server_.send_tensor(1, view(source), options)), ErrorCode::invalid_argument);
  options = {};
  options.traffic_class = static_cast<TrafficClass>(9);
  EXPECT_EQ(code_of(to_server_.send_tensor(1, view(source), options)), ErrorCode::invalid_argument);
  auto tensor = view(source);
  tensor.kind = static_cast<MemoryKind>(9);
  EXPECT_EQ(code_of(to_server_.send_tensor(1, tensor)), ErrorCode::unsupported);
  EndpointConfig config = test_config();
  config.local.family = static_cast<AddressFamily>(5);
  EXPECT_EQ(code_of(Endpoint::open(config)), ErrorCode::invalid_argument);
  config = test_config();
  config.threads = static_cast<ThreadMode>(5);
  EXPECT_EQ(code_of(Endpoint::open(config)), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace longhaul::tests
