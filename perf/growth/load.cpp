// SPDX-License-Identifier: Apache-2.0
// One side of the load of perf/growth/run: many connections or many outstanding transfers between
// two endpoints, and what they cost. The receiver posts, the sender sends, both until the time is
// over; every 100 ms a line says how far it is.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "longhaul/longhaul.hpp"

namespace {

using namespace longhaul;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Tag kTag = 1;
constexpr Duration kSample = milliseconds(100);

volatile std::sig_atomic_t stopped = 0;

struct Options {
  std::string peer;  // empty: receive
  std::string address = "0.0.0.0";
  std::string pidfile;  // empty: none
  std::string security;
  std::string key;  // empty: none
  std::uint16_t port = 5201;
  std::size_t connections = 1;
  std::size_t outstanding = 16;  // all connections together
  std::uint64_t bytes = 1 << 20;
  std::uint64_t working_set_mib = 512;
  double seconds = 4;
  std::uint64_t rtt_max_ms = 5;
  std::uint64_t rate_mbps = 0;  // of a connection; 0: cubic
};

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + to_string(result.error()));
  return std::move(*result);
}
void must(const Result<void>& result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + to_string(result.error()));
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Memory larger than any cache. Every outstanding transfer has a share of its own, so that no two
/// ever write to the same bytes, and goes through it slice by slice, again and again.
class WorkingSet {
 public:
  WorkingSet(std::uint64_t size_min, std::uint64_t slice, std::size_t shares)
      : slice_(slice), slices_(std::max<std::uint64_t>(size_min / shares / slice, 1)) {
    const std::uint64_t size = slice_ * slices_ * shares;
    void* const mapped =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("no memory for the working set");
    bytes_ = static_cast<std::byte*>(mapped);
    madvise(mapped, size, MADV_HUGEPAGE);
    for (std::uint64_t i = 0; i < size; i += 64)
      bytes_[i] = static_cast<std::byte>(i * 2654435761U >> 24);
    used_.resize(shares);
  }
  std::byte* next(std::size_t share) {
    return bytes_ + (share * slices_ + used_[share]++ % slices_) * slice_;
  }
  std::uint64_t used(std::size_t share) const { return used_[share]; }

 private:
  std::uint64_t slice_;
  std::uint64_t slices_;  // of a share
  std::byte* bytes_ = nullptr;
  std::vector<std::uint64_t> used_;
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        memory_(options.working_set_mib << 20, options.bytes, options.outstanding) {
    resident_before_ = resident_bytes();
    EndpointConfig config;
    config.local = *SocketAddress::parse(options.address, receives() ? options.port : 0);
    config.security = options.security;
    config.psk_file = options.key;
    config.rtt_max = milliseconds(options.rtt_max_ms);
    config.rate_bps = options.rate_mbps * 1'000'000;
    config.connections_max = static_cast<std::uint32_t>(options.connections);
    config.peer_timeout = seconds(10);
    endpoint_ = must(Endpoint::open(config), "open");
    budget_ = must(endpoint_.stats(), "stats").memory_budget_bytes;
  }

  void run() {
    receives() ? accept_all() : connect_all();
    for (std::size_t i = 0; i < options_.outstanding; ++i) start(i);
    const auto end = Clock::now() + std::chrono::duration<double>(options_.seconds);
    auto sample_at = Clock::now();
    std::vector<Completion> done(256);
    while (stopped == 0 && left_ < connections_.size() && (receives() || Clock::now() < end)) {
      const std::size_t count = endpoint_.poll(done);
      for (std::size_t i = 0; i < count; ++i) on_completion(done[i]);
      if (count == 0) usleep(200);
      if (Clock::now() < sample_at) continue;
      sample_at += kSample;
      sample();
    }
    print();
    endpoint_.close();
  }

 private:
  bool receives() const { return options_.peer.empty(); }

  void accept_all() {
    must(endpoint_.listen(), "listen");
    // The worker answers in order: once it does, it lets senders in.
    must(endpoint_.stats(), "stats");
    if (!options_.pidfile.empty()) std::ofstream(options_.pidfile) << getpid() << '\n';
    while (connections_.size() < options_.connections)
      connections_.push_back(must(endpoint_.accept(seconds(30)), "accept"));
  }

  void connect_all() {
    const SocketAddress remote = *SocketAddress::parse(options_.peer, options_.port);
    for (std::size_t i = 0; i < options_.connections; ++i)
      connections_.push_back(must(endpoint_.connect(remote), "connect"));
  }

  // A share goes from connection to connection, in the same order at both ends, so that fewer
  // transfers than connections use all of them in turn.
  void start(std::size_t share) {
    const std::size_t which =
        (share + memory_.used(share) * options_.outstanding) % connections_.size();
    std::byte* const memory = memory_.next(share);
    // A full mailbox is back-pressure: the worker makes room within a turn or two.
    while (!post(connections_[which], memory, share)) usleep(20);
  }

  /// False if the library asked to come back.
  bool post(const Connection& connection, std::byte* memory, std::uint64_t cookie) {
    const Shape shape{options_.bytes};
    const auto posted =
        receives()
            ? connection.recv_tensor(kTag, {memory, options_.bytes, Dtype::u8, shape},
                                     {.deadline = {}, .piece_events = false, .cookie = cookie})
            : connection.send_tensor(kTag, {memory, options_.bytes, Dtype::u8, shape},
                                     send_options(cookie));
    // The sender leaves at its end.
    if (posted || (receives() && posted.error().code == ErrorCode::closed)) return true;
    if (posted.error().code == ErrorCode::would_block) return false;
    throw std::runtime_error("post: " + to_string(posted.error()));
  }

  static SendOptions send_options(std::uint64_t cookie) {
    SendOptions options;
    options.cookie = cookie;
    return options;
  }

  void on_completion(const Completion& completion) {
    if (completion.kind == Completion::Kind::disconnected) ++left_;
    if (completion.kind != Completion::Kind::transfer) return;
    if (completion.status != Status::completed) {
      // The sender leaves at its end; only then may a receive fail.
      if (receives() && completion.status == Status::closed) return;
      throw std::runtime_error("a transfer ended " + std::string(to_string(completion.status)));
    }
    completed_bytes_ += completion.bytes;
    start(completion.cookie);
  }

  void sample() {
    const auto wall =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
    samples_.push_back({{"at", wall.count()}, {"bytes", completed_bytes_}, {"cpu", cpu_seconds()}});
    resident_peak_ = std::max(resident_peak_, resident_bytes());
  }

  void print() const {
    const nlohmann::json result = {{"samples", samples_},
                                   {"budget_bytes", budget_},
                                   {"library_bytes", resident_peak_ - resident_before_}};
    std::puts(result.dump().c_str());
    std::fflush(stdout);
  }

  Options options_;
  WorkingSet memory_;
  std::uint64_t resident_before_ = 0;
  std::uint64_t resident_peak_ = 0;
  std::uint64_t budget_ = 0;
  Endpoint endpoint_;
  std::vector<Connection> connections_;
  std::size_t left_ = 0;
  std::uint64_t completed_bytes_ = 0;
  nlohmann::json samples_ = nlohmann::json::array();
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"One side of perf/growth/run: many connections or many outstanding transfers."};
  app.add_option("--peer", options.peer, "send to this address; receive without it");
  app.add_option("--address", options.address, "local address (0.0.0.0)");
  app.add_option("--port", options.port, "UDP port of the receiver (5201)");
  app.add_option("--pidfile", options.pidfile, "receiver: written once it listens");
  app.add_option("--security", options.security, "of the packets, by name: none");
  app.add_option("--key", options.key, "pre-shared key of both sides");
  app.add_option("--connections", options.connections, "connections (1)")
      ->check(CLI::PositiveNumber);
  app.add_option("--outstanding", options.outstanding,
                 "transfers in flight, all connections together (16)");
  app.add_option("--bytes", options.bytes, "of a transfer (1 MiB)")->check(CLI::PositiveNumber);
  app.add_option("--working-set-mib", options.working_set_mib,
                 "memory the transfers go round, at least (512)");
  app.add_option("--seconds", options.seconds, "sender: how long (4)");
  app.add_option("--rtt-max-ms", options.rtt_max_ms, "round trip the tables are sized for (5)");
  app.add_option("--rate-mbps", options.rate_mbps,
                 "controller `fixed`, the rate of each connection (0: cubic)");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGTERM, [](int) { stopped = 1; });
  std::signal(SIGINT, [](int) { stopped = 1; });
  try {
    Load(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "growth_load: %s\n", error.what());
    return 1;
  }
  return 0;
}
