// SPDX-License-Identifier: Apache-2.0
// Forged first packets at a real endpoint, from many addresses of the loopback network.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/base/random.hpp"
#include "longhaul/longhaul.hpp"

namespace longhaul::tests {

enum class Forgery : std::uint8_t {
  nonsense,  ///< an initial whose frames are random
  hello,     ///< a true client's, as another attempt
  token,     ///< the same with a token nobody gave
  shorts,    ///< packets of connections that do not exist
};
inline constexpr std::size_t kForgeries = 4;
/// By its name; throws if there is none.
Forgery forgery_called(std::string_view name);

class Flooder {
 public:
  /// `config`: of a client as the endpoint at `target` expects it; its first packet is the model.
  Flooder(const EndpointConfig& config, const SocketAddress& target);
  ~Flooder();
  Flooder(const Flooder&) = delete;
  Flooder& operator=(const Flooder&) = delete;

  void start(Forgery kind, std::uint64_t per_second);
  void stop();
  std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

 private:
  void run(std::stop_token stop, Forgery kind, std::uint64_t per_second);
  std::vector<std::byte> make(Forgery kind);
  void send_burst(Forgery kind, std::size_t count);

  SocketAddress target_;
  std::vector<int> sockets_;  // each bound to an address of its own
  std::vector<std::byte> model_;
  base::Random random_{1};
  std::atomic<std::uint64_t> sent_{0};
  std::jthread thread_;
};

}  // namespace longhaul::tests
