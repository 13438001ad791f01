// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/perf/sink.hpp"
#include "longhaul/connection.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::apps::perf {

/// Keeps the receives of a sink posted and counts what arrived.
class Receiver {
 public:
  Receiver(Connection connection, Sink& sink) : connection_(std::move(connection)), sink_(sink) {}

  /// Posts what the sink has memory for. False when the library asked to come back.
  Result<bool> post();
  /// For completions with Purpose::data_receive.
  void on_completion(const Completion& completion);
  /// Posts nothing more and cancels what is posted; that counts as neither good nor bad.
  void stop();

  bool idle() const noexcept { return pending_.empty(); }
  /// Everything the sink expects has ended.
  bool all_ended() const;
  /// Tensor bytes verified by digests, of transfers complete or on their way.
  std::uint64_t verified_bytes() const;
  /// Tensor bytes placed, verified or not: the sign that something moves.
  std::uint64_t placed_bytes() const;
  std::uint64_t completed() const noexcept { return completed_; }
  std::uint64_t failed() const noexcept { return failed_; }
  const std::string& first_failure() const noexcept { return first_failure_; }

 private:
  Connection connection_;
  Sink& sink_;
  std::map<std::uint64_t, Transfer> pending_;
  std::optional<Sink::Posting> waiting_;
  bool stopping_ = false;
  std::uint64_t ended_bytes_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
  std::string first_failure_;
};

}  // namespace longhaul::apps::perf
