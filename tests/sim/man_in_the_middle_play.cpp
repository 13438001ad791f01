// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/man_in_the_middle_play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/sim/memory.hpp"
#include "tests/support/certificates.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Completion::Kind;

constexpr std::uint16_t kPort = 5201;
constexpr std::uint64_t kBeforeSeed = 50'000'017;  // what a destination holds before
constexpr Duration kLimit = seconds(120);
// DESIGN: what a transfer may take while few packets are touched, in multiples of its time without.
constexpr double kSlowdownMax = 3;
constexpr double kFewTouched = 0.05;
constexpr double kHalfOfThem = 0.5;
// A transfer of one packet has no second one to show that the first was lost: what the protocol
// waits for an answer, once or twice more, is not in its clean time.
constexpr Duration kAnswerWait = milliseconds(1000);
// What player, simulator and the man himself keep beyond packets on the wire.
constexpr std::uint64_t kHarnessBytes = 16 << 20;

/// Keys of both ends. Files, as the public configuration wants certificates.
class Keys {
 public:
  explicit Keys(bool certificates) {
    if (!certificates) {
      psk_ = must(generate_key("line"), "generate_key");
      return;
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "mitm-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    const tests::Authority authority;
    write("ca", authority.certificate_pem());
    for (const char* name : {"client", "server"}) {
      const auto issued = authority.issue({.name = name});
      write(name, issued.certificate_pem);
      write(std::string(name) + ".key", issued.private_key_pem);
    }
  }
  ~Keys() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  void give(EndpointConfig& config, const std::string& name) const {
    config.security.clear();
    config.psk = psk_;
    if (folder_.empty()) return;
    config.certificate_file = (folder_ / name).string();
    config.private_key_file = (folder_ / (name + ".key")).string();
    config.ca_file = (folder_ / "ca").string();
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  std::string psk_;
  std::filesystem::path folder_;
};

/// An order under way.
struct Running {
  explicit Running(const Order& of) : order(of), source(of.bytes), destination(of.bytes) {}
  const Order& order;
  TensorMemory source;
  TensorMemory destination;
  Timestamp sent_at{};
  Timestamp posted_at{};
  Status sender = Status::pending;
  Status receiver = Status::pending;
  Timestamp ended{};  // both
  Transfer receive{};
};

struct Played {
  bool connected = false;
  std::string why_not;
  std::vector<Duration> took;  // by order, from the later of its two requests
  std::vector<Status> sender;
  std::vector<Status> receiver;
  std::uint64_t client_disconnected = 0;
  std::uint64_t server_disconnected = 0;
  std::uint64_t incoming = 0;
  Duration set_up{};
  std::uint64_t heap_peak = 0;
  std::uint64_t heap_allowed = kHarnessBytes;
  std::uint32_t left_over = 0;  // connections both ends still keep long after
  ManInTheMiddle::Counts counts{};
  std::vector<std::string> wrong;  // bytes, order of statuses
};

class Player {
 public:
  Player(const MitmScenario& scenario, const Keys& keys, Plant plant)
      : scenario_(scenario),
        plant_(plant),
        heap_before_(Heap::live()),
        world_(scenario.seed, base::PayloadMode::bytes) {
    Heap::reset_peak();
    for (const Order& order : scenario.orders) running_.push_back(std::make_unique<Running>(order));
    client_host_ = world_.add_host(1);
    server_host_ = world_.add_host(2);
    world_.connect_hosts(client_host_, server_host_, link_of(scenario.line),
                         link_of(scenario.line));
    EndpointConfig config = endpoint_config(scenario.line);
    config.validate_addresses = scenario.validate_addresses;
    config.transfers_max = 64;
    config.eager_budget = 1 << 20;
    keys.give(config, "client");
    client_ = &world_.open(client_host_, config);
    keys.give(config, "server");
    server_ = &world_.open(server_host_, config);
    for (Peer* peer : {client_, server_})
      played_.heap_allowed += must(peer->endpoint().stats(), "stats").memory_budget_bytes;
    played_.heap_allowed += 3 * scenario.line.rate_bps / 8 *
                            static_cast<std::uint64_t>(scenario.line.rtt.count()) / 1'000'000'000;
  }

  Played play(bool disturbed) {
    const LineEnd client{client_host_, World::address(1, kPort)};
    const LineEnd server{server_host_, World::address(2, kPort)};
    const auto hire = [&] {
      if (disturbed)
        man_ = std::make_unique<ManInTheMiddle>(world_.network(), client, server,
                                                scenario_.seed ^ 0x6d616e, scenario_.habits);
    };
    if (scenario_.from_the_start) hire();
    if (connect()) {
      if (!scenario_.from_the_start) hire();
      carry_out();
      sabotage(disturbed);
      collect();
    }
    finish();
    return std::move(played_);
  }

 private:
  bool run_until(const std::function<bool()>& done, Duration limit) {
    const Timestamp end = world_.now() + limit;
    for (;;) {
      const Timestamp next = man_ ? std::min(end, man_->next_release()) : end;
      if (next > world_.now() && world_.run_until(done, next - world_.now())) return true;
      if (man_) man_->release_due(world_.now());
      if (world_.now() >= end) return done();
    }
  }
  bool connect();
  void carry_out();
  void start(Running& running, std::uint64_t tag, bool send);
  void take_ends();
  void check_bytes(Running& running, std::size_t number);
  void sabotage(bool disturbed);
  void collect();
  void finish();

  const MitmScenario& scenario_;
  Plant plant_;
  std::uint64_t heap_before_;
  std::vector<std::unique_ptr<Running>> running_;
  World world_;
  sim::HostId client_host_{};
  sim::HostId server_host_{};
  Peer* client_ = nullptr;
  Peer* server_ = nullptr;
  Connected both_;
  std::unique_ptr<ManInTheMiddle> man_;
  Bytes hoard_;
  Played played_;
};

bool Player::connect() {
  must(server_->endpoint().listen(), "listen");
  const Timestamp begin = world_.now();
  both_.client = must(client_->endpoint().connect_async(World::address(2, kPort), ConnectOptions{}),
                      "connect");
  (void)run_until([&] { return client_->count(Kind::connected) != 0; }, seconds(15));
  played_.connected = both_.client.status() == Status::completed;
  played_.why_not = fmt::format("{}: {}", to_string(both_.client.status()), both_.client.reason());
  played_.set_up = world_.now() - begin;
  if (!played_.connected) return false;
  // The last one is the client's: an attempt that was disturbed may have left another.
  (void)run_until([&] { return server_->count(Kind::incoming) != 0; }, seconds(1));
  while (auto accepted = server_->endpoint().accept()) both_.server = std::move(*accepted);
  if (both_.server.valid()) return true;
  played_.connected = false;
  played_.why_not = "the server knows nothing of it";
  return false;
}

void Player::start(Running& running, std::uint64_t tag, bool send) {
  const Order& order = running.order;
  const Connection& sending = order.from_client ? both_.client : both_.server;
  const Connection& receiving = order.from_client ? both_.server : both_.client;
  (send ? running.sent_at : running.posted_at) = world_.now();
  if (send) {
    SendOptions options = order.send;
    options.cookie = 2 * tag;
    const auto view = bytes_view(static_cast<const void*>(running.source.data()), order.bytes);
    if (!sending.send_tensor(tag, view, options)) running.sender = Status::closed;
  } else {
    ReceiveOptions options = order.receive;
    options.cookie = 2 * tag + 1;
    auto posted =
        receiving.recv_tensor(tag, bytes_view(running.destination.data(), order.bytes), options);
    if (posted)
      running.receive = *posted;
    else
      running.receiver = Status::closed;
  }
}

void Player::take_ends() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Running& running = *running_[i];
    if (running.sender != Status::pending && running.receiver != Status::pending) continue;
    Peer& from = running.order.from_client ? *client_ : *server_;
    Peer& to = running.order.from_client ? *server_ : *client_;
    if (const Seen* seen = from.find(Kind::transfer, 2 * (i + 1))) {
      running.sender = seen->completion.status;
      running.ended = std::max(running.ended, seen->at);
    }
    if (const Seen* seen = to.find(Kind::transfer, 2 * (i + 1) + 1)) {
      running.receiver = seen->completion.status;
      running.ended = std::max(running.ended, seen->at);
    }
  }
}

void Player::carry_out() {
  struct Action {
    Duration at;
    std::size_t number;
    bool send;
  };
  std::vector<Action> actions;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    fill(running_[i]->source.span(), scenario_.seed + i + 1);
    fill(running_[i]->destination.span(), kBeforeSeed + scenario_.seed + i);
    actions.push_back({running_[i]->order.receive_at, i, false});
    actions.push_back({running_[i]->order.send_at, i, true});
  }
  std::ranges::stable_sort(actions, {}, &Action::at);
  const Timestamp begin = world_.now();
  for (const Action& action : actions) {
    if (begin + action.at > world_.now())
      (void)run_until([] { return false; }, begin + action.at - world_.now());
    start(*running_[action.number], action.number + 1, action.send);
  }
  (void)run_until(
      [&] {
        take_ends();
        return std::ranges::all_of(running_, [](const auto& running) {
          return running->sender != Status::pending && running->receiver != Status::pending;
        });
      },
      kLimit);
}

// Whatever became of it, a byte is the sender's or what was there before.
void Player::check_bytes(Running& running, std::size_t number) {
  const auto source = running.source.span();
  const auto destination = running.destination.span();
  TensorMemory before(running.order.bytes);
  fill(before.span(), kBeforeSeed + scenario_.seed + number);
  std::vector<ByteRange> arrived;
  if (running.receiver == Status::completed) arrived.push_back({0, running.order.bytes});
  if (running.receiver == Status::completed_partial) arrived = running.receive.received_ranges();
  Peer& to = running.order.from_client ? *server_ : *client_;
  for (const Seen& seen : to.seen()) {
    if (seen.completion.kind == Kind::verified && seen.completion.cookie == 2 * number + 3)
      arrived.push_back(seen.completion.range);
  }
  for (const ByteRange& range : arrived) {
    if (!std::ranges::equal(source.subspan(range.begin, range.end - range.begin),
                            destination.subspan(range.begin, range.end - range.begin)))
      played_.wrong.push_back(
          fmt::format("order {}: wrong bytes in [{}, {})", number, range.begin, range.end));
  }
  for (std::size_t at = 0; at < destination.size(); ++at) {
    if (destination[at] == source[at] || destination[at] == before.span()[at]) continue;
    played_.wrong.push_back(fmt::format("order {}: byte {} is nobody's", number, at));
    break;
  }
}

void Player::sabotage(bool disturbed) {
  if (!disturbed) return;
  if (plant_ == Plant::byte) running_.front()->destination.data()[0] ^= std::byte{0x55};
  if (plant_ == Plant::close) (void)both_.server.close("planted");
  if (plant_ == Plant::slow)
    for (const auto& running : running_) running->ended += kLimit;
  if (plant_ == Plant::memory) hoard_.resize(played_.heap_allowed + kHarnessBytes);
  if (plant_ == Plant::close) (void)run_until([] { return false; }, seconds(1));
}

void Player::collect() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Running& running = *running_[i];
    played_.sender.push_back(running.sender);
    played_.receiver.push_back(running.receiver);
    played_.took.push_back(running.ended - std::max(running.sent_at, running.posted_at));
    check_bytes(running, i);
    if (running.sender == Status::completed && running.receiver != Status::completed)
      played_.wrong.push_back(fmt::format("order {}: the sender has completed, the receiver has {}",
                                          i, to_string(running.receiver)));
    for (const Status status : {running.sender, running.receiver}) {
      if (status == Status::corrupt || status == Status::internal || status == Status::pending)
        played_.wrong.push_back(fmt::format("order {} ended {}", i, to_string(status)));
    }
  }
}

void Player::finish() {
  // What he still holds back may come now.
  (void)run_until([] { return false; }, seconds(1));
  played_.client_disconnected = client_->count(Kind::disconnected);
  played_.server_disconnected = server_->count(Kind::disconnected);
  played_.incoming = server_->count(Kind::incoming);
  if (man_) {
    played_.counts = man_->counts();
    man_->rest();
  }
  played_.heap_peak = Heap::peak() - std::min(Heap::peak(), heap_before_);
  (void)both_.client.close();
  // A draining end stays for three of its PTOs, and he has made those long.
  world_.run_for(seconds(60));
  for (Peer* peer : {client_, server_})
    played_.left_over += must(peer->endpoint().stats(), "stats").connections;
}

class Judge {
 public:
  Judge(const MitmScenario& scenario, const Played& clean, const Played& disturbed)
      : scenario_(scenario), clean_(clean), disturbed_(disturbed) {}

  std::vector<std::string> findings() {
    if (!clean_.connected) find("does not even connect alone: {}", clean_.why_not);
    for (const std::string& wrong : disturbed_.wrong) find("{}", wrong);
    if (disturbed_.heap_peak > disturbed_.heap_allowed)
      find("the heap grew by {} KiB, allowed are {}", disturbed_.heap_peak >> 10,
           disturbed_.heap_allowed >> 10);
    if (disturbed_.left_over > 0)
      find("{} connections are left over after all is said", disturbed_.left_over);
    if (scenario_.habits.rate <= kFewTouched || scenario_.speaks_only) check_life();
    if (scenario_.habits.rate <= kFewTouched && disturbed_.connected) check_times();
    return std::move(findings_);
  }

 private:
  template <typename... Arguments>
  void find(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    findings_.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void check_life() {
    if (!disturbed_.connected) {
      // Whoever is ahead of every packet can prevent a set-up that nothing protects yet, but not
      // make it end before its time.
      const bool timed_out = disturbed_.why_not.starts_with(to_string(Status::timed_out));
      if (scenario_.habits.rate <= kHalfOfThem || !timed_out)
        find("did not connect: {}", disturbed_.why_not);
      return;
    }
    if (disturbed_.client_disconnected > 0) find("the client's connection ended");
    if (disturbed_.server_disconnected > (scenario_.speaks_only ? 0 : disturbed_.incoming - 1))
      find("the server's connection ended");
    if (scenario_.speaks_only && disturbed_.incoming != 1)
      find("the server has seen {} connections", disturbed_.incoming);
  }

  void check_times() {
    for (std::size_t i = 0; i < scenario_.orders.size(); ++i) {
      const Duration most =
          std::chrono::duration_cast<Duration>(clean_.took[i] * kSlowdownMax) + kAnswerWait;
      const auto& order = scenario_.orders[i];
      const bool hurried = (order.send.deadline && *order.send.deadline < most) ||
                           (order.receive.deadline && *order.receive.deadline < most);
      if (hurried || clean_.receiver[i] != Status::completed) continue;
      const bool partial = order.send.reliability != Reliability::exact &&
                           disturbed_.receiver[i] == Status::completed_partial;
      if (partial) continue;
      if (disturbed_.receiver[i] != Status::completed || disturbed_.sender[i] != Status::completed)
        find("order {} of {} bytes ended {} at the sender and {} at the receiver", i, order.bytes,
             to_string(disturbed_.sender[i]), to_string(disturbed_.receiver[i]));
      else if (disturbed_.took[i] > most)
        find("order {} of {} bytes took {} ms instead of {}", i, order.bytes,
             disturbed_.took[i].count() / 1'000'000, clean_.took[i].count() / 1'000'000);
    }
  }

  const MitmScenario& scenario_;
  const Played& clean_;
  const Played& disturbed_;
  std::vector<std::string> findings_;
};

void describe(const MitmScenario& scenario, const Played& clean, const Played& disturbed) {
  const auto ms = [](Duration duration) { return static_cast<double>(duration.count()) / 1e6; };
  fmt::print("  rate {} by up to {} {} {}, {} Mbit/s, {} ms, MTU {}, {}{}\n", scenario.habits.rate,
             scenario.habits.burst, scenario.speaks_only ? "speaks only" : "does everything",
             scenario.from_the_start ? "from the start" : "once connected",
             scenario.line.rate_bps / 1'000'000, ms(scenario.line.rtt), scenario.line.mtu,
             scenario.certificates ? "certificates" : "psk",
             scenario.validate_addresses ? "" : ", addresses not validated");
  fmt::print("  set-up {:.1f} ms instead of {:.1f} ({}), {} incoming, heap {} KiB of {}\n",
             ms(disturbed.set_up), ms(clean.set_up), disturbed.why_not, disturbed.incoming,
             disturbed.heap_peak >> 10, disturbed.heap_allowed >> 10);
  fmt::print("  {} passed; dropped {}, edited {}, delayed {}, replayed {}, injected {}\n",
             disturbed.counts.passed, disturbed.counts.tricks[0], disturbed.counts.tricks[1],
             disturbed.counts.tricks[2], disturbed.counts.tricks[3], disturbed.counts.tricks[4]);
  for (std::size_t i = 0; i < disturbed.took.size() && i < clean.took.size(); ++i)
    fmt::print("  order {}: {} bytes, {:.1f} ms instead of {:.1f}, {} / {}\n", i,
               scenario.orders[i].bytes, ms(disturbed.took[i]), ms(clean.took[i]),
               to_string(disturbed.sender[i]), to_string(disturbed.receiver[i]));
}

}  // namespace

Plant plant_called(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"nothing", "byte", "close", "slow", "memory"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) throw std::runtime_error("nothing of that name can be planted");
  return static_cast<Plant>(found - kNames.begin());
}

std::vector<std::string> play_mitm(const MitmScenario& scenario, Plant plant, bool verbose) {
  const Keys keys(scenario.certificates);
  const Played clean = Player(scenario, keys, Plant::nothing).play(false);
  const Played disturbed = Player(scenario, keys, plant).play(true);
  if (verbose) describe(scenario, clean, disturbed);
  return Judge(scenario, clean, disturbed).findings();
}

}  // namespace longhaul::simtest
