// SPDX-License-Identifier: Apache-2.0
// Questions the API asks a worker. The answer belongs to the asker once `answered()`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/endpoint/endpoint.hpp"
#include "lib/runtime/request.hpp"
#include "longhaul/result.hpp"
#include "longhaul/stats.hpp"

namespace longhaul::api {

struct EndpointStatsQuery final : runtime::Query {
  void answer(const runtime::QueryView& view) override {
    stats = view.core.stats();
    const io::BackendStats backend = view.backend.stats();
    stats.datagrams_sent = backend.datagrams_sent;
    stats.datagrams_received = backend.datagrams_received;
    stats.transmit_blocked = view.transmit_blocked;
    stats.engine = view.backend.engine();
  }
  EndpointStats stats;
};

struct ConnectionStatsQuery final : runtime::Query {
  explicit ConnectionStatsQuery(std::uint64_t of) : connection(of) {}
  void answer(const runtime::QueryView& view) override {
    stats = view.core.connection_stats(connection);
  }
  const std::uint64_t connection;
  std::optional<ConnectionStats> stats;  ///< nothing if the core no longer knows it
};

struct DumpQuery final : runtime::Query {
  void answer(const runtime::QueryView& view) override {
    std::string line = "backend " + std::string(view.backend.capabilities().name);
    if (!view.backend.engine().empty()) line += ", engine " + std::string(view.backend.engine());
    lines.push_back(std::move(line));
    view.core.dump(view.now, lines);
  }
  std::vector<std::string> lines;
};

/// Answered once everything posted before it has been handled.
struct EchoQuery final : runtime::Query {
  void answer(const runtime::QueryView&) override {}
};

/// The backend belongs to the worker, so registering happens there.
struct RegisterQuery final : runtime::Query {
  RegisterQuery(Region of, std::span<std::byte> range) : region(of), memory(range) {}
  void answer(const runtime::QueryView& view) override {
    result = view.backend.register_memory(region, memory);
  }
  const Region region;
  const std::span<std::byte> memory;
  Result<void> result;
};

struct UnregisterQuery final : runtime::Query {
  explicit UnregisterQuery(Region of) : region(of) {}
  void answer(const runtime::QueryView& view) override { view.backend.unregister_memory(region); }
  const Region region;
};

}  // namespace longhaul::api
