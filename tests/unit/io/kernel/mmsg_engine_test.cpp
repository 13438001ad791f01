// SPDX-License-Identifier: Apache-2.0
// What the engine does when the system refuses. The system's answers are scripted where no real
// network gives them on demand: this program's own sendmmsg stands before the C library's.
#include "lib/io/kernel/mmsg_engine.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <optional>

#include "lib/io/kernel/waker.hpp"
#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

/// What the next calls of sendmmsg answer; the real system call takes over when it is empty.
struct Answer {
  int error = 0;                    ///< fail with this, or 0 to let messages through
  std::size_t messages = SIZE_MAX;  ///< at most so many of them
};
std::deque<Answer>& script() {
  static std::deque<Answer> answers;
  return answers;
}
/// Fails with this every message that holds several datagrams.
std::optional<int>& segmentation_error() {
  static std::optional<int> error;
  return error;
}

}  // namespace
}  // namespace longhaul::io::kernel

extern "C" int sendmmsg(int socket, mmsghdr* messages, unsigned count, int flags) {
  using longhaul::io::kernel::script;
  using longhaul::io::kernel::segmentation_error;
  if (!script().empty()) {
    const auto answer = script().front();
    script().pop_front();
    if (answer.error != 0) {
      errno = answer.error;
      return -1;
    }
    count = static_cast<unsigned>(std::min<std::size_t>(count, answer.messages));
  }
  if (segmentation_error()) {
    unsigned plain = 0;
    while (plain < count && messages[plain].msg_hdr.msg_controllen == 0) ++plain;
    if (plain == 0) {
      errno = *segmentation_error();
      return -1;
    }
    count = plain;
  }
  return static_cast<int>(syscall(SYS_sendmmsg, socket, messages, count, flags));
}

namespace longhaul::io::kernel {
namespace {

using namespace std::chrono_literals;
using test::Burst;
using test::loopback;

class MmsgEngineTest : public testing::Test {
 protected:
  static Socket open_socket() {
    auto socket = Socket::open({.local = loopback(AddressFamily::ipv4)});
    EXPECT_TRUE(socket) << socket.error().context;
    return std::move(*socket);
  }

  MmsgEngineTest()
      : socket_(open_socket()),
        engine_(socket_, true, 8),
        peer_(test::open_loopback(AddressFamily::ipv4)),
        remote_(peer_->local_address()) {}

  ~MmsgEngineTest() override {
    script().clear();
    segmentation_error().reset();
  }

  /// Datagrams that go as one message each, as no two neighbours are of falling or equal size.
  Burst growing(std::size_t count) const {
    Burst burst;
    for (std::size_t i = 0; i < count; ++i) burst.add(remote_, 100 + i);
    return burst;
  }

  Burst equal(std::size_t count) const {
    Burst burst;
    for (std::size_t i = 0; i < count; ++i) burst.add(remote_, 500);
    return burst;
  }

  void expect_arrived(const Burst& burst, std::vector<std::size_t> which) {
    const auto arrivals = test::collect(*peer_, which.size());
    ASSERT_EQ(arrivals.size(), which.size());
    for (std::size_t i = 0; i < which.size(); ++i) {
      EXPECT_EQ(arrivals[i].content, burst.content(which[i])) << "arrival " << i;
    }
  }

  Socket socket_;
  MmsgEngine engine_;
  std::unique_ptr<Backend> peer_;
  SocketAddress remote_;
};

TEST_F(MmsgEngineTest, WhenTheSystemHasNoRoomThePrefixThatWentIsReported) {
  for (const int shortage : {EAGAIN, ENOBUFS, ENOMEM}) {
    script() = {{.messages = 3}, {.error = shortage}};
    const Burst burst = growing(10);
    const std::uint64_t blocked = engine_.stats().blocked;
    EXPECT_EQ(engine_.transmit(burst.datagrams()), 3U);
    EXPECT_EQ(engine_.stats().blocked, blocked + 1);
    expect_arrived(burst, {0, 1, 2});
    // The caller comes again with the rest.
    EXPECT_EQ(engine_.transmit(burst.datagrams().subspan(3)), 7U);
    expect_arrived(burst, {3, 4, 5, 6, 7, 8, 9});
  }
}

TEST_F(MmsgEngineTest, NoRoomInTheMiddleOfTrainsCountsDatagramsNotMessages) {
  Burst burst = equal(5);
  for (int i = 0; i < 4; ++i) burst.add(remote_, 600);
  script() = {{.messages = 1}, {.error = EAGAIN}};
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 5U);
  EXPECT_EQ(engine_.stats().datagrams_sent, 5U);
  expect_arrived(burst, {0, 1, 2, 3, 4});
}

TEST_F(MmsgEngineTest, APartlySentBatchGoesOnWithoutLoss) {
  script() = {{.messages = 2}, {.messages = 1}, {.messages = 4}};
  const Burst burst = growing(9);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 9U);
  EXPECT_EQ(engine_.stats().send_calls, 4U);
  expect_arrived(burst, {0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_F(MmsgEngineTest, AnUnreachableOrForbiddenDestinationCostsOnlyItsDatagram) {
  for (const int refusal : {EHOSTUNREACH, ENETUNREACH, EPERM, EACCES, EINVAL, EIO}) {
    script() = {{.messages = 1}, {.error = refusal}};
    const Burst burst = growing(4);
    const std::uint64_t errors = engine_.stats().send_errors;
    EXPECT_EQ(engine_.transmit(burst.datagrams()), 4U);
    EXPECT_EQ(engine_.stats().send_errors, errors + 1);
    expect_arrived(burst, {0, 2, 3});
  }
  EXPECT_EQ(engine_.stats().blocked, 0U);
  EXPECT_TRUE(engine_.segmentation());
}

TEST_F(MmsgEngineTest, AnUnreachableDestinationCostsItsWholeTrain) {
  Burst burst = equal(5);
  burst.add(remote_, 600);
  script() = {{.error = EHOSTUNREACH}};
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 6U);
  EXPECT_EQ(engine_.stats().send_errors, 5U);
  expect_arrived(burst, {5});
}

TEST_F(MmsgEngineTest, ARefusalOfAnEarlierDatagramDoesNotCostThisOne) {
  script() = {{.error = ECONNREFUSED}};
  const Burst burst = growing(3);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 3U);
  EXPECT_EQ(engine_.stats().send_errors, 0U);
  expect_arrived(burst, {0, 1, 2});
}

TEST_F(MmsgEngineTest, WhoCannotBeReachedIsToldOnceTheSystemHasSaidItTwice) {
  std::array<base::Refusal, 4> refused;
  const Burst burst = growing(2);
  script() = {{.error = ENETUNREACH}};
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 2U);
  socket_.watch_refusals(true);
  EXPECT_EQ(socket_.take_refusals(refused), 0U) << "nobody watched";
  const std::uint64_t errors = engine_.stats().send_errors;
  script() = {{.error = EHOSTUNREACH}};
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 2U);
  EXPECT_EQ(engine_.stats().send_errors, errors) << "an ICMP message about an earlier datagram";
  EXPECT_EQ(socket_.take_refusals(refused), 0U);
  script() = {{.error = ENETUNREACH}, {.error = ENETUNREACH}, {.error = EPERM}, {.error = EPERM}};
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 2U);
  ASSERT_EQ(socket_.take_refusals(refused), 2U);
  EXPECT_EQ(refused[0].peer, remote_);
  EXPECT_EQ(refused[0].cause, base::Hindrance::no_route);
  EXPECT_EQ(refused[1].cause, base::Hindrance::forbidden);
  script() = {{.error = EINVAL}, {.error = ENETUNREACH}, {.error = ENETUNREACH}};
  engine_.transmit(burst.datagrams());
  socket_.watch_refusals(false);
  EXPECT_EQ(socket_.take_refusals(refused), 0U) << "going away leaves nothing behind";
}

TEST_F(MmsgEngineTest, ARefusalThatRepeatsIsNotRepeatedForEver) {
  script() = {{.error = ECONNREFUSED}, {.error = ECONNREFUSED}};
  const Burst burst = growing(3);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 3U);
  EXPECT_EQ(engine_.stats().send_errors, 1U);
  expect_arrived(burst, {1, 2});
}

TEST_F(MmsgEngineTest, ATrainTheSystemRejectsGoesOutAsSingleDatagrams) {
  for (const int rejection : {EMSGSIZE, EINVAL}) {
    script() = {{.error = rejection}};
    const Burst burst = equal(5);
    EXPECT_EQ(engine_.transmit(burst.datagrams()), 5U);
    EXPECT_TRUE(engine_.segmentation());
    expect_arrived(burst, {0, 1, 2, 3, 4});
  }
  EXPECT_EQ(engine_.stats().too_big, 0U);
  EXPECT_EQ(engine_.stats().send_errors, 0U);
}

TEST_F(MmsgEngineTest, ADeviceThatCannotCutIsNotAskedAgain) {
  segmentation_error() = EIO;
  const Burst burst = equal(70);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 70U);
  EXPECT_FALSE(engine_.segmentation());
  segmentation_error().reset();
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < 70; ++i) all.push_back(i);
  expect_arrived(burst, all);
  const std::uint64_t calls = engine_.stats().send_calls;
  EXPECT_EQ(engine_.transmit(burst.datagrams().first(64)), 64U);
  EXPECT_EQ(engine_.stats().send_calls, calls + 1);
}

TEST_F(MmsgEngineTest, ATrainTheSocketCannotCutStillArrives) {
  // The kernel itself refuses to cut for a socket without checksums.
  const int on = 1;
  ASSERT_EQ(setsockopt(socket_.number(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
  const Burst burst = equal(5);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 5U);
  EXPECT_GT(engine_.stats().send_calls, 1U);
  expect_arrived(burst, {0, 1, 2, 3, 4});
}

TEST_F(MmsgEngineTest, NoRoomWhileATrainGoesOutSinglyKeepsTheRestForLater) {
  script() = {{.error = EMSGSIZE}, {.messages = 2}, {.error = EAGAIN}};
  const Burst burst = equal(5);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 2U);
  EXPECT_EQ(engine_.stats().blocked, 1U);
  expect_arrived(burst, {0, 1});
  EXPECT_EQ(engine_.transmit(burst.datagrams().subspan(2)), 3U);
  expect_arrived(burst, {2, 3, 4});
}

/// A socket that wants to hear of ICMP errors gets each of them as a failed call.
class ReportedErrorsTest : public MmsgEngineTest {
 protected:
  void SetUp() override {
    const int on = 1;
    ASSERT_EQ(setsockopt(socket_.number(), SOL_IP, IP_RECVERR, &on, sizeof(on)), 0);
    const auto gone = test::open_loopback(AddressFamily::ipv4);
    closed_ = gone->local_address();
  }

  std::size_t receive_one() {
    std::array<base::RxDatagram, 4> out;
    return engine_.receive(test::now(), out);
  }

  SocketAddress closed_;
};

TEST_F(ReportedErrorsTest, ReceiveClearsThemAndFindsTheDatagramBehind) {
  Burst refused;
  for (int i = 0; i < 3; ++i) refused.add(closed_, 10);
  EXPECT_EQ(engine_.transmit(refused.datagrams()), 3U);
  Burst answer;
  answer.add(socket_.local(), 20);
  ASSERT_EQ(peer_->transmit(test::now(), answer.datagrams()), 1U);
  EXPECT_EQ(receive_one(), 1U);
  EXPECT_EQ(receive_one(), 0U);
}

TEST_F(ReportedErrorsTest, SendingGoesOnAndLosesNothing) {
  Burst burst;
  for (std::size_t i = 0; i < 40; ++i) burst.add(i % 2 == 0 ? closed_ : remote_, 100 + i);
  EXPECT_EQ(engine_.transmit(burst.datagrams()), 40U);
  EXPECT_EQ(test::collect(*peer_, 20).size(), 20U);
}

TEST_F(ReportedErrorsTest, OnceClearedTheyNoLongerDisturb) {
  Burst refused;
  for (int i = 0; i < 3; ++i) refused.add(closed_, 10);
  EXPECT_EQ(engine_.transmit(refused.datagrams()), 3U);
  auto waker = Waker::open();
  ASSERT_TRUE(waker);
  EXPECT_EQ(waker->sleep(socket_.number(), 1s), Waker::Reason::error);
  socket_.clear_errors();
  EXPECT_EQ(waker->sleep(socket_.number(), 10ms), Waker::Reason::elapsed);
}

}  // namespace
}  // namespace longhaul::io::kernel
