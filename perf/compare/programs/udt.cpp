// SPDX-License-Identifier: Apache-2.0
#include <udt/udt.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "perf/compare/programs/byte_stream.hpp"
#include "perf/compare/programs/program.hpp"
#include "perf/compare/programs/sockets.hpp"

namespace {

using namespace longhaul::compare;

// UDT's data packets on its default MSS of 1500: 1500 - 28 (IP, UDP) - 16 (its own header).
constexpr std::uint64_t kPayload = 1456;
constexpr int kReadTimeoutMs = 100;
constexpr std::uint64_t kUdpBuffer = 16'000'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + UDT::getlasterror().getErrorMessage());
}

int must_udt(int result, const std::string& what) {
  if (result == UDT::ERROR) fail(what);
  return result;
}

template <typename T>
void set(UDTSOCKET socket, UDTOpt option, T value, const char* name) {
  must_udt(UDT::setsockopt(socket, 0, option, &value, sizeof value), std::string("set ") + name);
}

int get_int(UDTSOCKET socket, UDTOpt option, const char* name) {
  int value = 0;
  int size = sizeof value;
  must_udt(UDT::getsockopt(socket, 0, option, &value, &size), std::string("read ") + name);
  return value;
}

/// The flight window goes first; it bounds the receive buffer.
UDTSOCKET make_socket(const Options& options, int family) {
  const UDTSOCKET socket = UDT::socket(family, SOCK_STREAM, 0);
  if (socket == UDT::INVALID_SOCK) fail("make a UDT socket");
  const int packets = static_cast<int>((options.buffer + kPayload - 1) / kPayload);
  const int buffer = static_cast<int>(options.buffer);
  set(socket, UDT_FC, packets, "UDT_FC");
  set(socket, UDT_SNDBUF, buffer, "UDT_SNDBUF");
  set(socket, UDT_RCVBUF, buffer, "UDT_RCVBUF");
  set(socket, UDP_SNDBUF, static_cast<int>(kUdpBuffer), "UDP_SNDBUF");
  set(socket, UDP_RCVBUF, static_cast<int>(kUdpBuffer), "UDP_RCVBUF");
  set(socket, UDT_LINGER, linger{0, 0}, "UDT_LINGER");
  return socket;
}

class UdtStream final : public ByteStream {
 public:
  explicit UdtStream(UDTSOCKET socket)
      : socket_(socket), udp_buffer_(force_udp_buffers(kUdpBuffer)) {
    set(socket, UDT_RCVTIMEO, kReadTimeoutMs, "UDT_RCVTIMEO");
  }

  std::size_t write(std::span<const std::byte> bytes) override {
    const int chunk = static_cast<int>(std::min<std::size_t>(bytes.size(), 1u << 20));
    const int taken = UDT::send(socket_, reinterpret_cast<const char*>(bytes.data()), chunk, 0);
    return taken != UDT::ERROR ? static_cast<std::size_t>(taken) : failed("send");
  }
  std::size_t read(std::span<std::byte> bytes) override {
    const int chunk = static_cast<int>(std::min<std::size_t>(bytes.size(), 1u << 20));
    const int got = UDT::recv(socket_, reinterpret_cast<char*>(bytes.data()), chunk, 0);
    return got != UDT::ERROR ? static_cast<std::size_t>(got) : failed("receive");
  }
  bool ended() const override { return ended_; }
  Json about() override {
    return {{"version", "UDT 4.11"},
            {"settings",
             {{"mode", "stream of bytes"},
              {"encryption", "none"},
              {"flight_window_packets", get_int(socket_, UDT_FC, "UDT_FC")},
              {"send_buffer", get_int(socket_, UDT_SNDBUF, "UDT_SNDBUF")},
              {"receive_buffer", get_int(socket_, UDT_RCVBUF, "UDT_RCVBUF")},
              {"udp_buffer", udp_buffer_}}}};
  }
  Json counters() override {
    UDT::TRACEINFO info{};
    must_udt(UDT::perfmon(socket_, &info, false), "read statistics");
    return {{"retransmitted_packets", info.pktRetransTotal}, {"sent_packets", info.pktSentTotal}};
  }
  void close() override { UDT::close(socket_); }

 private:
  /// Nothing came in time, or the peer left; anything else is an error.
  std::size_t failed(const char* what) {
    const int error = UDT::getlasterror().getErrorCode();
    if (error == CUDTException::ETIMEOUT || error == CUDTException::EASYNCRCV) return 0;
    if (error != CUDTException::ECONNLOST && error != CUDTException::ENOCONN &&
        error != CUDTException::EINVSOCK) {
      fail(what);
    }
    ended_ = true;
    return 0;
  }

  UDTSOCKET socket_;
  std::uint64_t udp_buffer_;
  std::atomic<bool> ended_{false};
};

class UdtReceiver final : public Receiver {
 public:
  explicit UdtReceiver(const Options& options) {
    const SystemAddress local = to_system(options.address, options.port);
    listener_ = make_socket(options, local.family());
    must_udt(UDT::bind(listener_, local.get(), static_cast<int>(local.size)),
             "bind " + options.address + " port " + std::to_string(options.port));
    must_udt(UDT::listen(listener_, 1), "listen");
  }
  void accept() override {
    SystemAddress client;
    int size = sizeof client.storage;
    const UDTSOCKET socket =
        UDT::accept(listener_, reinterpret_cast<sockaddr*>(&client.storage), &size);
    if (socket == UDT::INVALID_SOCK) fail("accept");
    stream_ = std::make_unique<UdtStream>(socket);
  }
  void run(Inbox& inbox) override { serve_stream(*stream_, inbox); }

 private:
  UDTSOCKET listener_ = UDT::INVALID_SOCK;
  std::unique_ptr<UdtStream> stream_;
};

std::unique_ptr<Sender> make_sender(const Options& options) {
  UDT::startup();
  const SystemAddress server = to_system(options.address, options.port);
  const UDTSOCKET socket = make_socket(options, server.family());
  must_udt(UDT::connect(socket, server.get(), static_cast<int>(server.size)),
           "connect to " + options.address + " (is the server there?)");
  return std::make_unique<StreamSender>(std::make_unique<UdtStream>(socket));
}

std::unique_ptr<Receiver> make_receiver(const Options& options) {
  UDT::startup();
  return std::make_unique<UdtReceiver>(options);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {.program = "compare-udt",
                      .description = "Messages over one UDT connection, as a stream of bytes.",
                      .add_options = [](CLI::App&) {},
                      .connect = make_sender,
                      .listen = make_receiver});
}
