// SPDX-License-Identifier: Apache-2.0
// Two endpoints share a core and move tensors over loopback as fast as it lets them, while forged
// first packets arrive from another core, or do not. Prints what was moved and forged as JSON.
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstring>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "longhaul/longhaul.hpp"
#include "tests/support/flooder.hpp"

namespace longhaul {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(*result);
}

/// This thread's core, and that of the threads it makes from now on.
void move_to(std::size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) {
    throw std::runtime_error("there is no core " + std::to_string(core) +
                             ", and the flood needs one of its own");
  }
}

constexpr std::size_t kEndpointsCore = 0;
constexpr std::size_t kFlooderCore = 1;

struct Settings {
  std::string kind = "none";
  bool bare = false;
  std::uint64_t per_second = 100'000;
  double seconds = 3;
  std::uint64_t rate_mbps = 40'000;
};

nlohmann::json measure(const Settings& settings) {
  move_to(kEndpointsCore);
  EndpointConfig config;
  config.local = SocketAddress::parse("127.0.0.1", 0).value();
  config.psk = must(generate_key("flood"));
  config.rate_bps = settings.rate_mbps * 1'000'000;
  config.peer_timeout = std::chrono::seconds(10);
  Endpoint server = must(Endpoint::open(config));
  Endpoint client = must(Endpoint::open(config));
  if (!server.listen()) throw std::runtime_error("cannot listen");
  const Connection there = must(client.connect(server.local_address()));
  const Connection here = must(server.accept(std::chrono::seconds(5)));
  tests::Flooder flooder(config, server.local_address());
  std::vector<std::byte> source(16 << 20, std::byte{1});
  std::vector<std::byte> target(source.size());
  Tag tag = 0;
  const auto exchange = [&] {
    const Transfer receive =
        must(here.recv_tensor(++tag, bytes_view(static_cast<void*>(target.data()), target.size())));
    const Transfer send = must(
        there.send_tensor(tag, bytes_view(static_cast<const void*>(source.data()), source.size())));
    if (must(send.wait()) != Status::completed) throw std::runtime_error(send.reason());
  };
  exchange();
  if (settings.kind != "none") {
    move_to(kFlooderCore);
    flooder.start(tests::forgery_called(settings.kind), settings.per_second);
    move_to(kEndpointsCore);
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::uint64_t bytes = 0;
  while (passed() < settings.seconds) {
    exchange();
    bytes += source.size();
  }
  const double seconds = passed();
  flooder.stop();
  const EndpointStats stats = must(server.stats());
  std::uint64_t dropped = 0;
  for (const std::uint64_t count : stats.dropped) dropped += count;
  return {{"bytes", bytes},
          {"seconds", seconds},
          {"forged", settings.kind == "none" ? 0 : flooder.sent()},
          {"dropped", dropped}};
}

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// A socket somewhere on loopback that does nothing but throw away what it reads, a batch at a
/// time.
class Drain {
 public:
  Drain() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof local;
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&local), size) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&local), &size) != 0) {
      throw std::runtime_error("cannot bind a socket");
    }
    address_ = SocketAddress::parse("127.0.0.1", ntohs(local.sin_port)).value();
    for (std::size_t i = 0; i < kBatch; ++i) {
      parts_[i] = {buffers_[i].data(), buffers_[i].size()};
      messages_[i].msg_hdr.msg_iov = &parts_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  ~Drain() { ::close(socket_); }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  const SocketAddress& address() const noexcept { return address_; }
  std::uint64_t read() noexcept {
    const int count = ::recvmmsg(socket_, messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
  }

 private:
  static constexpr std::size_t kBatch = 64;
  int socket_;
  SocketAddress address_;
  std::array<std::array<std::byte, 2048>, kBatch> buffers_{};
  std::array<iovec, kBatch> parts_{};
  std::array<mmsghdr, kBatch> messages_{};
};

nlohmann::json measure_bare(const Settings& settings) {
  move_to(kEndpointsCore);
  EndpointConfig config;
  config.psk = must(generate_key("flood"));
  const auto drain = std::make_unique<Drain>();
  tests::Flooder flooder(config, drain->address());
  move_to(kFlooderCore);
  flooder.start(tests::forgery_called(settings.kind), settings.per_second);
  move_to(kEndpointsCore);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(settings.seconds);
  std::uint64_t packets = 0;
  double reading = 0;
  while (std::chrono::steady_clock::now() < end) {
    const double before = thread_seconds();
    const std::uint64_t count = drain->read();
    if (count > 0) reading += thread_seconds() - before;
    packets += count;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  flooder.stop();
  return {{"packets", packets}, {"cpu", reading}};
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  longhaul::Settings settings;
  CLI::App app("goodput of two endpoints on one core while somebody forges first packets");
  app.add_option("--kind", settings.kind, "none, nonsense, hello, token or shorts");
  app.add_flag("--bare", settings.bare, "CPU of a socket that only throws them away");
  app.add_option("--per-second", settings.per_second, "forged packets");
  app.add_option("--seconds", settings.seconds, "how long");
  app.add_option("--rate-mbps", settings.rate_mbps, "of the transfers");
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << (settings.bare ? longhaul::measure_bare(settings) : longhaul::measure(settings))
              << '\n';
  } catch (const std::exception& error) {
    std::cerr << "flood_load: " << error.what() << '\n';
    return 1;
  }
}
