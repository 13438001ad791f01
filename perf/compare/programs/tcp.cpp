// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/program.hpp"
#include "perf/compare/programs/tcp_pool.hpp"

int main(int argc, char** argv) {
  using namespace longhaul::compare;
  TcpOptions tcp;
  return run_program(
      argc, argv,
      {.program = "compare-tcp",
       .description = "Messages over a pool of TCP connections, each message striped over all.",
       .add_options =
           [&tcp](CLI::App& app) {
             app.add_option("--connections", tcp.connections, "of the pool, same at both ends (1)")
                 ->check(CLI::Range(1, 256));
             app.add_option("--controller", tcp.controller,
                            "congestion control by name, such as cubic or bbr (the system's)");
           },
       .connect = [&tcp](const Options& options) -> std::unique_ptr<Sender> {
         return std::make_unique<TcpSender>(options, tcp);
       },
       .listen = [&tcp](const Options& options) -> std::unique_ptr<Receiver> {
         return std::make_unique<TcpReceiver>(options, tcp);
       }});
}
