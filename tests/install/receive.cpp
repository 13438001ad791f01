// SPDX-License-Identifier: Apache-2.0
// usage: receive BYTES >FILE: says its port on standard error, writes the tensor that comes.
#include <cstdio>
#include <cstdlib>
#include <longhaul/longhaul.hpp>
#include <vector>

int main(int argc, char** argv) {
  using namespace longhaul;
  std::vector<char> data(argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0);
  EndpointConfig config;
  config.security = "none";
  config.local = *SocketAddress::parse("127.0.0.1", 0);
  auto endpoint = Endpoint::open(config);
  if (!endpoint || !endpoint->listen()) return 1;
  std::fprintf(stderr, "%u\n", unsigned{endpoint->local_address().port});
  const auto peer = endpoint->accept(std::chrono::seconds(20));
  if (!peer) return 2;
  const auto receive = peer->recv_tensor(7, bytes_view(data.data(), data.size()));
  if (!receive || receive->wait(std::chrono::seconds(20)) != Status::completed) return 3;
  return std::fwrite(data.data(), 1, data.size(), stdout) == data.size() ? 0 : 4;
}
