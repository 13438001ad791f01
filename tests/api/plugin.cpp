// SPDX-License-Identifier: Apache-2.0
// What a framework loads and unloads again: a small user of the library.
#include <array>
#include <cstdint>
#include <cstdlib>

#include "longhaul/longhaul.hpp"

extern "C" __attribute__((visibility("default"))) int move_one_tensor();

/// 0 if a tensor went from one endpoint to another.
extern "C" int move_one_tensor() {
  using namespace longhaul;
  EndpointConfig config;
  config.security = "none";
  config.local = SocketAddress::parse("127.0.0.1", 0).value();
  if (const char* engine = std::getenv("LONGHAUL_TEST_ENGINE")) config.engine = engine;
  auto server = Endpoint::open(config);
  auto client = Endpoint::open(config);
  if (!server || !client || !server->listen()) return 1;
  auto to_server = client->connect(server->local_address());
  auto to_client = server->accept(std::chrono::seconds(20));
  if (!to_server || !to_client) return 2;
  const std::array<std::uint8_t, 5> source{1, 2, 3, 4, 5};
  std::array<std::uint8_t, 5> target{};
  const auto receive = to_client->recv_tensor(1, bytes_view(static_cast<void*>(target.data()), 5));
  const auto send =
      to_server->send_tensor(1, bytes_view(static_cast<const void*>(source.data()), 5));
  if (!receive || !send) return 3;
  if (receive->wait(std::chrono::seconds(20)) != Status::completed) return 4;
  client->close();
  server->close();
  return source == target ? 0 : 5;
}
