// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/buffer.hpp"
#include "apps/perf/messages.hpp"
#include "longhaul/connection.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::apps::perf {

/// Messages of both ends on the test's own connection: tag 0 carries, for each message, a transfer
/// of 8 bytes with the length and one with the JSON text. Blobs (a raw file header, digests) go
/// beside them under tags of their own.
class ControlChannel {
 public:
  explicit ControlChannel(Connection connection) : connection_(std::move(connection)) {}

  /// Expects the first message.
  Result<void> start();
  /// Queues a message; it leaves at once unless the library is busy, then with `flush()`.
  Result<void> send(const Json& message);
  /// Queues raw bytes, which are copied.
  Result<void> send_blob(Tag tag, std::span<const std::byte> bytes);
  /// Expects raw bytes of known length; `on_completion` reports them by tag.
  Result<void> expect_blob(Tag tag, std::uint64_t bytes);
  /// Tries again what the library had no room for.
  Result<void> flush();

  /// What a completion brought, if anything.
  struct Event {
    std::optional<Json> message;
    std::optional<Tag> blob;
  };
  Result<Event> on_completion(const Completion& completion);
  std::span<const std::byte> blob(Tag tag) const;

  /// Something waits for room in the library: call `flush()` soon.
  bool waiting() const noexcept { return !outbox_.empty() || !unposted_.empty(); }
  /// Nothing is queued and everything sent has arrived.
  bool all_sent() const noexcept { return outbox_.empty() && in_flight_.empty(); }
  /// No memory of this object is the library's.
  bool idle() const noexcept { return in_flight_.empty() && receiving_ == 0; }

 private:
  struct Outgoing {
    Tag tag;
    std::vector<std::byte> bytes;
  };

  struct Posting {
    Tag tag = 0;
    TensorView view;
    std::uint64_t cookie = 0;
  };

  Result<void> post(Posting posting);
  Result<void> post_length();
  Result<void> post_body(std::uint64_t bytes);
  Result<Event> on_received(const Completion& completion);

  Connection connection_;
  std::deque<Outgoing> outbox_;
  std::deque<Posting> unposted_;
  std::map<std::uint64_t, Outgoing> in_flight_;
  std::uint64_t next_id_ = 0;

  std::array<std::byte, 8> length_{};
  std::vector<std::byte> body_;
  std::map<Tag, Buffer> blobs_;
  unsigned receiving_ = 0;
  bool expecting_body_ = false;
};

}  // namespace longhaul::apps::perf
