// SPDX-License-Identifier: Apache-2.0
// From what the configuration says about keys, text or files, to what the core believes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lib/api/security_check.hpp"
#include "lib/crypto/credentials.hpp"

namespace longhaul::api {

struct LoadedCredentials {
  std::shared_ptr<crypto::Credentials> credentials;  ///< null: security none
  std::string description;                           ///< for the log: "psk NAME" …, never a key
};

/// Reads what `config`, which check_security has passed, names. Errors say which setting and file,
/// and what to do; never a byte of a key. What was read in between is wiped.
Result<LoadedCredentials> load_credentials(const EndpointConfig& config, Security security);

/// The whole of a regular file, for `setting` of the configuration. The caller wipes a secret.
Result<std::string> read_public_file(std::string_view setting, const std::string& path);
/// The same for a file of a secret, which nobody but its owner may read or write.
Result<std::string> read_secret_file(std::string_view setting, const std::string& path);

}  // namespace longhaul::api
