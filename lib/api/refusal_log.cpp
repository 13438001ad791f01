// SPDX-License-Identifier: Apache-2.0
#include "lib/api/refusal_log.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace longhaul::api {
namespace {

constexpr Duration kPause = std::chrono::seconds(1);
// Longer than a client tries to connect.
constexpr Duration kSameClient = std::chrono::seconds(10);

std::string clients(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " more client" : " more clients");
}

}  // namespace

bool RefusalLog::knows(Timestamp now, const SocketAddress& client, std::size_t cause) {
  for (Client& known : clients_) {
    if (known.address != client || known.cause != cause || known.at == Timestamp{}) continue;
    const bool recent = now - known.at < kSameClient;
    known.at = now;
    return recent;
  }
  clients_[next_client_] = {client, cause, now};
  next_client_ = (next_client_ + 1) % clients_.size();
  return false;
}

// The one that was said longest ago makes room, unless that was just now.
RefusalLog::Cause* RefusalLog::find(Timestamp now, std::size_t cause) {
  const auto same = std::ranges::find(causes_, cause, &Cause::hash);
  if (same != causes_.end()) return &*same;
  const auto oldest = std::ranges::min_element(causes_, {}, &Cause::logged_at);
  if (oldest->logged_at != Timestamp{} && now - oldest->logged_at < kPause) return nullptr;
  unsaid_of_others_ += oldest->unsaid;
  *oldest = Cause{cause, {}, 0};
  return &*oldest;
}

std::optional<std::string> RefusalLog::on_refused(Timestamp now, const SocketAddress& client,
                                                  std::string_view cause) {
  const std::size_t hash = std::hash<std::string_view>()(cause);
  if (knows(now, client, hash)) return std::nullopt;
  Cause* const found = find(now, hash);
  if (found == nullptr) {
    ++unsaid_of_others_;
    return std::nullopt;
  }
  if (found->logged_at != Timestamp{} && now - found->logged_at < kPause) {
    ++found->unsaid;
    return std::nullopt;
  }
  std::string line = "refused a client at " + to_string(client) + ": " + std::string(cause);
  found->logged_at = now;
  if (const auto unsaid = std::exchange(found->unsaid, 0); unsaid > 0) {
    line += " (and " + clients(unsaid) + " for this since the last such line)";
  }
  if (const auto unsaid = std::exchange(unsaid_of_others_, 0); unsaid > 0) {
    line += " (and " + clients(unsaid) + " for other reasons)";
  }
  return line;
}

}  // namespace longhaul::api
