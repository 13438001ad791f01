// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/aead.hpp"

namespace longhaul::crypto {

std::unique_ptr<Aead> make_ipsec_mb_aead(PacketCipher) {
  return nullptr;
}

}  // namespace longhaul::crypto
