// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/control_channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/perf/cookie.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr std::size_t kLengthBytes = 8;

std::vector<std::byte> encode_length(std::uint64_t length) {
  std::vector<std::byte> bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<std::byte>(length >> shift & 0xff));
  }
  return bytes;
}

std::uint64_t decode_length(std::span<const std::byte, kLengthBytes> bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return length;
}

/// Messages are few and small and must not queue behind the data they speak of.
SendOptions control_options(std::uint64_t id) {
  SendOptions options;
  options.traffic_class = TrafficClass::critical;
  options.cookie = make_cookie(Purpose::control_send, id);
  return options;
}

}  // namespace

Result<void> ControlChannel::start() {
  return post_length();
}

Result<void> ControlChannel::send(const Json& message) {
  const std::string text = encode(message);
  const auto bytes = std::as_bytes(std::span(text));
  outbox_.push_back({kControlTag, encode_length(bytes.size())});
  outbox_.push_back({kControlTag, {bytes.begin(), bytes.end()}});
  return flush();
}

Result<void> ControlChannel::send_blob(Tag tag, std::span<const std::byte> bytes) {
  outbox_.push_back({tag, {bytes.begin(), bytes.end()}});
  return flush();
}

Result<void> ControlChannel::post(Posting posting) {
  ReceiveOptions options;
  options.cookie = posting.cookie;
  auto posted = connection_.recv_tensor(posting.tag, posting.view, options);
  if (posted) {
    ++receiving_;
    return {};
  }
  if (posted.error().code != ErrorCode::would_block)
    return tl::unexpected(std::move(posted.error()));
  unposted_.push_back(posting);
  return {};
}

Result<void> ControlChannel::flush() {
  for (std::deque<Posting> again = std::exchange(unposted_, {}); !again.empty();) {
    const Posting posting = again.front();
    again.pop_front();
    if (auto posted = post(posting); !posted) return posted;
  }
  while (!outbox_.empty()) {
    // The map's node keeps its address until the completion; a vector inside it does not move.
    const std::uint64_t id = next_id_++;
    auto [slot, inserted] = in_flight_.emplace(id, std::move(outbox_.front()));
    const Outgoing& item = slot->second;
    auto sent = connection_.send_tensor(item.tag, bytes_view(item.bytes.data(), item.bytes.size()),
                                        control_options(id));
    if (!sent) {
      outbox_.front() = std::move(slot->second);
      in_flight_.erase(slot);
      if (sent.error().code == ErrorCode::would_block) return {};
      return tl::unexpected(std::move(sent.error()));
    }
    outbox_.pop_front();
  }
  return {};
}

Result<void> ControlChannel::post_length() {
  expecting_body_ = false;
  return post({kControlTag, bytes_view(length_.data(), length_.size()),
               make_cookie(Purpose::control_receive, 0)});
}

Result<void> ControlChannel::post_body(std::uint64_t bytes) {
  if (bytes == 0 || bytes > kMessageMax) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the peer announces a message of {} bytes, at most {} are taken; is it "
                            "longhaul-perf?",
                            bytes, kMessageMax));
  }
  expecting_body_ = true;
  body_.resize(static_cast<std::size_t>(bytes));
  return post(
      {kControlTag, bytes_view(body_.data(), bytes), make_cookie(Purpose::control_receive, 1)});
}

Result<void> ControlChannel::expect_blob(Tag tag, std::uint64_t bytes) {
  auto buffer = Buffer::allocate(bytes, "file header");
  if (!buffer) return tl::unexpected(std::move(buffer.error()));
  Buffer& kept = blobs_[tag] = std::move(*buffer);
  return post({tag, bytes_view(kept.data(), kept.size()), make_cookie(Purpose::blob_receive, tag)});
}

std::span<const std::byte> ControlChannel::blob(Tag tag) const {
  const auto found = blobs_.find(tag);
  return found == blobs_.end() ? std::span<const std::byte>() : found->second.span();
}

Result<ControlChannel::Event> ControlChannel::on_completion(const Completion& completion) {
  switch (purpose_of(completion.cookie)) {
    case Purpose::control_send:
      in_flight_.erase(index_of(completion.cookie));
      if (completion.status == Status::completed) return Event{};
      break;
    case Purpose::control_receive:
    case Purpose::blob_receive:
      --receiving_;
      if (completion.status == Status::completed) return on_received(completion);
      break;
    default:
      return Event{};
  }
  return fail(ErrorCode::closed, fmt::format("the exchange with the peer broke off ({})",
                                             longhaul::to_string(completion.status)));
}

Result<ControlChannel::Event> ControlChannel::on_received(const Completion& completion) {
  Event event;
  if (purpose_of(completion.cookie) == Purpose::blob_receive) {
    event.blob = static_cast<Tag>(index_of(completion.cookie));
    return event;
  }
  if (!expecting_body_) {
    if (auto posted = post_body(decode_length(length_)); !posted) {
      return tl::unexpected(std::move(posted.error()));
    }
    return event;
  }
  const std::string_view text(reinterpret_cast<const char*>(body_.data()), body_.size());
  auto message = decode(text);
  if (!message) return tl::unexpected(std::move(message.error()));
  event.message = std::move(*message);
  if (auto posted = post_length(); !posted) return tl::unexpected(std::move(posted.error()));
  return event;
}

}  // namespace longhaul::apps::perf
