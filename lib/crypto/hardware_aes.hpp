// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace longhaul::crypto {

/// Whether this CPU has instructions for AES-GCM; without them ChaCha20-Poly1305 is faster.
bool has_hardware_aes() noexcept;

}  // namespace longhaul::crypto
