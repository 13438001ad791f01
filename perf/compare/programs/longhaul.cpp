// SPDX-License-Identifier: Apache-2.0
#include "perf/compare/programs/longhaul_ends.hpp"
#include "perf/compare/programs/program.hpp"

int main(int argc, char** argv) {
  using namespace longhaul::compare;
  LonghaulOptions own;
  return run_program(
      argc, argv,
      {.program = "compare-longhaul",
       .description = "Messages over one Longhaul connection; each is a tensor.",
       .add_options =
           [&own](CLI::App& app) {
             app.add_option("--security", own.security,
                            "none, or leave it out and give --key; the same at both ends");
             app.add_option("--key", own.key,
                            "file of the pre-shared key; longhaul-perf --generate-key makes one");
             app.add_option("--rate", own.rate_bps,
                            "bits a second of UDP payload the path is known to carry: controller "
                            "fixed (0: not known, cubic)");
             app.add_option("--rtt-max-ms", own.rtt_max_ms,
                            "round trip the tables are sized for (200)")
                 ->check(CLI::Range(1u, 60'000u));
             app.add_option("--mtu", own.mtu, "largest IP packet to search for (1500)");
           },
       .connect = [&own](const Options& options) -> std::unique_ptr<Sender> {
         return std::make_unique<LonghaulSender>(options, own);
       },
       .listen = [&own](const Options& options) -> std::unique_ptr<Receiver> {
         return std::make_unique<LonghaulReceiver>(options, own);
       }});
}
