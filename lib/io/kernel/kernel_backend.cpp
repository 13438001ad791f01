// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/kernel_backend.hpp"

#include <utility>

namespace longhaul::io::kernel {

Result<std::unique_ptr<Backend>> KernelBackend::open(const KernelOptions& options) {
  auto socket = Socket::open({.local = options.local,
                              .receive_buffer = options.receive_buffer,
                              .send_buffer = options.send_buffer,
                              .coalescing = options.coalescing});
  if (!socket) return tl::unexpected<Error>(std::move(socket.error()));
  auto waker = Waker::open();
  if (!waker) return tl::unexpected<Error>(std::move(waker.error()));
  return std::make_unique<KernelBackend>(std::move(*socket), std::move(*waker), options);
}

KernelBackend::KernelBackend(Socket socket, Waker waker, const KernelOptions& options)
    : socket_(std::move(socket)),
      waker_(std::move(waker)),
      engine_(socket_, options.segmentation, options.receive_messages) {
  capabilities_.name = "kernel";
  capabilities_.burst_max = TxBatch::kDatagramsMax;
  capabilities_.datagram_max = socket_.datagram_max();
  capabilities_.ecn = true;
  capabilities_.dscp = true;
  capabilities_.wakes = true;
}

std::size_t KernelBackend::receive(Timestamp now, std::span<base::RxDatagram> out) noexcept {
  return engine_.receive(now, out);
}

std::size_t KernelBackend::transmit(Timestamp /*now*/,
                                    std::span<const base::TxDatagram> burst) noexcept {
  return engine_.transmit(burst);
}

void KernelBackend::wait(Duration longest) noexcept {
  if (engine_.pending()) return;
  // An error left pending would end every later sleep at once.
  if (waker_.sleep(socket_.number(), longest) == Waker::Reason::error) socket_.clear_errors();
}

// The kernel copies whatever memory it is given; registering gains nothing here.
Result<void> KernelBackend::register_memory(Region /*region*/, std::span<std::byte> /*memory*/) {
  return {};
}

void KernelBackend::unregister_memory(Region /*region*/) {}

}  // namespace longhaul::io::kernel
