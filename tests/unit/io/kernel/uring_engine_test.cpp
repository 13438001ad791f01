// SPDX-License-Identifier: Apache-2.0
// What only a ring has: a receive that ends and is armed again, results that overflow, a thread it
// belongs to, descriptors and memory shared with the kernel, sends that are not copied.
#include "lib/io/kernel/uring_engine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/io/kernel/engine_probe.hpp"
#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

using namespace std::chrono_literals;
using test::Burst;
using test::loopback;

Socket open_socket() {
  auto socket = Socket::open({.local = loopback(AddressFamily::ipv4), .coalescing = false});
  EXPECT_TRUE(socket) << socket.error().context;
  return std::move(*socket);
}

/// Opens a ring or fails the running test.
std::unique_ptr<UringEngine> open_engine(const Socket& socket, const UringOptions& options) {
  auto engine = UringEngine::open(socket, options);
  if (!engine) {
    ADD_FAILURE() << engine.error().context;
    return nullptr;
  }
  return std::move(*engine);
}

/// Receives until `count` came or nothing does for 200 ms.
std::vector<test::Bytes> drain(Engine& engine, std::size_t count, std::size_t room) {
  std::vector<test::Bytes> all;
  std::vector<base::RxDatagram> out(room);
  Timestamp last = test::now();
  while (all.size() < count && test::now() - last < 200ms) {
    const std::size_t got = engine.receive(test::now(), out);
    for (const auto& datagram : std::span(out).first(got)) {
      all.emplace_back(datagram.data.begin(), datagram.data.end());
      last = test::now();
    }
  }
  return all;
}

class UringEngineTest : public testing::Test {
 protected:
  void expect_all(Engine& engine, const Burst& burst, std::size_t room = 16) {
    const auto got = drain(engine, burst.size(), room);
    ASSERT_EQ(got.size(), burst.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], burst.content(i)) << i;
  }

  Socket socket_ = open_socket();
  std::unique_ptr<Backend> peer_ = test::open_loopback(AddressFamily::ipv4);
};

TEST_F(UringEngineTest, AReceiveThatRanOutOfBuffersIsArmedAgain) {
  const auto engine = open_engine(socket_, {.receive_messages = 2});
  ASSERT_TRUE(engine && peer_);
  Burst burst;
  for (std::size_t i = 0; i < 20; ++i) burst.add(socket_.local(), 500 + i);
  ASSERT_EQ(peer_->transmit(test::now(), burst.datagrams()), burst.size());
  expect_all(*engine, burst);
  EXPECT_GE(engine->arms(), 9U);
}

TEST_F(UringEngineTest, AReceiveStaysArmedWhileThereAreBuffers) {
  const auto engine = open_engine(socket_, {.receive_messages = 32});
  ASSERT_TRUE(engine && peer_);
  for (int round = 0; round < 20; ++round) {
    Burst burst;
    burst.add(socket_.local(), 700);
    ASSERT_EQ(peer_->transmit(test::now(), burst.datagrams()), 1U);
    expect_all(*engine, burst);
  }
  EXPECT_EQ(engine->arms(), 1U);
  // And looking for what is not there costs no call of the system.
  const std::uint64_t calls = engine->stats().receive_calls;
  std::array<base::RxDatagram, 4> out;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(engine->receive(test::now(), out), 0U);
  EXPECT_EQ(engine->stats().receive_calls, calls);
}

TEST_F(UringEngineTest, AReceiveThatAnEmptyDatagramEndedIsArmedAgain) {
  const auto engine = open_engine(socket_, {});
  ASSERT_TRUE(engine && peer_);
  Burst burst;
  for (std::size_t i = 0; i < 6; ++i) burst.add(socket_.local(), i % 2 == 0 ? 0 : 100);
  ASSERT_EQ(peer_->transmit(test::now(), burst.datagrams()), burst.size());
  expect_all(*engine, burst);
  EXPECT_GE(engine->arms(), 3U);
}

TEST_F(UringEngineTest, ResultsThatDoNotFitTheRingAreNotLost) {
  // Room for as many as there are submissions, and twice that comes in.
  const auto engine = open_engine(
      socket_,
      {.segmentation = false, .receive_messages = 256, .completions = UringRing::kSubmissions});
  ASSERT_TRUE(engine && peer_);
  Burst incoming;
  for (std::size_t i = 0; i < 250; ++i) incoming.add(socket_.local(), 300 + i);
  Burst outgoing;
  for (std::size_t i = 0; i < 100; ++i) outgoing.add(peer_->local_address(), 400 + i);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(peer_->transmit(test::now(), incoming.datagrams()), incoming.size());
    ASSERT_EQ(engine->transmit(outgoing.datagrams()), outgoing.size());
    expect_all(*engine, incoming, 256);
    const auto arrived = test::collect(*peer_, outgoing.size());
    ASSERT_EQ(arrived.size(), outgoing.size());
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      EXPECT_EQ(arrived[i].content, outgoing.content(i)) << i;
    }
  }
  EXPECT_TRUE(engine->failure().empty());
}

TEST_F(UringEngineTest, WhatArrivesWhileSendingIsNotLost) {
  const auto engine = open_engine(socket_, {.receive_messages = 8});
  ASSERT_TRUE(engine && peer_);
  std::array<base::RxDatagram, 8> out;
  ASSERT_EQ(engine->receive(test::now(), out), 0U);  // arms it
  Burst incoming;
  for (std::size_t i = 0; i < 30; ++i) incoming.add(socket_.local(), 200 + i);
  Burst outgoing;
  for (std::size_t i = 0; i < 30; ++i) outgoing.add(peer_->local_address(), 200 + i);
  ASSERT_EQ(peer_->transmit(test::now(), incoming.datagrams()), incoming.size());
  ASSERT_EQ(engine->transmit(outgoing.datagrams()), outgoing.size());
  EXPECT_TRUE(engine->pending());
  expect_all(*engine, incoming);
  EXPECT_EQ(engine->receive(test::now(), out), 0U);
  // Linked sends leave the ring's flag up with nothing behind it: no reason to stay awake, nor to
  // ask the system more than once.
  EXPECT_FALSE(engine->pending());
  const std::uint64_t calls = engine->stats().receive_calls;
  EXPECT_EQ(engine->receive(test::now(), out), 0U);
  EXPECT_LE(engine->stats().receive_calls, calls + 1);
}

TEST_F(UringEngineTest, AnotherThreadThanTheFirstIsToldSo) {
  const auto engine = open_engine(socket_, {});
  ASSERT_TRUE(engine);
  std::array<base::RxDatagram, 4> out;
  EXPECT_EQ(engine->receive(test::now(), out), 0U);
  EXPECT_TRUE(engine->failure().empty());
  std::thread([&] {
    Burst burst;
    burst.add(peer_->local_address(), 100);
    EXPECT_EQ(engine->transmit(burst.datagrams()), 0U);
  }).join();
  EXPECT_NE(engine->failure().find("another thread"), std::string::npos) << engine->failure();
}

TEST(UringBackendTest, ASecondThreadEndsTheRingAndMmsgGoesOn) {
  std::vector<std::string> lines;
  const auto backend = test::open_backend({.local = loopback(AddressFamily::ipv4),
                                           .engine = EngineChoice::io_uring,
                                           .log = [&](LogLevel level, std::string_view line) {
                                             if (level == LogLevel::warning)
                                               lines.emplace_back(line);
                                           }});
  const auto peer = test::open_loopback(AddressFamily::ipv4);
  ASSERT_TRUE(backend && peer);
  Burst burst;
  for (std::size_t i = 0; i < 10; ++i) burst.add(backend->local_address(), 100 + i);
  ASSERT_EQ(peer->transmit(test::now(), burst.datagrams()), burst.size());
  EXPECT_EQ(test::collect(*backend, burst.size()).size(), burst.size());
  EXPECT_EQ(backend->engine(), "io_uring");

  std::thread([&] {
    ASSERT_EQ(peer->transmit(test::now(), burst.datagrams()), burst.size());
    const auto arrived = test::collect(*backend, burst.size());
    ASSERT_EQ(arrived.size(), burst.size());
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      EXPECT_EQ(arrived[i].content, burst.content(i));
    }
  }).join();
  EXPECT_EQ(backend->engine(), "mmsg");
  EXPECT_EQ(backend->stats().datagrams_received, 2 * burst.size());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("another thread"), std::string::npos) << lines[0];
}

/// Opens a backend on `port`, uses it on a thread of its own, and closes it here.
void use_and_close(std::uint16_t port) {
  auto backend = test::open_backend(
      {.local = loopback(AddressFamily::ipv4, port), .engine = EngineChoice::io_uring});
  ASSERT_TRUE(backend);
  std::thread([&] {
    std::array<base::RxDatagram, 4> out;
    EXPECT_EQ(backend->receive(test::now(), out), 0U);
    backend->finish();
  }).join();
}

TEST(UringBackendTest, ThePortIsFreeAsSoonAsItIsClosed) {
  std::uint16_t port = 0;
  {
    const auto backend = test::open_backend(
        {.local = loopback(AddressFamily::ipv4), .engine = EngineChoice::io_uring});
    ASSERT_TRUE(backend);
    port = backend->local_address().port;
    std::array<base::RxDatagram, 4> out;
    EXPECT_EQ(backend->receive(test::now(), out), 0U);
  }
  for (int i = 0; i < 20; ++i) use_and_close(port);
}

TEST(UringBackendTest, ItsDescriptorsEndWithExec) {
  const auto backend = test::open_backend(
      {.local = loopback(AddressFamily::ipv4), .engine = EngineChoice::io_uring});
  ASSERT_TRUE(backend);
  int rings = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.find("io_uring") == std::string::npos) continue;
    ++rings;
    const int flags = fcntl(std::stoi(entry.path().filename()), F_GETFD);
    EXPECT_TRUE(flags >= 0 && (flags & FD_CLOEXEC) != 0) << target;
  }
  EXPECT_EQ(rings, 1);
}

TEST(UringBackendTest, AForkedChildDisturbsNothing) {
  const auto backend = test::open_backend(
      {.local = loopback(AddressFamily::ipv4), .engine = EngineChoice::io_uring});
  const auto peer = test::open_loopback(AddressFamily::ipv4);
  ASSERT_TRUE(backend && peer);
  std::array<base::RxDatagram, 4> out;
  EXPECT_EQ(backend->receive(test::now(), out), 0U);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      std::this_thread::sleep_for(5ms);
      _exit(0);
    }
    Burst burst;
    for (std::size_t i = 0; i < 50; ++i) burst.add(backend->local_address(), 1000 + i);
    ASSERT_EQ(peer->transmit(test::now(), burst.datagrams()), burst.size());
    const auto during = test::collect(*backend, burst.size());
    ASSERT_EQ(during.size(), burst.size());
    for (std::size_t i = 0; i < burst.size(); ++i) EXPECT_EQ(during[i].content, burst.content(i));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(peer->transmit(test::now(), burst.datagrams()), burst.size());
    EXPECT_EQ(test::collect(*backend, burst.size()).size(), burst.size());
  }
}

TEST(UringBackendTest, SendingWithoutACopyEndsWhereTheSystemCopiesAnyway) {
  std::vector<std::string> lines;
  const auto backend = test::open_backend(
      {.local = loopback(AddressFamily::ipv4),
       .engine = EngineChoice::io_uring_zero_copy,
       .log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); }});
  const auto peer = test::open_loopback(AddressFamily::ipv4);
  ASSERT_TRUE(backend && peer);
  EXPECT_EQ(backend->engine(), "io_uring_zero_copy");
  // Loopback copies every message; each of these is one.
  Burst burst;
  for (int i = 0; i < 4; ++i) burst.add(peer->local_address(), 40000);
  for (int round = 0; round < 100; ++round) {
    ASSERT_EQ(backend->transmit(test::now(), burst.datagrams()), burst.size());
    const auto arrived = test::collect(*peer, burst.size());
    ASSERT_EQ(arrived.size(), burst.size());
    for (std::size_t i = 0; i < burst.size(); ++i) EXPECT_EQ(arrived[i].content, burst.content(i));
  }
  EXPECT_EQ(backend->engine(), "io_uring");
  EXPECT_TRUE(backend->release_payload());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("zero copy"), std::string::npos) << lines[0];
}

TEST_F(UringEngineTest, AFirstMessageRefusedWithoutACopyIsTriedWithOne) {
  std::vector<std::string> lines;
  const auto engine = open_engine(
      socket_, {.zero_copy = true,
                .log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); }});
  ASSERT_TRUE(engine && peer_);
  // The kernel refuses to cut for a socket without checksums, with the errno it also has for what
  // it does not know.
  const int on = 1;
  ASSERT_EQ(setsockopt(socket_.number(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
  Burst burst;
  for (int i = 0; i < 8; ++i) burst.add(peer_->local_address(), 8972);
  ASSERT_EQ(engine->transmit(burst.datagrams()), burst.size());
  const auto arrived = test::collect(*peer_, burst.size());
  ASSERT_EQ(arrived.size(), burst.size());
  for (std::size_t i = 0; i < arrived.size(); ++i) EXPECT_EQ(arrived[i].content, burst.content(i));
  EXPECT_EQ(engine->stats().send_errors, 0U);
  EXPECT_EQ(engine->name(), "io_uring");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("zero copy: the system refuses it"), std::string::npos) << lines[0];
}

TEST(UringBackendTest, NoSystemCallOfTheApplicationIsInterrupted) {
  // The kernel tells every thread that ever touched a ring when it goes, by interrupting it.
  const Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event none{};
  // The rings of the tests before this one were used on this thread, and take a while to go.
  while (epoll_wait(epoll.number(), &none, 1, 200) != 0) {
  }
  int interruptions = 0;
  for (const EngineChoice engine : {EngineChoice::io_uring, EngineChoice::automatic}) {
    for (int round = 0; round < 20; ++round) {
      auto backend = test::open_backend({.local = loopback(AddressFamily::ipv4), .engine = engine});
      ASSERT_TRUE(backend);
      std::thread([&] {
        std::array<base::RxDatagram, 4> out;
        EXPECT_EQ(backend->receive(test::now(), out), 0U);
        backend->finish();
      }).join();
      backend.reset();
      epoll_event event{};
      if (epoll_wait(epoll.number(), &event, 1, 20) != 0) ++interruptions;
    }
  }
  EXPECT_EQ(interruptions, 0);
}

TEST(EngineProbeTest, MeasuresBothEnginesWithinItsTime) {
  for (const bool segmentation : {true, false}) {
    // A machine that is busy with other things may not give it its time at once.
    auto costs = measure_engines(AddressFamily::ipv4, segmentation);
    for (int i = 0; i < 50 && !costs; ++i) {
      costs = measure_engines(AddressFamily::ipv4, segmentation);
    }
    ASSERT_TRUE(costs);
    EXPECT_GT(costs->mmsg, 0U);
    EXPECT_GT(costs->io_uring, 0U);
    RecordProperty(segmentation ? "trains_mmsg_ns" : "single_mmsg_ns", std::to_string(costs->mmsg));
    RecordProperty(segmentation ? "trains_io_uring_ns" : "single_io_uring_ns",
                   std::to_string(costs->io_uring));
  }
}

TEST(EngineProbeTest, ARingHasToSaveATenth) {
  EXPECT_TRUE(is_ring_faster({.mmsg = 200, .io_uring = 180}));
  EXPECT_FALSE(is_ring_faster({.mmsg = 200, .io_uring = 181}));
  EXPECT_FALSE(is_ring_faster({.mmsg = 200, .io_uring = 250}));
}

}  // namespace
}  // namespace longhaul::io::kernel
