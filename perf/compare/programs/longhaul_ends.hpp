// SPDX-License-Identifier: Apache-2.0
// Longhaul over its public API: a message is a tensor, an answer one of a single byte.
#pragma once

#include <string>
#include <vector>

#include "longhaul/longhaul.hpp"
#include "perf/compare/programs/ends.hpp"
#include "perf/compare/programs/options.hpp"

namespace longhaul::compare {

struct LonghaulOptions {
  std::string security;        ///< "none", or empty for the key
  std::string key;             ///< file; empty = none
  std::uint64_t rate_bps = 0;  ///< of UDP payload; 0 = none, cubic
  std::uint32_t rtt_max_ms = 200;
  std::uint32_t mtu = 1500;
};

class LonghaulSender final : public Sender {
 public:
  LonghaulSender(const Options& options, const LonghaulOptions& own);

  void send(std::span<const std::byte> message) override;
  std::uint64_t wait_answers(std::uint64_t count, Clock::time_point until) override;
  Json about() override;
  Json counters() override;
  void close() override { endpoint_.close(); }

 private:
  void post_answer();
  /// Takes what completed; waits for it until `until`.
  void take_completions(Clock::time_point until);

  LonghaulOptions own_;
  std::uint64_t outstanding_;
  Endpoint endpoint_;
  Connection connection_;
  std::vector<Transfer> sends_;     ///< by message, round; an answer may overtake the last ACK
  std::vector<std::byte> answers_;  ///< one byte each, round
  std::uint64_t sent_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t answered_ = 0;
};

class LonghaulReceiver final : public Receiver {
 public:
  LonghaulReceiver(const Options& options, const LonghaulOptions& own);

  void accept() override;
  void run(Inbox& inbox) override;

 private:
  void post(Inbox& inbox, std::uint64_t index);

  Endpoint endpoint_;
  Connection connection_;
  std::vector<bool> whole_;  ///< by message, round
};

}  // namespace longhaul::compare
