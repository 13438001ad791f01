// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/base/random_source.hpp"
#include "lib/connection/handshake_stream.hpp"
#include "lib/connection/identity.hpp"
#include "lib/crypto/tls_session.hpp"
#include "lib/wire/frame.hpp"
#include "lib/wire/packet.hpp"
#include "longhaul/time.hpp"

namespace longhaul::connection {

/// Set-up in long packets (lib/wire/README.md), after one more round trip when the server wants the
/// address proven first. With security they carry a TLS handshake by offset and the transport
/// parameters go inside; with none they carry the parameters in the clear. The client repeats what
/// the server has not said it has, and the server answers each copy, so that neither needs another
/// acknowledgement.
///
/// Nothing in a long packet is proven before TLS has finished, and whoever sees the line may say
/// anything first. So what does not fit is left lying while the conversation goes on; only one that
/// is broken or stands still begins anew, as another attempt, and a client gives up early only if
/// several failed in the same way with no sign of a stranger. Refusals have to come several times
/// with nothing else in between, and of several retries each is followed.
class Handshake {
 public:
  /// `random`, which outlives it, makes the numbers of further attempts.
  Handshake(const ConnectionConfig& config, base::RandomSource& random, Timestamp now);

  /// The peer's parameters are known, and with security the keys: short packets can be opened.
  bool established() const noexcept { return peer_.has_value(); }
  /// The peer can open ours too. A client with security learns it from the server's first short
  /// packet: see `on_confirmed`.
  bool confirmed() const noexcept { return confirmed_; }
  void on_confirmed(Timestamp now) noexcept;

  const wire::TransportParameters& peer() const noexcept { return *peer_; }
  std::uint32_t peer_cid() const noexcept { return peer_cid_; }
  std::uint64_t attempt() const noexcept { return attempt_; }
  bool secure() const noexcept { return credentials_ != nullptr; }
  /// Precondition: secure and established just now.
  crypto::TrafficSecrets secrets() const { return tls_->secrets(); }
  /// Who the peer has proven to be; empty with security none.
  const std::string& peer_identity() const noexcept { return peer_identity_; }

  /// Why set-up failed, once it has.
  struct Failure {
    ErrorCode code = ErrorCode::internal;
    std::string reason;
  };
  const std::optional<Failure>& failure() const noexcept { return failure_; }

  /// Server: one of the client's initials. False if its frames are malformed, or of the other kind
  /// of security.
  [[nodiscard]] bool on_initial(Timestamp now, const wire::LongPacket& packet);
  /// Client: what a server answered. Packets that do not fit are ignored.
  void on_long_packet(Timestamp now, const wire::LongPacket& packet);
  void on_version_negotiation(Timestamp now, std::span<const std::uint32_t> versions);
  /// Client: nothing reaches the server. An ICMP message may be forged: set-up fails once several
  /// have said so for a while and the server has said nothing. What our own system says is believed
  /// the second time.
  void on_refusal(Timestamp now, base::Hindrance cause);

  /// Writes the next long packet that is due; 0 if none is.
  std::size_t write(Timestamp now, std::span<std::byte> out);
  void handle_timeout(Timestamp now);
  Timestamp next_timeout() const noexcept;
  /// Client: round trip of the exchange that succeeded, if it was not repeated meanwhile.
  std::optional<Duration> rtt_sample() const noexcept { return rtt_sample_; }

 private:
  // handshake.cpp
  void begin_attempt(Timestamp now);
  void begin_flight(Timestamp now);
  bool stands_still() const noexcept;
  void choose_token();
  std::size_t write_initial(Timestamp now, std::span<std::byte> out);
  std::size_t write_answer(std::span<std::byte> out);
  std::size_t write_frames(std::span<std::byte> out);
  void fail(ErrorCode code, std::string reason);
  Failure failure_of(base::Hindrance cause) const;

  // handshake_receive.cpp
  bool read_frames(Timestamp now, std::span<const std::byte> frames,
                   std::optional<wire::TransportParameters>& in_the_clear);
  void on_answer_to_last_attempt(std::span<const std::byte> frames);
  void on_retry(Timestamp now, std::span<const std::byte> token);
  bool begin_anew_if_broken(Timestamp now);
  void advance_tls(Timestamp now);
  void on_tls_failure(Timestamp now);
  void begin_again(Timestamp now);
  void finish(Timestamp now, const wire::TransportParameters& peer);
  void on_unproven(Timestamp now, ErrorCode code, std::string reason);

  Role role_;
  std::uint32_t own_cid_;
  std::uint32_t peer_cid_;
  std::uint64_t attempt_;
  bool address_validated_;
  std::shared_ptr<crypto::Credentials> credentials_;  // null: security none
  base::RandomSource& random_;
  std::string peer_name_;   // for error messages
  std::string peer_host_;   // without the port
  std::string peer_where_;  // with it, in words
  wire::TransportParameters own_;

  std::optional<wire::TransportParameters> peer_;
  std::string peer_identity_;
  bool confirmed_ = false;
  std::optional<Failure> failure_;

  std::unique_ptr<crypto::TlsSession> tls_;
  HandshakeStream stream_;
  int attempts_ = 0;
  std::optional<std::string> refused_;  // server: why, while the alert is still repeated
  std::optional<std::string> broken_;  // client: why this attempt comes to nothing, as far as known
  // Client: attempts that failed with no sign of a stranger.
  int failures_ = 0;
  Timestamp first_failed_at_{};
  struct LastAttempt {
    std::uint64_t attempt = 0;
    HandshakeStream stream;
    bool counted = false;  // in failures_
  };
  std::optional<LastAttempt> last_attempt_;

  struct Token {
    std::array<std::byte, wire::kTokenBytesMax> bytes{};
    std::size_t size = 0;
    int tries = 0;
  };
  std::vector<Token> tokens_;     // any of them may be somebody else's
  std::size_t tokens_taken_ = 0;  // since we asked
  Token token_;                   // of the present flight
  std::uint32_t next_number_ = 0;
  bool answer_due_ = false;
  std::uint64_t may_answer_ = 0;  // server, address not validated: bytes (RFC 9000 §8.1)
  bool heard_anything_ = false;
  struct Hindered {
    base::Hindrance cause;
    int times = 0;
    Timestamp since{};
  };
  std::optional<Hindered> hindered_;
  int unproven_ = 0;  // flights that were answered by nothing but refusals
  int last_unproven_flight_ = 0;
  Timestamp first_unproven_at_{};

  bool in_flight_ = false;  // client: a flight has begun and is not all written
  int flights_ = 0;         // of this attempt, since it was established if it is
  int flights_ever_ = 0;
  std::uint64_t received_before_ = 0;  // when the last flight began
  Timestamp send_at_ = kNever;
  Duration interval_{};
  Timestamp deadline_ = kNever;
  Timestamp release_at_ = kNever;
  Timestamp last_sent_{};
  Duration retried_after_{};     // the flight that asked for the token
  int flights_since_asked_ = 0;  // for a token
  int answers_unconfirmed_ = 0;  // client: that came since this attempt was established
  std::optional<Duration> rtt_sample_;
};

/// Whether the frames of an initial begin a TLS handshake.
bool begins_tls(std::span<const std::byte> frames);

}  // namespace longhaul::connection
