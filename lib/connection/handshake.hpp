// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/connection/identity.hpp"
#include "lib/wire/frame.hpp"
#include "lib/wire/packet.hpp"
#include "longhaul/time.hpp"

namespace longhaul::connection {

/// Set-up in one round trip, two when the server wants the address proven (lib/wire/README.md, long
/// packets). Long packets carry the transport parameters and, by offset, the bytes of a handshake
/// stream, empty until authentication lands. The client repeats its initial; the server answers
/// each copy, so neither needs an acknowledgement.
class Handshake {
 public:
  Handshake(const ConnectionConfig& config, Timestamp now);

  bool established() const noexcept { return peer_.has_value(); }
  const wire::TransportParameters& peer() const noexcept { return *peer_; }
  std::uint32_t peer_cid() const noexcept { return peer_cid_; }
  std::uint64_t attempt() const noexcept { return attempt_; }

  /// Why set-up failed, once it has.
  struct Failure {
    ErrorCode code = ErrorCode::internal;
    std::string reason;
  };
  const std::optional<Failure>& failure() const noexcept { return failure_; }

  /// Server: takes the client's first parameters. False if they are malformed.
  [[nodiscard]] bool on_initial(std::span<const std::byte> frames);
  /// Client: what a server answered. Packets that do not fit are ignored.
  void on_long_packet(Timestamp now, const wire::LongPacket& packet);
  void on_version_negotiation(std::span<const std::uint32_t> versions);
  /// Client: an ICMP message, which may be forged, says that nobody listens. Set-up fails once
  /// several have said so for a while and the server has said nothing.
  void on_refusal(Timestamp now);

  /// Writes the long packet that is due; 0 if none is.
  std::size_t write(Timestamp now, std::span<std::byte> out);
  void handle_timeout(Timestamp now);
  Timestamp next_timeout() const noexcept;
  /// Client: round trip of the exchange that succeeded, if it was not repeated meanwhile.
  std::optional<Duration> rtt_sample() const noexcept { return rtt_sample_; }
  /// Server: another initial of this attempt came; answer it again.
  void answer_again() noexcept { answer_due_ = true; }

 private:
  std::size_t write_frames(std::span<std::byte> out) const;
  bool read_frames(std::span<const std::byte> frames,
                   std::optional<wire::TransportParameters>& parameters);
  void fail(ErrorCode code, std::string reason);

  Role role_;
  std::uint32_t own_cid_;
  std::uint32_t peer_cid_;
  std::uint64_t attempt_;
  std::string peer_name_;   // for error messages
  std::string peer_where_;  // the same in words
  wire::TransportParameters own_;
  std::optional<wire::TransportParameters> peer_;
  std::optional<Failure> failure_;
  std::array<std::byte, wire::kTokenBytesMax> token_{};
  std::size_t token_size_ = 0;
  std::uint32_t next_number_ = 0;
  bool answer_due_ = false;
  bool heard_anything_ = false;
  int refusals_ = 0;
  Timestamp first_refused_at_{};

  Timestamp send_at_ = kNever;
  Duration interval_{};
  Timestamp deadline_ = kNever;
  Timestamp last_sent_{};
  int sent_with_present_token_ = 0;
  std::optional<Duration> rtt_sample_;
};

}  // namespace longhaul::connection
