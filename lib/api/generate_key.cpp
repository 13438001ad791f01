// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/credentials.hpp"
#include "longhaul/security.hpp"

namespace longhaul {

Result<std::string> generate_key(std::string_view identity) {
  const auto key = crypto::PskKey::generate(identity);
  if (!key) return tl::unexpected(key.error());
  return key->text();
}

}  // namespace longhaul
