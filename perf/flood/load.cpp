// SPDX-License-Identifier: Apache-2.0
// Two endpoints on loopback move tensors while forged first packets arrive, or do not. Prints what
// was moved, forged and spent as JSON.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "longhaul/longhaul.hpp"
#include "tests/support/flooder.hpp"

namespace longhaul {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(*result);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Settings {
  std::string kind = "none";
  std::uint64_t per_second = 100'000;
  double seconds = 3;
  std::uint64_t rate_mbps = 2000;
};

nlohmann::json measure(const Settings& settings) {
  EndpointConfig config;
  config.local = SocketAddress::parse("127.0.0.1", 0).value();
  config.psk = must(generate_key("flood"));
  config.rate_bps = settings.rate_mbps * 1'000'000;
  config.peer_timeout = std::chrono::seconds(10);
  Endpoint server = must(Endpoint::open(config));
  Endpoint client = must(Endpoint::open(config));
  if (!server.listen()) throw std::runtime_error("cannot listen");
  const Connection there = must(client.connect(server.local_address()));
  const Connection here = must(server.accept(std::chrono::seconds(5)));
  tests::Flooder flooder(config, server.local_address());
  std::vector<std::byte> source(16 << 20, std::byte{1});
  std::vector<std::byte> target(source.size());
  Tag tag = 0;
  const auto exchange = [&] {
    const Transfer receive =
        must(here.recv_tensor(++tag, bytes_view(static_cast<void*>(target.data()), target.size())));
    const Transfer send = must(
        there.send_tensor(tag, bytes_view(static_cast<const void*>(source.data()), source.size())));
    if (must(send.wait()) != Status::completed) throw std::runtime_error(send.reason());
  };
  exchange();
  if (settings.kind != "none")
    flooder.start(tests::forgery_called(settings.kind), settings.per_second);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double cpu_before = cpu_seconds();
  std::uint64_t bytes = 0;
  while (passed() < settings.seconds) {
    exchange();
    bytes += source.size();
  }
  const double seconds = passed();
  flooder.stop();
  const double flooding = std::chrono::duration<double>(flooder.cpu()).count();
  const EndpointStats stats = must(server.stats());
  std::uint64_t dropped = 0;
  for (const std::uint64_t count : stats.dropped) dropped += count;
  return {{"bytes", bytes},
          {"seconds", seconds},
          {"cpu", cpu_seconds() - cpu_before - flooding},
          {"flooder_cpu", flooding},
          {"forged", settings.kind == "none" ? 0 : flooder.sent()},
          {"dropped", dropped}};
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  longhaul::Settings settings;
  CLI::App app("goodput and CPU of two endpoints while somebody forges first packets");
  app.add_option("--kind", settings.kind, "none, nonsense, hello, token or shorts");
  app.add_option("--per-second", settings.per_second, "forged packets");
  app.add_option("--seconds", settings.seconds, "how long");
  app.add_option("--rate-mbps", settings.rate_mbps, "of the transfers");
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << longhaul::measure(settings) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "flood_load: " << error.what() << '\n';
    return 1;
  }
}
