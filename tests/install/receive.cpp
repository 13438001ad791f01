// SPDX-License-Identifier: Apache-2.0
// usage: receive BYTES KEY >FILE: says its port on standard error, writes the tensor that comes
// from whoever has the key.
#include <cstdio>
#include <cstdlib>
#include <longhaul/longhaul.hpp>
#include <vector>

int main(int argc, char** argv) {
  using namespace longhaul;
  if (argc != 3) return 5;
  std::vector<char> data(std::strtoul(argv[1], nullptr, 10));
  EndpointConfig config;
  config.psk_file = argv[2];
  const auto local = SocketAddress::parse("127.0.0.1", 0);
  if (!local) return 1;
  config.local = *local;
  auto endpoint = Endpoint::open(config);
  if (!endpoint || !endpoint->listen()) return 1;
  std::fprintf(stderr, "%u\n", unsigned{endpoint->local_address().port});
  const auto peer = endpoint->accept(std::chrono::seconds(20));
  if (!peer) return 2;
  const auto receive = peer->recv_tensor(7, bytes_view(data.data(), data.size()));
  if (!receive || receive->wait(std::chrono::seconds(20)) != Status::completed) return 3;
  return std::fwrite(data.data(), 1, data.size(), stdout) == data.size() ? 0 : 4;
}
