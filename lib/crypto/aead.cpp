// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/aead.hpp"

namespace longhaul::crypto {

std::unique_ptr<Aead> make_aead(PacketCipher cipher, AeadEngine engine) {
  if (engine == AeadEngine::openssl) return make_openssl_aead(cipher);
  std::unique_ptr<Aead> aead = make_ipsec_mb_aead(cipher);
  if (aead == nullptr && engine == AeadEngine::fastest) aead = make_openssl_aead(cipher);
  return aead;
}

}  // namespace longhaul::crypto
