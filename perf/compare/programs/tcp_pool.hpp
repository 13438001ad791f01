// SPDX-License-Identifier: Apache-2.0
// A pool of TCP connections. A message is cut into as many stripes as there are connections, of
// equal size and one behind the other; each goes its own way, and a connection that is done with
// its stripe goes on with the next message's. Answers come on the first connection.
#pragma once

#include <string>
#include <vector>

#include "apps/common/files.hpp"
#include "perf/compare/programs/ends.hpp"
#include "perf/compare/programs/options.hpp"

namespace longhaul::compare {

struct TcpOptions {
  std::size_t connections = 1;
  std::string controller;  ///< TCP_CONGESTION by name; empty = the system's
};

/// The stripe of one connection within a message.
template <typename Byte>
std::span<Byte> stripe(std::span<Byte> message, std::size_t connection, std::size_t connections) {
  const std::size_t begin = message.size() * connection / connections;
  return message.subspan(begin, message.size() * (connection + 1) / connections - begin);
}

/// Sets controller and buffers and puts the delay of small writes off.
void configure_tcp(int socket, const Options& options, const TcpOptions& tcp);

class TcpSender final : public Sender {
 public:
  TcpSender(const Options& options, const TcpOptions& tcp);

  void send(std::span<const std::byte> message) override;
  std::uint64_t wait_answers(std::uint64_t count, Clock::time_point until) override;
  Json about() override;
  Json counters() override;
  void close() override { lines_.clear(); }

 private:
  struct Line {
    apps::FileDescriptor socket;
    std::uint64_t message = 0;  ///< the one whose stripe is on its way
    std::size_t offset = 0;     ///< within the stripe
  };

  bool has_work(const Line& line) const { return line.message < first_ + queue_.size(); }
  void write_stripes(std::size_t which);
  void read_answers();

  TcpOptions tcp_;
  std::uint64_t buffer_;
  std::vector<Line> lines_;
  std::vector<std::span<const std::byte>> queue_;  ///< not answered yet, oldest first
  std::uint64_t first_ = 0;                        ///< number of the oldest; so many are answered
};

class TcpReceiver final : public Receiver {
 public:
  TcpReceiver(const Options& options, const TcpOptions& tcp);

  void accept() override;
  void run(Inbox& inbox) override;

 private:
  struct Line {
    apps::FileDescriptor socket;
    std::uint64_t message = 0;  ///< the one whose stripe is arriving
    std::size_t offset = 0;
  };

  bool read_stripes(std::size_t which, Inbox& inbox);
  void answer_whole(Inbox& inbox);

  TcpOptions tcp_;
  apps::FileDescriptor listener_;
  std::vector<Line> lines_;
  std::uint64_t answered_ = 0;
};

}  // namespace longhaul::compare
