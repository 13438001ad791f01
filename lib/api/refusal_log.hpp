// SPDX-License-Identifier: Apache-2.0
// What the log says about clients that were refused: no cause hides another, and nobody fills it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "longhaul/address.hpp"
#include "longhaul/time.hpp"

namespace longhaul::api {

/// A line a second for each cause, and so many causes at once; the next line says how many clients
/// had none. A client that tries again from the same port for the same cause is the same client.
class RefusalLog {
 public:
  /// The line for the log, or nothing for now.
  std::optional<std::string> on_refused(Timestamp now, const SocketAddress& client,
                                        std::string_view cause);

 private:
  struct Client {
    SocketAddress address;
    std::size_t cause = 0;  // hash
    Timestamp at{};
  };
  struct Cause {
    std::size_t hash = 0;
    Timestamp logged_at{};
    std::uint64_t unsaid = 0;
  };

  bool knows(Timestamp now, const SocketAddress& client, std::size_t cause);
  Cause* find(Timestamp now, std::size_t cause);

  std::array<Client, 32> clients_{};
  std::size_t next_client_ = 0;
  std::array<Cause, 8> causes_{};
  std::uint64_t unsaid_of_others_ = 0;  // causes that found no room
};

}  // namespace longhaul::api
