// SPDX-License-Identifier: Apache-2.0
// Between the structs of the C interface and the types of the C++ one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longhaul/endpoint.hpp"
#include "longhaul/longhaul_types.h"

namespace longhaul::api::c {

/// `value` as an enumerator from `first` to `last`; the C++ ones are narrower, so a number is
/// checked before it is made one.
template <typename Enum>
Result<Enum> to_enum(std::int32_t value, Enum first, Enum last, std::string_view name) {
  if (value < static_cast<std::int32_t>(first) || value > static_cast<std::int32_t>(last)) {
    return fail(ErrorCode::invalid_argument,
                std::string(name) + " has no number " + std::to_string(value));
  }
  return static_cast<Enum>(value);
}

Result<bool> to_bool(std::uint32_t value, std::string_view name);
Result<MemoryKind> to_memory_kind(longhaul_memory_kind kind);
/// Refuses NULL.
Result<std::string_view> to_text(const char* text, std::string_view name);

/// Timeouts of waiting calls: below 0 is none.
std::optional<Duration> to_wait(std::int64_t timeout_ns) noexcept;
/// The same where there has to be one: below 0 is longer than anything.
Duration to_duration(std::int64_t timeout_ns) noexcept;

Result<SocketAddress> to_address(const longhaul_address* address);
longhaul_address from_address(const SocketAddress& address) noexcept;
/// Writes into the caller's struct.
Result<void> give_address(const SocketAddress& address, longhaul_address* out);

/// NULL options are the defaults.
Result<ConnectOptions> to_options(const longhaul_connect_options* options);
Result<SendOptions> to_options(const longhaul_send_options* options);
Result<ReceiveOptions> to_options(const longhaul_receive_options* options);

Result<ConstTensorView> to_view(const longhaul_const_tensor* tensor);
Result<TensorView> to_view(const longhaul_tensor* tensor);
Result<std::vector<ConstTensorView>> to_views(const longhaul_const_tensor* tensors,
                                              std::size_t count);
Result<std::vector<TensorView>> to_views(const longhaul_tensor* tensors, std::size_t count);

longhaul_completion from_completion(const Completion& completion) noexcept;
longhaul_connection_stats from_stats(const ConnectionStats& stats) noexcept;
longhaul_endpoint_stats from_stats(const EndpointStats& stats) noexcept;

}  // namespace longhaul::api::c
