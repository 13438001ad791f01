// SPDX-License-Identifier: Apache-2.0
// Every field of a frame as text: what two frames are compared by, and what a failed test shows.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "lib/wire/frame.hpp"

namespace longhaul::wire::test {

class FrameText {
 public:
  std::string operator()(const Ping&) { return "ping"; }
  std::string operator()(const Ack& f) {
    std::string text = line("ack", f.space, f.floor, f.largest, f.largest_delay_us, f.packets,
                            f.bytes, f.ce, f.lateness_us, f.largest_is_newest);
    for (const Gap& gap : f.gaps) {
      text.append(" [").append(std::to_string(gap.first));
      text.append("+").append(std::to_string(gap.length)).append("]");
    }
    return text;
  }
  std::string operator()(const Floor& f) { return line("floor", f.space, f.floor); }
  std::string operator()(const ConnectionClose& f) {
    return line("connection_close", f.code, f.frame_type, f.reason);
  }
  std::string operator()(const PathChallenge& f) { return line("path_challenge", f.data); }
  std::string operator()(const PathResponse& f) { return line("path_response", f.data); }
  std::string operator()(const Handshake& f) {
    return line("handshake", f.offset, f.received, f.data);
  }
  std::string operator()(const TransportParametersFrame& f) {
    return line("transport_parameters", f.encoded);
  }
  std::string operator()(const Transfer& f) {
    return line("transfer", f.alias, f.tag, f.n, f.bytes, f.growing, f.list, f.eager,
                f.traffic_class, f.reliability, f.loss_budget, f.piece_log2, f.schema, f.count,
                f.dtype, std::string_view(to_string(f.shape)));
  }
  std::string operator()(const Layout& f) {
    return line("layout", f.alias, f.layout, f.chunk_size, f.first, f.length);
  }
  std::string operator()(const Posted& f) { return line("posted", f.tag, f.n, f.bytes, f.schema); }
  std::string operator()(const SendEnd& f) {
    return line("send_end", f.tag, f.n, f.status, f.reason);
  }
  std::string operator()(const ReceiveEnd& f) {
    return line("receive_end", f.tag, f.n, f.status, f.bytes, f.reason);
  }
  std::string operator()(const Refetch& f) {
    return line("refetch", f.tag, f.n, f.first, f.length);
  }
  std::string operator()(const AllSent& f) { return line("all_sent", f.tag, f.n); }

 private:
  template <typename... Values>
  static std::string line(std::string_view name, const Values&... values) {
    std::string text(name);
    (text.append(" ").append(value(values)), ...);
    return text;
  }
  template <typename T>
  static std::string value(const T& field) {
    if constexpr (std::is_enum_v<T>) {
      return std::to_string(static_cast<std::uint64_t>(field));
    } else {
      return std::to_string(std::uint64_t{field});
    }
  }
  static std::string value(std::string_view text) {
    return std::string("'").append(text).append("'");
  }
  static std::string value(std::span<const std::byte> bytes) {
    return value(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
};

inline std::string text_of(const Frame& frame) {
  return std::visit(FrameText{}, frame);
}

}  // namespace longhaul::wire::test
