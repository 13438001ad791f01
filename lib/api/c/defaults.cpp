// SPDX-License-Identifier: Apache-2.0
#include "lib/api/c/defaults.hpp"

#include <algorithm>

#include "lib/api/c/structs.hpp"
#include "longhaul/config.hpp"
#include "longhaul/longhaul.h"
#include "longhaul/transfer.hpp"

namespace longhaul::api::c {

longhaul_endpoint_config default_config() {
  const EndpointConfig defaults;
  longhaul_endpoint_config config{};
  config.threads = static_cast<longhaul_thread_mode>(defaults.threads);
  config.rate_bps = defaults.rate_bps;
  config.rtt_max_ns = defaults.rtt_max.count();
  config.mtu_max = defaults.mtu_max;
  config.mtu_base = defaults.mtu_base;
  config.peer_timeout_ns = defaults.peer_timeout.count();
  config.heartbeat_ns = defaults.heartbeat.count();
  config.connect_timeout_ns = defaults.connect_timeout.count();
  config.eager_budget = defaults.eager_budget;
  config.eager_max = defaults.eager_max;
  config.transfers_max = defaults.transfers_max;
  config.connections_max = defaults.connections_max;
  config.completions_max = defaults.completions_max;
  config.worker_cpu = -1;
  static_assert(kTrafficClasses == std::size(decltype(config.dscp){}));
  std::copy(defaults.dscp.codepoints.begin(), defaults.dscp.codepoints.end(), config.dscp);
  config.validate_addresses = defaults.validate_addresses ? 1 : 0;
  config.handshakes_max_per_source = defaults.handshakes_max_per_source;
  return config;
}

longhaul_faults default_faults() noexcept {
  longhaul_faults faults{};
  faults.reorder_delay_ns = EndpointConfig::InjectedFaults{}.reorder_delay.count();
  return faults;
}

longhaul_send_options default_send_options() noexcept {
  longhaul_send_options options{};
  options.traffic_class = LONGHAUL_CLASS_BULK;
  options.reliability = LONGHAUL_EXACT;
  return options;
}

}  // namespace longhaul::api::c

using namespace longhaul::api::c;

longhaul_code longhaul_endpoint_config_init(longhaul_endpoint_config* config, size_t size) {
  return initialise(config, size, default_config());
}

longhaul_code longhaul_faults_init(longhaul_faults* faults, size_t size) {
  return initialise(faults, size, default_faults());
}

longhaul_code longhaul_connect_options_init(longhaul_connect_options* options, size_t size) {
  return initialise(options, size, longhaul_connect_options{});
}

longhaul_code longhaul_send_options_init(longhaul_send_options* options, size_t size) {
  return initialise(options, size, default_send_options());
}

longhaul_code longhaul_receive_options_init(longhaul_receive_options* options, size_t size) {
  return initialise(options, size, longhaul_receive_options{});
}

longhaul_code longhaul_tensor_init(longhaul_tensor* tensor, size_t size) {
  return initialise(tensor, size, default_tensor<longhaul_tensor>());
}

longhaul_code longhaul_const_tensor_init(longhaul_const_tensor* tensor, size_t size) {
  return initialise(tensor, size, default_tensor<longhaul_const_tensor>());
}
