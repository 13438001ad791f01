// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/random_source.hpp"
#include "lib/crypto/secrets.hpp"

namespace longhaul::crypto {

/// Generator for what leaves the machine and for keys: AES-256-CTR with fast key erasure, so that
/// its output tells neither what comes next nor, to who reads the memory, what came before. Equal
/// entropy gives equal numbers. Draws cost some twenty nanoseconds and do not allocate.
class SecretRandom final : public base::RandomSource {
 public:
  explicit SecretRandom(const Secret& entropy);
  SecretRandom(const SecretRandom&) = delete;
  SecretRandom& operator=(const SecretRandom&) = delete;
  ~SecretRandom();

  std::uint64_t next() override;
  void fill(std::span<std::byte> out);
  /// A key, or the entropy of another generator.
  Secret secret();

 private:
  static constexpr std::size_t kPoolBytes = 256;
  void refill();

  struct Context;
  std::unique_ptr<Context> context_;
  std::array<std::byte, kPoolBytes> pool_{};  // zero where it was handed out
  std::size_t used_ = kPoolBytes;
};

/// For simulations and tests, where a seed has to give everything: whoever knows it knows all
/// secrets.
Secret simulated_entropy(std::uint64_t seed);

}  // namespace longhaul::crypto
