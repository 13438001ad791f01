// SPDX-License-Identifier: Apache-2.0
// What we hear, and what we believe of it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/plain_text.hpp"
#include "lib/connection/handshake.hpp"

namespace longhaul::connection {
namespace {

constexpr std::uint32_t kDatagramMin = 1200;
// A server that is just being started gets this long, and a forger has to keep it up.
constexpr int kRefusalsMin = 3;
constexpr Duration kRefusedFor = std::chrono::seconds(1);
// The next flight finds the same: an interface that comes up in between is waited for.
constexpr int kUnsentMin = 2;
constexpr Duration kUnsentFor = std::chrono::milliseconds(200);
constexpr Duration kUnprovenFor = std::chrono::milliseconds(600);
// A key that is wrong is wrong again; a conversation that somebody disturbed may go well later.
constexpr int kFailuresMin = 3;
constexpr Duration kFailuresFor = std::chrono::milliseconds(800);
constexpr Duration kAttemptPause = std::chrono::milliseconds(50);  // doubles
// A server says no for that long to a client that goes on asking.
constexpr Duration kRefuseFor = std::chrono::seconds(2);
// Each costs a server a TLS conversation.
constexpr int kAttemptsOfServer = 16;
constexpr std::size_t kTokensMax = 8;
// Parts of a flight arrive together; the answer can wait for the rest.
constexpr Duration kPartOfFlight = std::chrono::milliseconds(5);
constexpr Duration kRepeatMin = std::chrono::milliseconds(20);
constexpr std::uint64_t kAmplification = 3;  // RFC 9000 §8.1
constexpr std::size_t kVersionsSaid = 8;

constexpr const char* kNoSecurityThere =
    "the peer answered without security; give it the key too, or ask for security none at both "
    "ends";

}  // namespace

bool begins_tls(std::span<const std::byte> frames) {
  std::vector<wire::Gap> scratch;
  wire::FrameReader reader(frames, scratch);
  while (const auto frame = reader.next()) {
    const auto* stream = std::get_if<wire::Handshake>(&*frame);
    if (stream != nullptr && !stream->data.empty()) return true;
  }
  return false;
}

bool Handshake::read_frames(Timestamp now, std::span<const std::byte> frames,
                            std::optional<wire::TransportParameters>& in_the_clear) {
  std::vector<wire::Gap> scratch;
  wire::FrameReader reader(frames, scratch);
  while (const auto frame = reader.next()) {
    if (const auto* encoded = std::get_if<wire::TransportParametersFrame>(&*frame)) {
      in_the_clear = wire::read_transport_parameters(encoded->encoded);
      if (!in_the_clear || in_the_clear->max_datagram < kDatagramMin) return false;
    } else if (const auto* close = std::get_if<wire::ConnectionClose>(&*frame)) {
      on_unproven(now, ErrorCode::refused,
                  close->reason.empty() ? "the peer refused the connection"
                                        : base::plain_text(close->reason, wire::kReasonBytesMax));
    } else if (const auto* stream = std::get_if<wire::Handshake>(&*frame)) {
      if (!stream->data.empty()) unproven_ = 0;
      if (secure() ? !stream_.on_frame(*stream) : !stream->data.empty()) return false;
    } else {
      return false;
    }
  }
  return !reader.failed();
}

bool Handshake::on_initial(Timestamp now, const wire::LongPacket& packet) {
  const std::span<const std::byte> frames = packet.frames;
  // Each is answered under its own ID until TLS has said which it is: the first may be a
  // stranger's.
  if (secure() && !established()) peer_cid_ = packet.header.source_id;
  std::optional<wire::TransportParameters> in_the_clear;
  if (!secure()) {
    if (!read_frames(now, frames, in_the_clear) || !in_the_clear) return false;
    if (in_the_clear->reference_payload != own_.reference_payload) return false;
    if (!established()) finish(now, *in_the_clear);
  } else if (tls_ != nullptr) {
    // Once refused, or done with, a conversation is only said again.
    if (!read_frames(now, frames, in_the_clear)) return established();
    if (stream_.contradicted() && begin_anew_if_broken(now) &&
        !read_frames(now, frames, in_the_clear))
      return false;
    if (!refused_) advance_tls(now);
    stream_.rewind(refused_.has_value());
  } else {
    return true;
  }
  may_answer_ += kAmplification * wire::kInitialDatagramMin;
  answer_due_ = true;
  return true;
}

// Server: what came first may not have been the client's. Once TLS has answered, it was a whole
// ClientHello that holds the key: another one then is the stranger's, or the client will notice.
bool Handshake::begin_anew_if_broken(Timestamp now) {
  const bool came_to_nothing = refused_ || stream_.outgoing().empty();
  if (established() || !came_to_nothing || attempts_ >= kAttemptsOfServer) return false;
  if (refused_) deadline_ = std::max(deadline_, now + kRefuseFor);
  refused_.reset();
  begin_attempt(now);
  return true;
}

void Handshake::on_long_packet(Timestamp now, const wire::LongPacket& packet) {
  if (role_ != Role::client || failure_) return;
  if (packet.header.destination_id != own_cid_) return;
  if (packet.header.attempt != attempt_) {
    if (last_attempt_ && packet.header.attempt == last_attempt_->attempt)
      on_answer_to_last_attempt(packet.frames);
    return;
  }
  if (packet.header.type == wire::LongType::retry) return on_retry(now, packet.header.token);
  if (packet.header.type != wire::LongType::accept) return;
  if (!secure() && established()) return;
  heard_anything_ = true;
  std::optional<wire::TransportParameters> in_the_clear;
  const std::uint64_t had = stream_.received();
  if (!read_frames(now, packet.frames, in_the_clear) || failure_) return;
  if (!secure()) {
    if (!in_the_clear) return;
    peer_cid_ = packet.header.source_id;
    return finish(now, *in_the_clear);
  }
  if (tls_ == nullptr) return;
  if (in_the_clear) return on_unproven(now, ErrorCode::not_authenticated, kNoSecurityThere);
  const bool was_established = established();
  if (was_established) ++answers_unconfirmed_;
  if (stream_.received() == had || broken_) return;
  advance_tls(now);
  if (!established() && !failure_ && stream_.received() > 0)
    send_at_ = std::min(send_at_, now + kPartOfFlight);
  else if (!was_established && established())
    send_at_ = now;
}

// Two different answers to one attempt: its failure was a stranger's work.
void Handshake::on_answer_to_last_attempt(std::span<const std::byte> frames) {
  std::vector<wire::Gap> scratch;
  wire::FrameReader reader(frames, scratch);
  while (const auto frame = reader.next()) {
    if (const auto* stream = std::get_if<wire::Handshake>(&*frame))
      (void)last_attempt_->stream.on_frame(*stream);
  }
  if (!last_attempt_->stream.contradicted()) return;
  if (last_attempt_->counted) --failures_;
  last_attempt_.reset();
}

void Handshake::on_retry(Timestamp now, std::span<const std::byte> token) {
  const auto same = [&](const Token& known) {
    return std::ranges::equal(std::span(known.bytes).first(known.size), token);
  };
  // So many, and each once: no stranger shall keep us busy.
  if (established() || stream_.received() > 0 || token.empty() || tokens_taken_ >= kTokensMax ||
      std::ranges::any_of(tokens_, same))
    return;
  heard_anything_ = true;
  retried_after_ = now - last_sent_;
  if (tokens_.size() == kTokensMax) tokens_.erase(tokens_.begin());
  ++tokens_taken_;
  Token& added = tokens_.emplace_back();
  added.size = token.size();
  std::ranges::copy(token, added.bytes.begin());
  flights_since_asked_ = 0;
  in_flight_ = false;
  send_at_ = now;
}

void Handshake::advance_tls(Timestamp now) {
  const auto bytes = stream_.take();
  if (bytes.empty()) return;
  tls_->receive(bytes);
  tls_->take_output(stream_.outgoing());
  if (tls_->failure()) return on_tls_failure(now);
  if (established() || !tls_->finished()) return;
  const auto peer = wire::read_transport_parameters(tls_->peer_parameters());
  if (!peer || !peer->connection_id || peer->max_datagram < kDatagramMin ||
      peer->reference_payload != own_.reference_payload)
    return fail(
        ErrorCode::version_mismatch,
        "the peer's transport parameters make no sense here; bring both to the same release");
  peer_identity_ = tls_->peer_identity();
  peer_cid_ = *peer->connection_id;
  finish(now, *peer);
}

void Handshake::on_tls_failure(Timestamp now) {
  if (confirmed_) return;
  if (role_ == Role::server) {
    refused_ = *tls_->failure();
    deadline_ = now + kRefuseFor;
    return;
  }
  broken_ = *tls_->failure();
  // What is established holds as far as we know: wait for what the server says next.
  if (!established()) begin_again(now);
}

void Handshake::begin_again(Timestamp now) {
  // A server that has proven to hold the key has seen that we do, too: no refusal is its own.
  const bool disturbed =
      stream_.contradicted() || !broken_ || (established() && peer_identity_.starts_with("psk "));
  if (!disturbed && failures_++ == 0) first_failed_at_ = now;
  if (!disturbed && failures_ >= kFailuresMin && now - first_failed_at_ >= kFailuresFor)
    return fail(ErrorCode::not_authenticated, *broken_);
  last_attempt_ = LastAttempt{attempt_, std::move(stream_), !disturbed};
  peer_.reset();
  broken_.reset();
  attempt_ = random_.next();
  begin_attempt(now + kAttemptPause * (1 << std::min(attempts_ - 1, 3)));
}

void Handshake::finish(Timestamp now, const wire::TransportParameters& peer) {
  peer_ = peer;
  // A retry that is a stranger's comes too early, and what is answered then left before it. After
  // more of them nobody knows what was answered.
  if (role_ == Role::client && flights_ == 1 + static_cast<int>(tokens_.size()) && flights_ <= 2)
    rtt_sample_ = std::max(now - last_sent_, retried_after_);
  if (role_ == Role::server || !secure()) return on_confirmed(now);
  interval_ = rtt_sample_ ? std::max(2 * *rtt_sample_, kRepeatMin) : interval_;
  flights_ = 0;
}

void Handshake::on_unproven(Timestamp now, ErrorCode code, std::string reason) {
  if (!secure()) return fail(code, std::move(reason));
  if (stream_.received() > 0 ||
      std::exchange(last_unproven_flight_, flights_ever_) == flights_ever_)
    return;
  if (unproven_++ == 0) first_unproven_at_ = now;
  if (unproven_ >= kRefusalsMin && now - first_unproven_at_ >= kUnprovenFor)
    fail(code, std::move(reason));
}

void Handshake::on_refusal(Timestamp now, base::Hindrance cause) {
  if (role_ != Role::client || established() || failure_ || heard_anything_) return;
  if (!hindered_ || hindered_->cause != cause) hindered_ = Hindered{cause, 0, now};
  ++hindered_->times;
  const bool forgeable = cause == base::Hindrance::port_closed;
  if (hindered_->times < (forgeable ? kRefusalsMin : kUnsentMin) ||
      now - hindered_->since < (forgeable ? kRefusedFor : kUnsentFor))
    return;
  Failure found = failure_of(cause);
  fail(found.code, std::move(found.reason));
}

void Handshake::on_version_negotiation(Timestamp now, std::span<const std::uint32_t> versions) {
  if (role_ != Role::client || heard_anything_) return;
  // A server that speaks our version never sends this; the packet is stray or forged.
  if (std::ranges::find(versions, wire::kVersion) != versions.end()) return;
  std::string listed;
  for (const std::uint32_t version : versions.first(std::min(versions.size(), kVersionsSaid)))
    listed += fmt::format("{}{:#010x}", listed.empty() ? "" : ", ", version);
  on_unproven(
      now, ErrorCode::version_mismatch,
      fmt::format("the peer speaks version {}, we speak {:#010x}; bring both to the same release",
                  listed.empty() ? "none we know" : listed, wire::kVersion));
}

}  // namespace longhaul::connection
