// SPDX-License-Identifier: Apache-2.0
#include <srt/logging_api.h>
#include <srt/srt.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "perf/compare/programs/byte_stream.hpp"
#include "perf/compare/programs/program.hpp"
#include "perf/compare/programs/sockets.hpp"

namespace {

using namespace longhaul::compare;

// SRT's data packets on the standard MTU of 1500: 1500 - 28 (IP, UDP) - 16 (its own header).
constexpr std::uint64_t kPayload = 1456;
constexpr int kReadTimeoutMs = 100;
constexpr std::uint64_t kUdpBuffer = 16'000'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + srt_getlasterror_str());
}

int must_srt(int result, const std::string& what) {
  if (result == SRT_ERROR) fail(what);
  return result;
}

template <typename T>
void set(SRTSOCKET socket, SRT_SOCKOPT option, T value, const char* name) {
  must_srt(srt_setsockflag(socket, option, &value, sizeof value), std::string("set ") + name);
}

int get_int(SRTSOCKET socket, SRT_SOCKOPT option, const char* name) {
  int value = 0;
  int size = sizeof value;
  must_srt(srt_getsockflag(socket, option, &value, &size), std::string("read ") + name);
  return value;
}

/// File mode as a stream of bytes: no drops, no deadline of delivery, SRT's own congestion control
/// for files. The flight window goes first; it bounds the receive buffer.
SRTSOCKET make_socket(const Options& options) {
  const SRTSOCKET socket = srt_create_socket();
  if (socket == SRT_INVALID_SOCK) fail("make an SRT socket");
  const int packets = static_cast<int>((options.buffer + kPayload - 1) / kPayload);
  const int buffer = static_cast<int>(options.buffer);
  set(socket, SRTO_TRANSTYPE, SRTT_FILE, "SRTO_TRANSTYPE");
  set(socket, SRTO_MESSAGEAPI, false, "SRTO_MESSAGEAPI");
  set(socket, SRTO_FC, packets, "SRTO_FC");
  set(socket, SRTO_SNDBUF, buffer, "SRTO_SNDBUF");
  set(socket, SRTO_RCVBUF, buffer, "SRTO_RCVBUF");
  set(socket, SRTO_UDP_SNDBUF, static_cast<int>(kUdpBuffer), "SRTO_UDP_SNDBUF");
  set(socket, SRTO_UDP_RCVBUF, static_cast<int>(kUdpBuffer), "SRTO_UDP_RCVBUF");
  set(socket, SRTO_RCVTIMEO, kReadTimeoutMs, "SRTO_RCVTIMEO");
  set(socket, SRTO_LINGER, linger{0, 0}, "SRTO_LINGER");
  return socket;
}

class SrtStream final : public ByteStream {
 public:
  explicit SrtStream(SRTSOCKET socket)
      : socket_(socket), udp_buffer_(force_udp_buffers(kUdpBuffer)) {
    set(socket, SRTO_RCVTIMEO, kReadTimeoutMs, "SRTO_RCVTIMEO");
  }

  std::size_t write(std::span<const std::byte> bytes) override {
    const int chunk = static_cast<int>(std::min<std::size_t>(bytes.size(), 1u << 20));
    const int taken = srt_send(socket_, reinterpret_cast<const char*>(bytes.data()), chunk);
    return taken != SRT_ERROR ? static_cast<std::size_t>(taken) : failed("send");
  }
  std::size_t read(std::span<std::byte> bytes) override {
    const int chunk = static_cast<int>(std::min<std::size_t>(bytes.size(), 1u << 20));
    const int got = srt_recv(socket_, reinterpret_cast<char*>(bytes.data()), chunk);
    return got != SRT_ERROR ? static_cast<std::size_t>(got) : failed("receive");
  }
  bool ended() const override { return ended_; }
  Json about() override {
    const std::uint32_t version = srt_getversion();
    return {
        {"version", "libsrt " + std::to_string(version >> 16) + "." +
                        std::to_string(version >> 8 & 0xFF) + "." + std::to_string(version & 0xFF)},
        {"settings",
         {{"mode", "file, stream of bytes"},
          {"encryption", "none"},
          {"flight_window_packets", get_int(socket_, SRTO_FC, "SRTO_FC")},
          {"send_buffer", get_int(socket_, SRTO_SNDBUF, "SRTO_SNDBUF")},
          {"receive_buffer", get_int(socket_, SRTO_RCVBUF, "SRTO_RCVBUF")},
          {"udp_buffer", udp_buffer_}}}};
  }
  Json counters() override {
    SRT_TRACEBSTATS stats{};
    must_srt(srt_bstats(socket_, &stats, 0), "read statistics");
    return {{"retransmitted_packets", stats.pktRetransTotal}, {"sent_packets", stats.pktSentTotal}};
  }
  void close() override { srt_close(socket_); }

 private:
  /// Nothing came in time, or the peer left; anything else is an error.
  std::size_t failed(const char* what) {
    const int error = srt_getlasterror(nullptr);
    if (error == SRT_ETIMEOUT || error == SRT_EASYNCRCV) return 0;
    if (error != SRT_ECONNLOST && error != SRT_ENOCONN && error != SRT_EINVSOCK) fail(what);
    ended_ = true;
    return 0;
  }

  SRTSOCKET socket_;
  std::uint64_t udp_buffer_;
  std::atomic<bool> ended_{false};
};

class SrtReceiver final : public Receiver {
 public:
  explicit SrtReceiver(const Options& options) : listener_(make_socket(options)) {
    const SystemAddress local = to_system(options.address, options.port);
    must_srt(srt_bind(listener_, local.get(), static_cast<int>(local.size)),
             "bind " + options.address + " port " + std::to_string(options.port));
    must_srt(srt_listen(listener_, 1), "listen");
  }
  void accept() override {
    const SRTSOCKET socket = srt_accept(listener_, nullptr, nullptr);
    if (socket == SRT_INVALID_SOCK) fail("accept");
    stream_ = std::make_unique<SrtStream>(socket);
  }
  void run(Inbox& inbox) override { serve_stream(*stream_, inbox); }

 private:
  SRTSOCKET listener_;
  std::unique_ptr<SrtStream> stream_;
};

void start_up() {
  // It writes a line to stderr for every read that times out.
  srt_setloglevel(LOG_CRIT);
  srt_startup();
}

std::unique_ptr<Sender> make_sender(const Options& options) {
  start_up();
  const SRTSOCKET socket = make_socket(options);
  const SystemAddress server = to_system(options.address, options.port);
  must_srt(srt_connect(socket, server.get(), static_cast<int>(server.size)),
           "connect to " + options.address + " (is the server there?)");
  return std::make_unique<StreamSender>(std::make_unique<SrtStream>(socket));
}

std::unique_ptr<Receiver> make_receiver(const Options& options) {
  start_up();
  return std::make_unique<SrtReceiver>(options);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {.program = "compare-srt",
                      .description = "Messages over one SRT connection in file mode.",
                      .add_options = [](CLI::App&) {},
                      .connect = make_sender,
                      .listen = make_receiver});
}
