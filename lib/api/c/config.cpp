// SPDX-License-Identifier: Apache-2.0
#include "lib/api/c/config.hpp"

#include <algorithm>

#include "lib/api/c/convert.hpp"
#include "lib/api/c/defaults.hpp"
#include "lib/api/c/structs.hpp"

namespace longhaul::api::c {
namespace {

LogSink to_sink(longhaul_log_sink sink, void* context) {
  if (sink == nullptr) return {};
  return [sink, context](LogLevel level, std::string_view line) {
    const std::string text(line);  // with a NUL at its end
    sink(context, static_cast<longhaul_log_level>(level), text.c_str(), text.size());
  };
}

Result<void> set_faults(const longhaul_faults* faults, EndpointConfig& config) {
  if (faults == nullptr) return {};
  const auto given = read(faults, default_faults(), "longhaul_faults");
  if (!given) return tl::unexpected(given.error());
  if (given->reserved != 0) return invalid("longhaul_faults.reserved has to be 0");
  config.inject.loss = given->loss;
  config.inject.corrupt = given->corrupt;
  config.inject.duplicate = given->duplicate;
  config.inject.reorder = given->reorder;
  config.inject.reorder_delay = Duration(given->reorder_delay_ns);
  config.inject.delay = Duration(given->delay_ns);
  return {};
}

Result<void> set_pointed_to(const longhaul_endpoint_config& given, EndpointConfig& config) {
  if (given.backend != nullptr) config.backend = given.backend;
  if (given.engine != nullptr) config.engine = given.engine;
  if (given.device != nullptr) config.device = given.device;
  if (given.security != nullptr) config.security = given.security;
  if (given.controller != nullptr) config.controller = given.controller;
  if (given.local != nullptr) {
    const auto local = to_address(given.local);
    if (!local) return tl::unexpected(local.error());
    config.local = *local;
  }
  if ((given.stateless_reset_key == nullptr) != (given.stateless_reset_key_bytes == 0)) {
    return invalid("stateless_reset_key is " +
                   std::string(given.stateless_reset_key == nullptr ? "NULL" : "set") +
                   ", but its length is " + std::to_string(given.stateless_reset_key_bytes));
  }
  config.log = to_sink(given.log, given.log_context);
  return set_faults(given.inject, config);
}

Result<void> set_keys(const longhaul_endpoint_config& given, EndpointConfig& config) {
  if (given.peer_fingerprints == nullptr && given.peer_fingerprints_count != 0) {
    return invalid("peer_fingerprints is NULL, but there are " +
                   std::to_string(given.peer_fingerprints_count));
  }
  for (std::uint64_t i = 0; i < given.peer_fingerprints_count; ++i) {
    if (given.peer_fingerprints[i] == nullptr) {
      return invalid("peer_fingerprints[" + std::to_string(i) + "] is NULL");
    }
    config.peer_fingerprints.emplace_back(given.peer_fingerprints[i]);
  }
  if (given.psk_file != nullptr) config.psk_file = given.psk_file;
  if (given.certificate_file != nullptr) config.certificate_file = given.certificate_file;
  if (given.private_key_file != nullptr) config.private_key_file = given.private_key_file;
  if (given.ca_file != nullptr) config.ca_file = given.ca_file;
  if (given.peer_name != nullptr) config.peer_name = given.peer_name;
  // Last, since open wipes them, and nobody would if something after it failed.
  if (given.psk != nullptr) config.psk = given.psk;
  if (given.stateless_reset_key != nullptr) {
    config.stateless_reset_key.assign(static_cast<const char*>(given.stateless_reset_key),
                                      given.stateless_reset_key_bytes);
  }
  return {};
}

Result<void> set_choices(const longhaul_endpoint_config& given, EndpointConfig& config) {
  const auto threads = to_enum(given.threads, ThreadMode::worker_threads, ThreadMode::caller_polls,
                               "longhaul_thread_mode");
  if (!threads) return tl::unexpected(threads.error());
  const auto validate = to_bool(given.validate_addresses, "validate_addresses");
  if (!validate) return tl::unexpected(validate.error());
  const auto use_seed = to_bool(given.use_seed, "use_seed");
  if (!use_seed) return tl::unexpected(use_seed.error());
  if (given.worker_cpu < -1) {
    return invalid("worker_cpu is " + std::to_string(given.worker_cpu) +
                   "; it is a core, or -1 for none");
  }
  config.threads = *threads;
  config.validate_addresses = *validate;
  if (*use_seed) config.seed = given.seed;
  if (given.worker_cpu >= 0) config.worker_cpu = static_cast<unsigned>(given.worker_cpu);
  return {};
}

void set_numbers(const longhaul_endpoint_config& given, EndpointConfig& config) {
  config.rate_bps = given.rate_bps;
  config.rtt_max = Duration(given.rtt_max_ns);
  config.mtu_max = given.mtu_max;
  config.mtu_base = given.mtu_base;
  config.peer_timeout = Duration(given.peer_timeout_ns);
  config.heartbeat = Duration(given.heartbeat_ns);
  config.connect_timeout = Duration(given.connect_timeout_ns);
  config.eager_budget = given.eager_budget;
  config.eager_max = given.eager_max;
  config.transfers_max = given.transfers_max;
  config.connections_max = given.connections_max;
  config.completions_max = given.completions_max;
  config.handshakes_max_per_source = given.handshakes_max_per_source;
  std::copy(std::begin(given.dscp), std::end(given.dscp), config.dscp.codepoints.begin());
}

}  // namespace

Result<EndpointConfig> to_config(const longhaul_endpoint_config* config) {
  const auto given = read(config, default_config(), "longhaul_endpoint_config");
  if (!given) return tl::unexpected(given.error());
  EndpointConfig result;
  if (auto set = set_choices(*given, result); !set) return tl::unexpected(set.error());
  set_numbers(*given, result);
  if (auto set = set_pointed_to(*given, result); !set) return tl::unexpected(set.error());
  if (auto set = set_keys(*given, result); !set) return tl::unexpected(set.error());
  return result;
}

}  // namespace longhaul::api::c
