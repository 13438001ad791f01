// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/kernel_backend.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/io/kernel/helper_thread.hpp"
#include "lib/io/kernel/mmsg_engine.hpp"

namespace longhaul::io::kernel {
namespace {

std::size_t messages_of(const KernelOptions& options) noexcept {
  return std::max<std::size_t>(options.receive_messages, 1);
}

}  // namespace

Result<std::unique_ptr<Backend>> KernelBackend::open(const KernelOptions& options) {
  auto socket = Socket::open({.local = options.local,
                              .device = options.device,
                              .receive_buffer = options.receive_buffer,
                              .send_buffer = options.send_buffer,
                              .coalescing = options.coalescing});
  if (!socket) return tl::unexpected<Error>(std::move(socket.error()));
  auto waker = Waker::open();
  if (!waker) return tl::unexpected<Error>(std::move(waker.error()));
  std::unique_ptr<KernelBackend> backend(
      new KernelBackend(std::move(*socket), std::move(*waker), options));
  if (auto chosen = backend->choose_engine(options); !chosen) {
    return tl::unexpected<Error>(std::move(chosen.error()));
  }
  return backend;
}

KernelBackend::KernelBackend(Socket socket, Waker waker, const KernelOptions& options)
    : socket_(std::move(socket)), waker_(std::move(waker)), log_(options.log) {
  capabilities_.name = "kernel";
  capabilities_.burst_max = TxBatch::kDatagramsMax;
  if (options.segmentation) {
    capabilities_.train_bytes = kMessageBytesMax;
    capabilities_.train_datagrams = kSegmentsMax;
  }
  capabilities_.datagram_max = socket_.datagram_max();
  capabilities_.ecn = true;
  capabilities_.dscp = true;
  capabilities_.wakes = true;
}

Result<void> KernelBackend::choose_engine(const KernelOptions& options) {
  engine_ = std::make_unique<MmsgEngine>(socket_, options.segmentation, messages_of(options));
  if (options.engine == EngineChoice::mmsg) return {};
  const bool automatic = options.engine == EngineChoice::automatic;
  if (automatic && !options.one_thread) {
    log(LogLevel::info, "engine mmsg, because a ring belongs to one thread and any may poll");
    return {};
  }
  Result<std::unique_ptr<UringEngine>> ring = nullptr;
  std::optional<EngineCosts> costs;
  auto ran = on_helper_thread([&] {
    ring = open_ring(options);
    if (!automatic || !ring) return;
    costs = measure_engines(options.local.family, options.segmentation);
    // A ring that is not wanted goes where it came from: closing it is touching it.
    if (!costs || !is_ring_faster(*costs)) ring->reset();
  });
  if (!ran) ring = tl::unexpected<Error>(std::move(ran.error()));
  if (automatic) {
    if (!is_ring_worth_it(ring, costs)) return {};
  } else if (!ring) {
    return tl::unexpected<Error>(std::move(ring.error()));
  }
  spare_ = std::exchange(engine_, std::move(*ring));
  return {};
}

Result<std::unique_ptr<UringEngine>> KernelBackend::open_ring(const KernelOptions& options) const {
  return UringEngine::open(socket_,
                           {.segmentation = options.segmentation,
                            .receive_messages = messages_of(options),
                            .zero_copy = options.engine == EngineChoice::io_uring_zero_copy,
                            .log = options.log});
}

bool KernelBackend::is_ring_worth_it(const Result<std::unique_ptr<UringEngine>>& ring,
                                     const std::optional<EngineCosts>& costs) const {
  if (!ring) {
    log(LogLevel::info, "engine mmsg, because " + ring.error().context);
    return false;
  }
  if (!costs) {
    log(LogLevel::info, "engine mmsg, because io_uring could not be measured against it");
    return false;
  }
  const bool faster = is_ring_faster(*costs);
  log(LogLevel::info, std::string("engine ") + (faster ? "io_uring" : "mmsg") +
                          ", because a datagram costs " + std::to_string(costs->mmsg) +
                          " ns of CPU with mmsg and " + std::to_string(costs->io_uring) +
                          " ns with io_uring on this machine");
  return faster;
}

std::size_t KernelBackend::receive(Timestamp now, std::span<base::RxDatagram> out) noexcept {
  // Here and nowhere else: what the last receive handed out is in the engine's memory.
  if (spare_ != nullptr && !engine_->failure().empty()) replace_engine();
  return engine_->receive(now, out);
}

std::size_t KernelBackend::transmit(Timestamp /*now*/,
                                    std::span<const base::TxDatagram> burst) noexcept {
  return engine_->transmit(burst);
}

void KernelBackend::replace_engine() noexcept {
  try {
    log(LogLevel::warning, "engine " + std::string(engine_->name()) +
                               " gives way to mmsg: " + std::string(engine_->failure()));
  } catch (...) {
    log(LogLevel::warning, "engine io_uring gives way to mmsg");
  }
  spare_->continue_stats(engine_->stats());
  engine_ = std::move(spare_);
}

void KernelBackend::wait(Duration longest) noexcept {
  if (engine_->pending()) return;
  // An error left pending would end every later sleep at once.
  const auto reason = waker_.sleep(socket_.number(), longest, engine_->second_descriptor());
  if (reason == Waker::Reason::error) socket_.clear_errors();
}

// The kernel copies whatever memory it is given; registering gains nothing here.
Result<void> KernelBackend::register_memory(Region /*region*/, std::span<std::byte> /*memory*/) {
  return {};
}

void KernelBackend::unregister_memory(Region /*region*/) {}

void KernelBackend::log(LogLevel level, std::string_view line) const noexcept {
  if (!log_) return;
  try {
    log_(level, line);
  } catch (...) {
    return;  // there is nobody to tell
  }
}

}  // namespace longhaul::io::kernel
