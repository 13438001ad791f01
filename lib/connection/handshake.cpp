// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace longhaul::connection {
namespace {

// No round trip has been measured yet: the first repeat waits long enough for most of the earth.
constexpr Duration kFirstRepeat = std::chrono::milliseconds(250);
constexpr Duration kRepeatMax = std::chrono::seconds(1);
constexpr std::uint32_t kDatagramMin = 1200;
// A server that is just being started gets this long, and a forger has to keep it up.
constexpr int kRefusalsMin = 3;
constexpr Duration kRefusedFor = std::chrono::seconds(1);

std::uint32_t milliseconds(Duration duration) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

wire::TransportParameters own_parameters(const ConnectionConfig& config) {
  const EndpointConfig& endpoint = *config.endpoint;
  wire::TransportParameters own;
  own.max_datagram = config.datagram_max;
  own.peer_timeout_ms = milliseconds(endpoint.peer_timeout);
  own.heartbeat_ms =
      milliseconds(endpoint.heartbeat.count() > 0 ? endpoint.heartbeat : endpoint.peer_timeout / 5);
  own.eager_budget = endpoint.eager_budget;
  own.eager_max =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(endpoint.eager_max, UINT32_MAX));
  own.transfers_max = endpoint.transfers_max;
  own.reset_token = config.reset_token;
  own.reference_payload = config.payload_mode == base::PayloadMode::reference;
  return own;
}

std::string in_words(const SocketAddress& address) {
  const std::string text = to_string(address);
  return fmt::format("UDP port {} of {}", address.port, text.substr(0, text.rfind(':')));
}

}  // namespace

Handshake::Handshake(const ConnectionConfig& config, Timestamp now)
    : role_(config.role),
      own_cid_(config.own_cid),
      peer_cid_(config.peer_cid),
      attempt_(config.attempt),
      peer_name_(to_string(config.remote)),
      peer_where_(in_words(config.remote)),
      own_(own_parameters(config)) {
  if (role_ == Role::client) {
    send_at_ = now;
    interval_ = kFirstRepeat;
    deadline_ = now + config.connect_timeout;
  }
}

void Handshake::fail(ErrorCode code, std::string reason) {
  if (established() || failure_) return;
  failure_ = Failure{code, std::move(reason)};
  send_at_ = deadline_ = kNever;
}

bool Handshake::read_frames(std::span<const std::byte> frames,
                            std::optional<wire::TransportParameters>& parameters) {
  std::vector<wire::Gap> scratch;
  wire::FrameReader reader(frames, scratch);
  while (const auto frame = reader.next()) {
    if (const auto* encoded = std::get_if<wire::TransportParametersFrame>(&*frame)) {
      parameters = wire::read_transport_parameters(encoded->encoded);
      if (!parameters || parameters->max_datagram < kDatagramMin) return false;
    } else if (const auto* close = std::get_if<wire::ConnectionClose>(&*frame)) {
      fail(ErrorCode::refused,
           close->reason.empty() ? "the peer refused the connection" : std::string(close->reason));
    } else if (const auto* stream = std::get_if<wire::Handshake>(&*frame)) {
      // Without authentication the stream is empty.
      if (!stream->data.empty()) return false;
    } else {
      return false;
    }
  }
  return !reader.failed();
}

bool Handshake::on_initial(std::span<const std::byte> frames) {
  std::optional<wire::TransportParameters> parameters;
  if (!read_frames(frames, parameters) || !parameters) return false;
  if (parameters->reference_payload != own_.reference_payload) return false;
  peer_ = parameters;
  answer_due_ = true;
  return true;
}

void Handshake::on_long_packet(Timestamp now, const wire::LongPacket& packet) {
  if (role_ != Role::client || established() || failure_) return;
  if (packet.header.attempt != attempt_ || packet.header.destination_id != own_cid_) return;
  heard_anything_ = true;
  if (packet.header.type == wire::LongType::retry) {
    // One retry is enough; a second would only let somebody on the way keep us busy.
    if (token_size_ > 0 || packet.header.token.empty()) return;
    token_size_ = packet.header.token.size();
    std::ranges::copy(packet.header.token, token_.begin());
    send_at_ = now;
    interval_ = kFirstRepeat;
    sent_with_present_token_ = 0;
    return;
  }
  if (packet.header.type != wire::LongType::accept) return;
  std::optional<wire::TransportParameters> parameters;
  if (!read_frames(packet.frames, parameters) || failure_ || !parameters) return;
  peer_ = parameters;
  peer_cid_ = packet.header.source_id;
  if (sent_with_present_token_ == 1) rtt_sample_ = now - last_sent_;
  send_at_ = deadline_ = kNever;
}

void Handshake::on_refusal(Timestamp now) {
  if (role_ != Role::client || established() || failure_ || heard_anything_) return;
  if (refusals_++ == 0) first_refused_at_ = now;
  if (refusals_ < kRefusalsMin || now - first_refused_at_ < kRefusedFor) return;
  fail(ErrorCode::refused,
       fmt::format("nothing listens on {} (a wrong address or port, or no server yet)",
                   peer_where_));
}

void Handshake::on_version_negotiation(std::span<const std::uint32_t> versions) {
  if (role_ != Role::client || heard_anything_) return;
  // A server that speaks our version never sends this; the packet is stray or forged.
  if (std::ranges::find(versions, wire::kVersion) != versions.end()) return;
  std::string listed;
  for (const std::uint32_t version : versions)
    listed += fmt::format("{}{:#010x}", listed.empty() ? "" : ", ", version);
  fail(ErrorCode::version_mismatch,
       fmt::format("the peer speaks version {}, we speak {:#010x}; bring both to the same release",
                   listed.empty() ? "none we know" : listed, wire::kVersion));
}

std::size_t Handshake::write_frames(std::span<std::byte> out) const {
  std::array<std::byte, 256> encoded;
  const std::size_t size = wire::write_transport_parameters(own_, encoded);
  std::size_t used =
      wire::write_frame(wire::TransportParametersFrame{std::span(encoded).first(size)}, out);
  used += wire::write_frame(wire::Handshake{}, out.subspan(used));
  return used;
}

std::size_t Handshake::write(Timestamp now, std::span<std::byte> out) {
  wire::LongHeader header;
  header.source_id = own_cid_;
  header.attempt = attempt_;
  header.number = next_number_;
  std::array<std::byte, wire::kInitialDatagramMin> frames{};
  std::size_t size = write_frames(frames);
  if (role_ == Role::server) {
    if (!answer_due_) return 0;
    answer_due_ = false;
    header.type = wire::LongType::accept;
    header.destination_id = peer_cid_;
  } else {
    if (now < send_at_) return 0;
    header.type = wire::LongType::initial;
    header.token = std::span(token_).first(token_size_);
    // The rest of the array is zero, that is, PADDING.
    size = std::max(size, wire::kInitialDatagramMin - 31 - token_size_);
    last_sent_ = now;
    ++sent_with_present_token_;
    send_at_ = now + interval_;
    interval_ = std::min(2 * interval_, kRepeatMax);
  }
  ++next_number_;
  return wire::write_long_packet(header, std::span(frames).first(size), out);
}

void Handshake::handle_timeout(Timestamp now) {
  if (now < deadline_) return;
  fail(ErrorCode::timed_out,
       heard_anything_
           ? fmt::format("{} answered but set-up did not finish in time", peer_name_)
           : fmt::format("no answer from {}: does a server listen there, and is UDP let "
                         "through?",
                         peer_name_));
}

Timestamp Handshake::next_timeout() const noexcept {
  return answer_due_ ? Timestamp::min() : std::min(send_at_, deadline_);
}

}  // namespace longhaul::connection
