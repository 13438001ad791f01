// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace longhaul::io::kernel {

/// What moves the datagrams of the socket; README.md has what each is good for.
enum class EngineChoice : std::uint8_t {
  automatic,           ///< the faster one of those the system allows
  mmsg,                ///< sendmmsg and recvmmsg
  io_uring,            ///< a ring, every message copied
  io_uring_zero_copy,  ///< a ring, large messages not copied as long as that pays
};

struct EngineName {
  std::string_view name;
  EngineChoice choice;
};
inline constexpr std::array kEngineNames{
    EngineName{"auto", EngineChoice::automatic},
    EngineName{"mmsg", EngineChoice::mmsg},
    EngineName{"io_uring", EngineChoice::io_uring},
    EngineName{"io_uring_zero_copy", EngineChoice::io_uring_zero_copy},
};

/// The choice a configuration names; none if there is no such engine.
constexpr std::optional<EngineChoice> engine_named(std::string_view name) noexcept {
  for (const EngineName& entry : kEngineNames) {
    if (entry.name == name) return entry.choice;
  }
  return std::nullopt;
}

}  // namespace longhaul::io::kernel
