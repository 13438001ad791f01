// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/receiver.hpp"

#include <fmt/format.h>

#include "apps/common/printable.hpp"
#include "apps/perf/cookie.hpp"

namespace longhaul::apps::perf {

Result<bool> Receiver::post() {
  while (!stopping_) {
    if (!waiting_) {
      auto next = sink_.next();
      if (!next) return tl::unexpected(std::move(next.error()));
      waiting_ = *next;
    }
    if (!waiting_) break;
    ReceiveOptions options;
    options.cookie = make_cookie(Purpose::data_receive, waiting_->index);
    auto posted = connection_.recv_tensor(waiting_->tag, waiting_->view, options);
    if (!posted) {
      if (posted.error().code == ErrorCode::would_block) return false;
      return tl::unexpected(std::move(posted.error()));
    }
    pending_.emplace(waiting_->index, std::move(*posted));
    waiting_.reset();
  }
  return true;
}

void Receiver::on_completion(const Completion& completion) {
  const auto found = pending_.find(index_of(completion.cookie));
  if (found == pending_.end()) return;
  const Progress progress = found->second.progress();
  if (completion.status == Status::completed) {
    ++completed_;
    ended_bytes_ += progress.bytes;
    sink_.on_completed(found->first);
  } else {
    ended_bytes_ += progress.verified;
    // A sender that stops cancels what is on its way: the end of a timed test, not a fault.
    if (!stopping_ && completion.status != Status::cancelled) {
      ++failed_;
      if (first_failure_.empty()) {
        const std::string reason = printable(found->second.reason());
        first_failure_ = fmt::format("{}{}{}", longhaul::to_string(completion.status),
                                     reason.empty() ? "" : ": ", reason);
      }
    }
    sink_.on_failed(found->first);
  }
  pending_.erase(found);
}

void Receiver::stop() {
  stopping_ = true;
  for (const auto& [index, transfer] : pending_) {
    // A transfer that ended meanwhile refuses; its completion is on the way.
    static_cast<void>(transfer.cancel());
  }
}

bool Receiver::all_ended() const {
  const auto expected = sink_.expected();
  return expected && completed_ + failed_ == *expected;
}

std::uint64_t Receiver::verified_bytes() const {
  std::uint64_t bytes = ended_bytes_;
  for (const auto& [index, transfer] : pending_) bytes += transfer.progress().verified;
  return bytes;
}

std::uint64_t Receiver::placed_bytes() const {
  std::uint64_t bytes = ended_bytes_;
  for (const auto& [index, transfer] : pending_) bytes += transfer.progress().placed;
  return bytes;
}

}  // namespace longhaul::apps::perf
