// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/runner.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "lib/base/random.hpp"
#include "tests/sim/memory.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint8_t kClientHost = 1;
constexpr std::uint8_t kServerHost = 2;
constexpr std::uint16_t kPort = 5201;
constexpr std::uint64_t kSourceSeed = 1;
constexpr std::uint64_t kBeforeSeed = 50'000'017;  // what the destination holds before
constexpr int kGrowSteps = 20;
// What runner, simulator and test keep beyond packets on the wire.
constexpr std::uint64_t kHarnessBytes = 16 * kMiB;
constexpr Duration kGarbageInterval = microseconds(100);
constexpr Duration kSampleInterval = microseconds(500);

std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// One load's memory and handles.
struct Running {
  Running(const Load& of, std::uint64_t receive_size)
      : load(of),
        receive_bytes(receive_size),
        stride(rounded(std::max(of.bytes, receive_size))),
        source(stride * of.count),
        destination(stride * of.count),
        sends(of.count),
        receives(of.count) {}

  std::span<std::byte> source_of(std::uint32_t n) const {
    return source.span().subspan(stride * n, stride);
  }
  std::span<std::byte> destination_of(std::uint32_t n) const {
    return destination.span().subspan(stride * n, stride);
  }

  const Load& load;
  std::uint64_t receive_bytes;
  std::uint64_t stride;
  TensorMemory source;
  TensorMemory destination;
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  std::size_t first_request = 0;
};

class Player {
 public:
  Player(const Scenario& scenario, base::PayloadMode mode)
      : scenario_(scenario), mode_(mode), heap_before_(Heap::live()), world_(scenario.seed, mode) {
    Heap::reset_peak();
    make_memory();
    open();
  }

  Outcome play() {
    connect_both();
    world_.run_for(scenario_.line.rtt / 5);
    schedule();
    run_schedule();
    collect();
    return std::move(outcome_);
  }

 private:
  struct Action {
    Duration at;
    std::function<void()> run;
  };

  void make_memory();
  void open();
  void connect_both();
  void set_line(const Line& line, netmodel::LinkConfig there, netmodel::LinkConfig back);
  void schedule();
  void schedule_load(std::size_t index);
  void run_schedule();
  void run_to(Duration at, bool stop_when_done);
  void apply(const Change& change);
  void send(std::size_t load, std::uint32_t n);
  void receive(std::size_t load, std::uint32_t n);
  void inject_garbage();
  bool all_done() const;
  void observe();
  void collect();
  void collect_request(Running& running, std::uint32_t n);
  bool bytes_equal(const Running& running, std::uint32_t n, RequestOutcome& request) const;
  Duration since_start(Timestamp at) const { return at - start_; }
  Peer& sender_of(const Load& load) { return load.way == Way::there ? *client_ : *server_; }
  Peer& receiver_of(const Load& load) { return load.way == Way::there ? *server_ : *client_; }
  Connection& sending(const Load& load) {
    return load.way == Way::there ? both_.client : both_.server;
  }
  Connection& receiving(const Load& load) {
    return load.way == Way::there ? both_.server : both_.client;
  }

  const Scenario& scenario_;
  base::PayloadMode mode_;
  std::uint64_t heap_before_;
  std::vector<Running> running_;
  World world_;
  sim::HostId client_host_{};
  sim::HostId server_host_{};
  Peer* client_ = nullptr;
  Peer* server_ = nullptr;
  Connected both_;
  ConnectionStats client_before_{};
  netmodel::LinkStats there_before_{};
  netmodel::LinkStats back_before_{};
  Timestamp start_{};
  std::vector<Action> actions_;
  bool garbage_ = false;
  base::Random garbage_random_{7};
  std::uint64_t expected_ = 0;  // terminal completions of a transfer
  Outcome outcome_;
};

void Player::make_memory() {
  running_.reserve(scenario_.loads.size());
  std::size_t first = 0;
  for (const Load& load : scenario_.loads) {
    const std::uint64_t receive = load.receive_bytes == kSame ? load.bytes : load.receive_bytes;
    Running& running = running_.emplace_back(load, receive);
    running.first_request = first;
    first += load.count;
    expected_ += load.count * (load.posted ? 2u : 1u);
    if (mode_ == base::PayloadMode::reference) continue;
    for (std::uint32_t n = 0; n < load.count; ++n) {
      fill(running.source_of(n), kSourceSeed + load.tag * 100'003 + n);
      fill(running.destination_of(n), kBeforeSeed + load.tag * 100'003 + n);
    }
  }
}

void Player::open() {
  client_host_ = world_.add_host(kClientHost, scenario_.interface_mtu);
  server_host_ = world_.add_host(kServerHost, scenario_.interface_mtu);
  EndpointConfig config = endpoint_config(scenario_.line);
  config.mtu_max = scenario_.interface_mtu;
  config.mtu_base = std::min(scenario_.mtu_base, scenario_.interface_mtu);
  config.peer_timeout = scenario_.peer_timeout;
  config.heartbeat = scenario_.heartbeat;
  config.controller = scenario_.controller;
  if (scenario_.controller != "fixed") config.rate_bps = 0;
  if (scenario_.connect_under_faults) {
    set_line(scenario_.line, scenario_.there, scenario_.back);
  } else {
    set_line(scenario_.line, {}, {});
  }
  client_ = &world_.open(client_host_, config);
  server_ = &world_.open(server_host_, config);
}

void Player::connect_both() {
  both_ = connect(world_, *client_, *server_, World::address(kServerHost, kPort), scenario_.settle);
  outcome_.heap_allowed = kHarnessBytes;
  for (Peer* peer : {client_, server_}) {
    outcome_.heap_allowed += must(peer->endpoint().stats(), "stats").memory_budget_bytes;
  }
  const std::uint64_t on_the_wire = scenario_.line.rate_bps / 8 *
                                    static_cast<std::uint64_t>(scenario_.line.rtt.count()) /
                                    1'000'000'000;
  outcome_.heap_allowed += 3 * on_the_wire;
}

void Player::set_line(const Line& line, netmodel::LinkConfig there, netmodel::LinkConfig back) {
  for (netmodel::LinkConfig* link : {&there, &back}) {
    for (netmodel::DownTime& down : link->down) {
      down.from = start_ + down.from.time_since_epoch();
      down.to = start_ + down.to.time_since_epoch();
    }
  }
  world_.connect_hosts(client_host_, server_host_, link_of(line, std::move(there)),
                       link_of(line, std::move(back)));
}

void Player::schedule() {
  start_ = world_.now() + scenario_.line.rtt * 6 / 5;
  set_line(scenario_.line, scenario_.there, scenario_.back);
  client_before_ = must(both_.client.stats(), "stats of the client");
  there_before_ = world_.network().link_stats(client_host_, server_host_);
  back_before_ = world_.network().link_stats(server_host_, client_host_);
  for (std::size_t i = 0; i < running_.size(); ++i) schedule_load(i);
  for (const Change& change : scenario_.changes) {
    actions_.push_back({change.at, [this, &change] { apply(change); }});
  }
  std::stable_sort(actions_.begin(), actions_.end(),
                   [](const Action& a, const Action& b) { return a.at < b.at; });
}

void Player::schedule_load(std::size_t index) {
  const Load& load = running_[index].load;
  const Duration posted = load.receive_at.value_or(since_start(world_.now()));
  for (std::uint32_t n = 0; n < load.count; ++n) {
    if (load.posted) actions_.push_back({posted, [this, index, n] { receive(index, n); }});
    actions_.push_back({load.send_at, [this, index, n] { send(index, n); }});
    if (!load.send.growing) continue;
    for (int step = 1; step <= kGrowSteps; ++step) {
      const std::uint64_t ready = load.bytes * static_cast<std::uint64_t>(step) / kGrowSteps;
      actions_.push_back(
          {load.send_at + load.grow_over * step / kGrowSteps,
           [this, index, n, ready] { must(running_[index].sends[n].ready(ready), "ready"); }});
    }
  }
}

void Player::run_schedule() {
  for (const Action& action : actions_) {
    run_to(action.at, false);
    action.run();
  }
  run_to(scenario_.limit, true);
}

void Player::run_to(Duration at, bool stop_when_done) {
  const auto done = [&] {
    observe();
    return stop_when_done && all_done();
  };
  while (since_start(world_.now()) < at) {
    const Duration left = at - since_start(world_.now());
    if (!garbage_) {
      world_.run_until(done, left);
      return;
    }
    if (world_.run_until(done, std::min(left, kGarbageInterval))) return;
    inject_garbage();
  }
}

void Player::apply(const Change& change) {
  using What = Change::What;
  switch (change.what) {
    case What::line:
      return set_line(change.line, change.there, change.back);
    case What::suspend_server:
      return world_.simulation().suspend(server_->endpoint());
    case What::resume_server:
      return world_.simulation().resume(server_->endpoint());
    case What::rebind_client:
      return world_.network().rebind(client_host_, kPort, World::address(77, 40001));
    case What::rebind_port:
      return world_.network().rebind(client_host_, kPort, World::address(kClientHost, 40002));
    case What::cancel_sends:
      for (Running& running : running_) {
        for (Transfer& transfer : running.sends) must(transfer.cancel(), "cancel");
      }
      return;
    case What::cancel_receives:
      for (Running& running : running_) {
        for (Transfer& transfer : running.receives) must(transfer.cancel(), "cancel");
      }
      return;
    case What::close_client:
      return must(both_.client.close("scenario"), "close");
    case What::close_server:
      return must(both_.server.close("scenario"), "close");
    case What::inject_garbage:
      garbage_ = true;
      return;
  }
}

netmodel::LinkStats since(const netmodel::LinkStats& before, netmodel::LinkStats now) {
  now.offered -= before.offered;
  now.lost -= before.lost;
  now.corrupted -= before.corrupted;
  now.duplicated -= before.duplicated;
  now.reordered -= before.reordered;
  now.down_dropped -= before.down_dropped;
  return now;
}

// Views of the n-th transfer of a load, cut into its parts.
template <typename View>
std::vector<View> views(const Load& load, Dtype dtype, const std::optional<Shape>& shape,
                        std::byte* data, std::uint64_t bytes) {
  std::vector<View> parts;
  const std::uint64_t element = element_size(dtype);
  const std::uint64_t each = bytes / load.parts / element * element;
  for (std::uint32_t part = 0; part < load.parts; ++part) {
    View view;
    view.bytes = part + 1 == load.parts ? bytes - each * part : each;
    view.data = data == nullptr ? nullptr : data + each * part;
    view.dtype = dtype;
    view.shape = shape.value_or(Shape{view.bytes / element});
    parts.push_back(view);
  }
  return parts;
}

void Player::send(std::size_t index, std::uint32_t n) {
  Running& running = running_[index];
  const Load& load = running.load;
  SendOptions options = load.send;
  options.cookie = (running.first_request + n) * 2;
  std::byte* data = running.source.data();
  const auto parts =
      views<ConstTensorView>(load, load.dtype, std::nullopt,
                             data == nullptr ? data : data + running.stride * n, load.bytes);
  auto transfer = load.parts == 1 ? sending(load).send_tensor(load.tag, parts.front(), options)
                                  : sending(load).send_tensors(load.tag, parts, options);
  running.sends[n] = must(std::move(transfer), "send");
}

void Player::receive(std::size_t index, std::uint32_t n) {
  Running& running = running_[index];
  const Load& load = running.load;
  ReceiveOptions options = load.receive;
  options.cookie = (running.first_request + n) * 2 + 1;
  std::byte* data = running.destination.data();
  const auto parts =
      views<TensorView>(load, load.receive_dtype.value_or(load.dtype), load.receive_shape,
                        data == nullptr ? data : data + running.stride * n, running.receive_bytes);
  auto transfer = load.parts == 1 ? receiving(load).recv_tensor(load.tag, parts.front(), options)
                                  : receiving(load).recv_tensors(load.tag, parts, options);
  running.receives[n] = must(std::move(transfer), "receive");
}

// From strangers and from the client's own address; any length, and first bytes of every form.
void Player::inject_garbage() {
  // Small ones: the line they take away must not be what is measured.
  std::array<std::byte, 256> bytes;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(garbage_random_.next());
  const std::size_t size = garbage_random_.below(bytes.size());
  const bool stranger = garbage_random_.chance(0.5);
  world_.network().inject(
      stranger ? World::address(kClientHost, 9) : World::address(kClientHost, kPort),
      World::address(kServerHost, kPort), std::span(bytes).first(size));
}

bool Player::all_done() const {
  return client_->count(Completion::Kind::transfer) + server_->count(Completion::Kind::transfer) >=
         expected_;
}

void Player::observe() {
  if (!scenario_.expect.resume || running_.front().receives.front().valid() == false) return;
  const std::uint64_t placed = running_.front().receives.front().progress().placed;
  const Duration now = since_start(world_.now());
  auto& samples = outcome_.placed;
  if (!samples.empty() &&
      (samples.back().second == placed || now - samples.back().first < kSampleInterval)) {
    return;
  }
  samples.emplace_back(now, placed);
}

bool Player::bytes_equal(const Running& running, std::uint32_t n, RequestOutcome& request) const {
  std::vector<ByteRange> arrived;
  if (request.receiver == Status::completed) {
    arrived.push_back({0, running.load.bytes});
  } else if (request.receiver == Status::completed_partial) {
    arrived = running.receives[n].received_ranges();
  } else if (request.receiver != Status::refused) {
    return true;
  }
  request.bytes_missing = running.load.bytes;
  for (const ByteRange& range : arrived) request.bytes_missing -= range.end - range.begin;
  if (mode_ == base::PayloadMode::reference || running.stride == 0) return true;
  TensorMemory expected(running.stride);
  fill(expected.span(), kBeforeSeed + running.load.tag * 100'003 + n);
  for (const ByteRange& range : arrived) {
    std::memcpy(expected.data() + range.begin, running.source_of(n).data() + range.begin,
                range.end - range.begin);
  }
  return std::ranges::equal(expected.span(), running.destination_of(n));
}

void Player::collect_request(Running& running, std::uint32_t n) {
  const std::uint64_t cookie = (running.first_request + n) * 2;
  RequestOutcome request;
  request.load = static_cast<std::size_t>(&running - running_.data());
  const auto* sent = sender_of(running.load).find(Completion::Kind::transfer, cookie);
  const auto* received = receiver_of(running.load).find(Completion::Kind::transfer, cookie + 1);
  if (sent != nullptr) {
    request.sender = sent->completion.status;
    request.sender_ended = since_start(sent->at);
  }
  if (received != nullptr) {
    request.receiver = received->completion.status;
    request.receiver_ended = since_start(received->at);
  }
  outcome_.completion = std::max(outcome_.completion, request.receiver_ended);
  outcome_.ended = std::max({outcome_.ended, request.receiver_ended, request.sender_ended});
  request.bytes_equal = bytes_equal(running, n, request);
  outcome_.requests.push_back(request);
}

void Player::collect() {
  outcome_.heap_peak = Heap::peak() - heap_before_;
  outcome_.trace_hash = world_.network().trace_hash();
  if (scenario_.sabotage) running_.front().destination.data()[0] ^= std::byte{1};
  for (Running& running : running_) {
    for (std::uint32_t n = 0; n < running.load.count; ++n) collect_request(running, n);
  }
  sim::Network& network = world_.network();
  outcome_.there = since(there_before_, network.link_stats(client_host_, server_host_));
  outcome_.back = since(back_before_, network.link_stats(server_host_, client_host_));
  if (auto stats = both_.client.stats()) {
    outcome_.client = *stats;
    outcome_.client.packets_sent -= client_before_.packets_sent;
    outcome_.client.retransmitted_bytes -= client_before_.retransmitted_bytes;
  }
  if (auto stats = both_.server.stats()) outcome_.server = *stats;
  if (auto stats = server_->endpoint().stats()) outcome_.server_endpoint = *stats;
}

}  // namespace

Outcome play(const Scenario& scenario, base::PayloadMode mode) {
  return Player(scenario, mode).play();
}

}  // namespace longhaul::simtest
