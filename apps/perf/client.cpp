// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/client.hpp"

#include <fmt/format.h>

#include <memory>
#include <random>

#include "apps/perf/client_test.hpp"
#include "apps/perf/endpoint_setup.hpp"
#include "apps/perf/event_loop.hpp"

namespace longhaul::apps::perf {

namespace {

/// How long Ctrl-C may go unnoticed while connecting.
constexpr Duration kConnectStep = std::chrono::milliseconds(20);

Result<Workload> prepare(const Options& options) {
  Workload workload;
  if (options.file.empty()) {
    std::random_device entropy;
    auto plan = plan_stream(options, std::uint64_t{entropy()} << 32 | entropy());
    if (!plan) return tl::unexpected(std::move(plan.error()));
    workload.plan = std::move(*plan);
    if (workload.plan.client_sends()) {
      auto source = StreamSource::create(workload.plan);
      if (!source) return tl::unexpected(std::move(source.error()));
      workload.source = std::make_unique<StreamSource>(std::move(*source));
    }
    if (workload.plan.server_sends()) {
      auto sink = StreamSink::create(workload.plan);
      if (!sink) return tl::unexpected(std::move(sink.error()));
      workload.sink = std::move(*sink);
    }
    return workload;
  }
  auto file = read_safetensors(options.file);
  if (!file) return tl::unexpected(std::move(file.error()));
  workload.file = std::make_unique<SafetensorsFile>(std::move(*file));
  workload.plan = plan_file(options, *workload.file);
  workload.digests = digests_of(*workload.file);
  auto source = FileSource::create(*workload.file);
  if (!source) return tl::unexpected(std::move(source.error()));
  workload.source = std::make_unique<FileSource>(std::move(*source));
  return workload;
}

/// What to do about a server that does not answer.
Error with_hint(const Options& options, Error error) {
  const bool helped = error.context.find(';') != std::string::npos;
  if (!helped && (error.code == ErrorCode::refused || error.code == ErrorCode::timed_out)) {
    const bool usual = options.port == Options{}.port;
    const std::string_view security = security_name(options);
    error.context += fmt::format("; start `longhaul-perf -s{}{}` there",
                                 usual ? "" : fmt::format(" -p {}", options.port),
                                 security == "psk"    ? " --key FILE"
                                 : security == "none" ? " --security none"
                                                      : " --cert FILE ...");
  }
  return error;
}

Result<Connection> connect(const Options& options, Endpoint& endpoint, const SocketAddress& remote,
                           InterruptWatch& interrupts) {
  ConnectOptions how;
  how.timeout = options.connect_timeout;
  auto connection = endpoint.connect_async(remote, how);
  if (!connection) return connection;
  for (;;) {
    auto connected = connection->wait_connected(kConnectStep);
    if (connected) return connection;
    if (is_terminal(connection->status())) {
      return tl::unexpected(with_hint(options, std::move(connected.error())));
    }
    if (interrupts.interrupted()) {
      static_cast<void>(connection->close("the client was interrupted"));
      return fail(ErrorCode::closed, "interrupted while connecting");
    }
  }
}

Result<int> run(const Options& options, Reporter& reporter) {
  // Until a peer has to be told, Ctrl-C simply ends the program: preparing gigabytes takes seconds.
  auto workload = prepare(options);
  if (!workload) return tl::unexpected(std::move(workload.error()));
  auto interrupts = InterruptWatch::create();
  if (!interrupts) return tl::unexpected(std::move(interrupts.error()));
  auto remote = resolve_host(options, options.host, options.port);
  if (!remote) return tl::unexpected(std::move(remote.error()));
  auto local = local_address(options, remote->family, 0);
  if (!local) return tl::unexpected(std::move(local.error()));
  auto endpoint = open_endpoint(options, *local);
  if (!endpoint) return tl::unexpected(std::move(endpoint.error()));
  reporter.on_connecting(options.host, options.port);
  auto connection = connect(options, *endpoint, *remote, *interrupts);
  if (!connection) return tl::unexpected(std::move(connection.error()));
  EventLoop loop(*interrupts);
  loop.add(*endpoint);
  ClientTest test(options, *workload, loop, reporter, *endpoint, *connection);
  auto status = test.run();
  // Before the test goes: until then its memory may be read by the library.
  endpoint->close();
  return status;
}

}  // namespace

int run_client(const Options& options, Reporter& reporter) {
  auto status = run(options, reporter);
  if (status) return *status;
  reporter.on_error(explain(status.error()));
  return 1;
}

}  // namespace longhaul::apps::perf
