// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/world.hpp"

#include <algorithm>
#include <cstring>

#include "congestion/registry.hpp"
#include "lib/base/byte_writer.hpp"
#include "lib/crypto/secret_random.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/integrity.hpp"

namespace longhaul::fuzz {
namespace {

using std::chrono::seconds;

constexpr Side kClient = 0;
constexpr Side kServer = 1;
constexpr std::byte kUntouched{0xee};
// Far more than an endpoint needs a virtual second, far less than one that spins takes.
constexpr std::uint64_t kWakeupsPerSecond = 100'000;

SocketAddress address(std::uint8_t host, std::uint16_t port) {
  SocketAddress result;
  result.bytes = {10, 0, 0, host};
  result.port = port;
  return result;
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  base::Random random(seed);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

template <typename Segment, typename Bytes>
std::vector<Segment> segments(Bytes& bytes, std::size_t parts) {
  std::vector<Segment> result;
  const std::span all(bytes);
  for (std::size_t i = 0, at = 0; i < parts; ++i) {
    const std::size_t size = i + 1 == parts ? all.size() - at : all.size() / parts;
    result.push_back({all.subspan(at, size), Dtype::u8, Shape{size}});
    at += size;
  }
  return result;
}

std::shared_ptr<crypto::Credentials> key() {
  crypto::PskKey key;
  key.identity = "fuzz";
  std::ranges::fill(key.secret.writable(), std::byte{7});
  return crypto::Credentials::from_psk(key).value();
}

}  // namespace

World::World(const Setup& setup) : one_way_(setup.one_way), secure_(setup.secure) {
  constexpr std::size_t kSlots = 16;
  heads_.resize(kSlots, std::vector<std::byte>(setup.mtu));
  slots_.resize(kSlots);
  for (std::size_t i = 0; i < kSlots; ++i) slots_[i].head = heads_[i];
  for (const Side side : {kClient, kServer}) {
    endpoint::Environment environment(crypto::simulated_entropy(2 * setup.seed + side));
    environment.make_controller = congestion::find_controller(setup.cubic ? "cubic" : "fixed");
    environment.departure_times = true;
    if (setup.secure) environment.credentials = key();
    environment.datagram_max = setup.mtu - ip_udp_overhead(AddressFamily::ipv4);
    peers_[side].address = address(static_cast<std::uint8_t>(side + 1), 1000);
    peers_[side].endpoint = std::make_unique<endpoint::Endpoint>(config(setup), environment);
  }
  peers_[kServer].endpoint->listen();
}

EndpointConfig World::config(const Setup& setup) const {
  EndpointConfig config;
  config.security = "none";
  config.rate_bps = 100'000'000;
  config.rtt_max = std::chrono::milliseconds(50);
  config.mtu_max = setup.mtu;
  config.peer_timeout = seconds(1);
  config.validate_addresses = setup.validate_addresses;
  config.transfers_max = setup.tight ? 3 : 256;
  config.eager_budget = setup.tight ? 4096 : 1u << 20;
  config.connections_max = 4;
  return config;
}

void World::connect() {
  if (peers_[kClient].connection != 0 && !broken_) return;
  harmed_ = harmed_ || epoch_ > 0;  // there may be two connections now
  ++epoch_;
  incoming_ = 0;
  broken_ = false;
  next_n_.clear();
  for (Peer& peer : peers_) peer.connection = 0;
  peers_[kClient].endpoint->connect(now_, {epoch_, peers_[kServer].address, seconds(2)});
}

std::uint64_t World::content_seed(const Posted& posted) const {
  const Side sender = posted.is_send ? posted.side : other(posted.side);
  return (std::uint64_t{posted.epoch} << 40) ^ (posted.tag << 20) ^ (*posted.n << 1) ^ sender;
}

void World::send(Side side, Tag tag, std::size_t bytes, std::size_t parts,
                 const SendOptions& options) {
  Posted posted{.side = side, .is_send = true, .tag = tag};
  posted.bytes.resize(bytes);
  posted.growing = options.growing;
  post(std::move(posted), parts, options, {});
}

void World::receive(Side side, Tag tag, std::size_t bytes, std::size_t parts,
                    const ReceiveOptions& options) {
  Posted posted{.side = side, .tag = tag};
  posted.bytes.resize(bytes, kUntouched);
  post(std::move(posted), parts, {}, options);
}

void World::post(Posted&& posted, std::size_t parts, const SendOptions& send,
                 const ReceiveOptions& receive) {
  Peer& peer = peers_[posted.side];
  if (peer.connection == 0) return;
  posted.connection = peer.connection;
  posted.epoch = epoch_;
  const Side sender = posted.is_send ? posted.side : other(posted.side);
  std::uint64_t& n = next_n_[{posted.side, {posted.tag, sender}}];
  posted.n = n;
  if (posted.is_send) fill(posted.bytes, content_seed(posted));
  const TransferId id = next_id_++;
  Posted& kept = posted_.emplace(id, std::move(posted)).first->second;
  if (kept.is_send)
    peer.endpoint->send(now_,
                        {kept.connection, id, kept.tag,
                         segments<endpoint::SendSegment>(std::as_const(kept.bytes), parts), send});
  else
    peer.endpoint->receive(now_, {kept.connection, id, kept.tag,
                                  segments<endpoint::ReceiveSegment>(kept.bytes, parts), receive});
  drain(kept.side);
  if (kept.n) ++n;
}

void World::cancel(std::size_t which) {
  if (posted_.empty()) return;
  const auto it = std::next(posted_.begin(), static_cast<std::ptrdiff_t>(which % posted_.size()));
  peers_[it->second.side].endpoint->cancel(now_, it->second.connection, it->first);
  drain(it->second.side);
}

void World::ready(std::size_t which, std::uint64_t share) {
  if (posted_.empty()) return;
  const auto it = std::next(posted_.begin(), static_cast<std::ptrdiff_t>(which % posted_.size()));
  const Posted& posted = it->second;
  if (!posted.growing) return;
  peers_[posted.side].endpoint->ready(now_, posted.connection, it->first,
                                      posted.bytes.size() * std::min<std::uint64_t>(share, 8) / 8);
  drain(posted.side);
}

void World::close(Side side) {
  if (peers_[side].connection == 0) return;
  harmed_ = true;
  peers_[side].endpoint->close(now_, peers_[side].connection, "enough");
  drain(side);
}

void World::rebind_client() {
  harmed_ = true;
  SocketAddress& address = peers_[kClient].address;
  address.port = static_cast<std::uint16_t>(address.port + 1);
}

void World::inject(Side to, std::vector<std::byte> bytes, bool forged) {
  forged_ = forged_ || (forged && !secure_);
  if (bytes.empty()) return;
  under_way_.insert({now_, {peers_[other(to)].address, peers_[to].address, std::move(bytes)}});
}

void World::replay(std::size_t which) {
  if (seen_.empty()) return;
  under_way_.insert({now_, seen_[which % seen_.size()]});
}

void World::disturb(Parcel& parcel) {
  const auto strikes = [](std::uint32_t& count) { return count > 0 && count-- > 0; };
  const std::size_t at = trouble.at % parcel.bytes.size();
  if (strikes(trouble.mark)) parcel.ecn = base::Ecn::ce;
  // One byte: any checksum of 32 bits sees it, so that this is noise and no forgery.
  if (strikes(trouble.damage)) {
    parcel.bytes[at] ^= std::byte{trouble.flip};
    harmed_ = true;
  }
  if (strikes(trouble.forge)) {
    parcel.bytes[at] ^= std::byte{trouble.flip};
    make_integrity_right(parcel.bytes);
    forged_ = forged_ || !secure_;
    harmed_ = true;
  }
}

void World::leave(const base::TxDatagram& slot, Side from) {
  Parcel parcel{peers_[from].address, slot.remote, {}, slot.ecn};
  const auto head = slot.head.first(slot.head_size);
  parcel.bytes.assign(head.begin(), head.end());
  parcel.bytes.insert(parcel.bytes.end(), slot.payload.begin(), slot.payload.end());
  require(!parcel.bytes.empty(), "no datagram is empty");
  wire::LongError error{};
  if (!wire::is_long(parcel.bytes[0])) {
    if (const auto header = wire::read_short_header(parcel.bytes))
      last_header_[other(from)] = header;
  } else if (auto packet = wire::read_long_packet(parcel.bytes, error)) {
    packet->header.token = {};
    last_long_[other(from)] = packet->header;
  }
  constexpr std::size_t kSeenMax = 64;
  if (seen_.size() < kSeenMax) seen_.push_back(parcel);
  disturb(parcel);
  if (trouble.drop > 0) {
    --trouble.drop;
    harmed_ = true;
    return;
  }
  if (partitioned_) return;
  Timestamp at = std::max(now_, slot.departure) + one_way_;
  if (trouble.delay > 0) {
    --trouble.delay;
    harmed_ = true;
    at += trouble.delay_by;
  }
  if (trouble.duplicate > 0) {
    --trouble.duplicate;
    under_way_.insert({at, parcel});
  }
  under_way_.insert({at, std::move(parcel)});
}

void World::drain(Side side) {
  endpoint::Endpoint& endpoint = *peers_[side].endpoint;
  for (std::size_t rounds = 0; const std::size_t count = endpoint.poll_transmit(now_, slots_);) {
    for (std::size_t i = 0; i < count; ++i) leave(slots_[i], side);
    require(++rounds < 10'000, "an endpoint falls silent within a moment");
  }
  take_events(side);
}

void World::take_events(Side side) {
  while (auto event = peers_[side].endpoint->poll_event()) {
    if (const auto* connection = std::get_if<endpoint::ConnectionEvent>(&*event))
      on_connection(side, *connection);
    else if (const auto* transfer = std::get_if<endpoint::TransferEvent>(&*event))
      on_end(*transfer);
  }
}

void World::on_connection(Side side, const endpoint::ConnectionEvent& event) {
  // One that was given up for the next may still be set up; nobody uses it.
  if (side == kClient && event.connection != epoch_) return;
  Peer& peer = peers_[side];
  if (event.status == Status::completed) {
    // A replayed initial may open a second one, which nobody uses and which dies of silence.
    if (side == kServer && ++incoming_ > 1) broken_ = true;
    if (peer.connection == 0) peer.connection = event.connection;
    require(!secure_ || harmed_ || side == kClient || incoming_ == 1,
            "who only speaks makes no second connection");
  } else if (peer.connection == event.connection || peer.connection == 0) {
    require(!secure_ || harmed_ || peer.connection == 0, "who only speaks ends no connection");
    peer.connection = 0;
    broken_ = true;
  }
}

void World::on_end(const endpoint::TransferEvent& event) {
  const auto it = posted_.find(event.transfer);
  require(it != posted_.end(), "only what was asked for ends");
  Posted& posted = it->second;
  require(!posted.status, "a request ends once");
  require(is_terminal(event.status), "a request ends in a terminal status");
  require(forged_ || event.status != Status::internal, "no noise breaks an invariant");
  posted.status = event.status;
  if (event.reason.starts_with("transfers_max ") || event.reason == "the connection is closed")
    posted.n.reset();
  if (!posted.is_send) check_bytes(posted, event);
}

void World::check_bytes(const Posted& receive, const endpoint::TransferEvent& event) const {
  std::uint64_t at = 0;
  for (const ByteRange& range : event.received) {
    require(range.begin >= at && range.end > range.begin && range.end <= receive.bytes.size(),
            "the map of a partial result ascends inside the tensor");
    at = range.end;
  }
  if (forged_ || !receive.n) return;
  require(event.status != Status::corrupt, "noise does not pass a checksum");
  std::vector<std::byte> expected(receive.bytes.size());
  fill(expected, content_seed(receive));
  if (event.status == Status::completed)
    require(expected == receive.bytes, "completed means every byte");
  if (event.status != Status::completed_partial) return;
  std::vector<std::byte> partial(expected.size(), kUntouched);
  for (const ByteRange& range : event.received)
    std::copy(expected.begin() + static_cast<std::ptrdiff_t>(range.begin),
              expected.begin() + static_cast<std::ptrdiff_t>(range.end),
              partial.begin() + static_cast<std::ptrdiff_t>(range.begin));
  require(partial == receive.bytes, "a partial result has the ranges it names and no others");
}

void World::deliver(Parcel& parcel) {
  const auto to = std::ranges::find(peers_, parcel.to, &Peer::address);
  if (to == peers_.end()) return;
  base::RxDatagram datagram;
  // Exactly as large as what arrived, so that a byte read behind it is seen.
  std::vector<std::byte> exact(parcel.bytes);
  exact.shrink_to_fit();
  datagram.data = exact;
  datagram.remote = parcel.from;
  datagram.received_at = now_;
  datagram.ecn = parcel.ecn;
  to->endpoint->handle_datagrams(now_, std::span(&datagram, 1));
}

void World::run(Duration time) {
  const Timestamp end = now_ + time;
  const std::uint64_t wakeups_max =
      kWakeupsPerSecond *
      (1 + static_cast<std::uint64_t>(std::chrono::duration_cast<seconds>(time).count()));
  for (std::uint64_t wakeups = 0;; ++wakeups) {
    require(wakeups < wakeups_max, "an endpoint does not spin");
    while (!under_way_.empty() && under_way_.begin()->first <= now_) {
      Parcel parcel = std::move(under_way_.begin()->second);
      under_way_.erase(under_way_.begin());
      deliver(parcel);
    }
    Timestamp next = kNever;
    for (const Side side : {kClient, kServer}) {
      peers_[side].endpoint->handle_timeout(now_);
      drain(side);
      const Timestamp due = peers_[side].endpoint->next_timeout();
      require(due > now_, "a drained endpoint wants nothing more at this moment");
      next = std::min(next, due);
    }
    if (!under_way_.empty()) next = std::min(next, under_way_.begin()->first);
    if (next > end) break;
    now_ = std::max(now_, next);
  }
  now_ = end;
}

template <typename Visit>
void World::for_each_pair(Visit visit) const {
  for (const auto& [send_id, send] : posted_) {
    if (!send.is_send || send.epoch != epoch_ || !send.n) continue;
    for (const auto& [receive_id, receive] : posted_) {
      if (receive.is_send || receive.epoch != epoch_ || receive.side == send.side) continue;
      if (receive.tag == send.tag && receive.n == send.n) visit(send, receive);
    }
  }
}

bool World::matched_have_ended() const {
  bool all = true;
  for_each_pair([&](const Posted& send, const Posted& receive) {
    all = all && send.status && receive.status;
  });
  return all;
}

void World::check_pairs() const {
  for_each_pair([](const Posted& send, const Posted& receive) {
    require(send.status != Status::completed || receive.status == Status::completed,
            "sender completed implies receiver completed");
  });
}

void World::finish() {
  trouble = {};
  partitioned_ = false;
  for (std::size_t i = 0; i < posted_.size(); ++i) ready(i, 8);
  // A lost peer is found out within this, and what is left of a few megabytes crosses.
  for (int i = 0; i < 20 && !(i >= 4 && matched_have_ended()); ++i) run(seconds(1));
  if (!forged_ && !broken_) require(matched_have_ended(), "what is matched ends while both live");
  harmed_ = true;
  for (Peer& peer : peers_) peer.endpoint->close_all(now_, "the end");
  run(seconds(3));
  for (const auto& [id, posted] : posted_)
    require(posted.status.has_value(), "every request has ended once both have closed");
  if (!forged_) check_pairs();
}

}  // namespace longhaul::fuzz
