// SPDX-License-Identifier: Apache-2.0
#include "lib/path/path_validator.hpp"

namespace longhaul::path {
namespace {
constexpr std::uint64_t kAmplificationFactor = 3;  // RFC 9000 §8.1
}

void PathValidator::on_new_address(Timestamp now, const SocketAddress& address, std::size_t bytes,
                                   Duration pto, base::RandomSource& random) {
  if (!active_ || candidate_ != address) {
    active_ = true;
    candidate_ = address;
    data_ = random.next();
    bytes_heard_ = bytes_sent_ = 0;
    tries_ = 0;
    pto_ = pto;
    due_ = now;
  }
  bytes_heard_ += bytes;
}

std::optional<PathValidator::Challenge> PathValidator::poll_challenge(Timestamp now,
                                                                      std::size_t bytes) {
  if (!active_ || now < due_) return std::nullopt;
  if (tries_ == kTriesMax) {
    active_ = false;
    due_ = kNever;
    return std::nullopt;
  }
  ++tries_;
  due_ = now + pto_;
  if (bytes_sent_ + bytes > kAmplificationFactor * bytes_heard_) return std::nullopt;
  bytes_sent_ += bytes;
  return Challenge{candidate_, data_};
}

std::optional<SocketAddress> PathValidator::on_response(std::uint64_t data) {
  if (!active_ || bytes_sent_ == 0 || data != data_) return std::nullopt;
  active_ = false;
  due_ = kNever;
  return candidate_;
}

Timestamp PathValidator::next_timeout() const noexcept {
  return active_ ? due_ : kNever;
}

}  // namespace longhaul::path
