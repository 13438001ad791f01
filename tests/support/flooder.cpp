// SPDX-License-Identifier: Apache-2.0
#include "tests/support/flooder.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "lib/base/byte_writer.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::tests {
namespace {

constexpr std::size_t kAddresses = 64;
constexpr std::size_t kBurst = 32;

sockaddr_in ipv4(std::uint32_t address, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(port);
  return result;
}

int bound_to(std::uint32_t address) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const sockaddr_in where = ipv4(address, 0);
  if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
    throw std::runtime_error("no socket for a flood");
  // Answers are for nobody.
  const int small = 2048;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  return socket;
}

std::vector<std::byte> first_packet_of(EndpointConfig config) {
  const int listener = bound_to(INADDR_LOOPBACK);
  sockaddr_in where{};
  socklen_t size = sizeof(where);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size);
  config.local = SocketAddress::parse("127.0.0.1", 0).value();
  auto client = Endpoint::open(config);
  if (!client) throw std::runtime_error(to_string(client.error()));
  auto connecting = client->connect_async(
      SocketAddress::parse("127.0.0.1", ntohs(where.sin_port)).value(), ConnectOptions{});
  std::vector<std::byte> packet(2000);
  pollfd readable{listener, POLLIN, 0};
  const ssize_t got =
      ::poll(&readable, 1, 5000) == 1 ? ::recv(listener, packet.data(), packet.size(), 0) : -1;
  ::close(listener);
  if (got <= 0) throw std::runtime_error("a client says nothing");
  packet.resize(static_cast<std::size_t>(got));
  return packet;
}

std::vector<std::byte> initial(const wire::LongHeader& header, std::span<const std::byte> frames) {
  std::vector<std::byte> body(frames.begin(), frames.end());
  body.resize(std::max(body.size(), wire::kInitialDatagramMin - wire::kLongHeaderBytes -
                                        wire::kCrcBytes - header.token.size()));
  std::vector<std::byte> bytes(body.size() + 256);
  bytes.resize(wire::write_long_packet(header, body, bytes));
  return bytes;
}

}  // namespace

Forgery forgery_called(std::string_view name) {
  constexpr std::array<std::string_view, kForgeries> kNames{"nonsense", "hello", "token", "shorts"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) throw std::runtime_error("no forgery of that name");
  return static_cast<Forgery>(found - kNames.begin());
}

Flooder::Flooder(const EndpointConfig& config, const SocketAddress& target)
    : target_(target), model_(first_packet_of(config)) {
  constexpr std::uint32_t kFirst = 0x7f010001;  // 127.1.0.1
  for (std::uint32_t i = 0; i < kAddresses; ++i) sockets_.push_back(bound_to(kFirst + 257 * i));
}

Flooder::~Flooder() {
  stop();
  for (const int socket : sockets_) ::close(socket);
}

void Flooder::start(Forgery kind, std::uint64_t per_second) {
  sent_ = 0;
  thread_ = std::jthread(
      [this, kind, per_second](std::stop_token stop) { run(std::move(stop), kind, per_second); });
}

void Flooder::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

std::vector<std::byte> Flooder::make(Forgery kind) {
  if (kind == Forgery::shorts) {
    std::vector<std::byte> bytes(1200);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.next());
    bytes[0] &= std::byte{0x3f};
    return bytes;
  }
  wire::LongError error{};
  const auto model = wire::read_long_packet(model_, error);
  if (!model) throw std::runtime_error("a client's first packet cannot be read");
  wire::LongHeader header = model->header;
  header.attempt = random_.next();
  header.source_id = static_cast<std::uint32_t>(random_.next());
  std::array<std::byte, 24> token;
  for (std::byte& byte : token) byte = static_cast<std::byte>(random_.next());
  if (kind == Forgery::token) header.token = token;
  std::vector<std::byte> frames(
      model->frames.begin(),
      model->frames.begin() + static_cast<std::ptrdiff_t>(model->frames.size() / 2));
  if (kind == Forgery::nonsense)
    for (std::byte& byte : frames) byte = static_cast<std::byte>(random_.next());
  return initial(header, frames);
}

void Flooder::send_burst(Forgery kind, std::size_t count) {
  std::array<std::vector<std::byte>, kBurst> packets;
  std::array<iovec, kBurst> parts{};
  std::array<mmsghdr, kBurst> messages{};
  std::uint32_t address = 0;
  std::memcpy(&address, target_.bytes.data(), sizeof(address));
  sockaddr_in to = ipv4(ntohl(address), target_.port);
  for (std::size_t i = 0; i < count; ++i) {
    packets[i] = make(kind);
    parts[i] = {packets[i].data(), packets[i].size()};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = &to;
    messages[i].msg_hdr.msg_namelen = sizeof(to);
  }
  const int socket = sockets_[random_.below(sockets_.size())];
  const int sent = ::sendmmsg(socket, messages.data(), static_cast<unsigned>(count), 0);
  if (sent > 0) sent_ += static_cast<std::uint64_t>(sent);
}

void Flooder::run(std::stop_token stop, Forgery kind, std::uint64_t per_second) {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t tried = 0;
  while (!stop.stop_requested()) {
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begin);
    const std::uint64_t due = static_cast<std::uint64_t>(passed.count()) * per_second / 1'000'000;
    for (; tried + kBurst <= due; tried += kBurst) send_burst(kind, kBurst);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace longhaul::tests
