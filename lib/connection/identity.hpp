// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/datagram.hpp"
#include "lib/crypto/aead_protection.hpp"
#include "lib/crypto/credentials.hpp"
#include "lib/crypto/secrets.hpp"
#include "lib/transfer/messages.hpp"
#include "lib/wire/packet.hpp"
#include "longhaul/address.hpp"
#include "longhaul/config.hpp"
#include "longhaul/congestion.hpp"

namespace longhaul::connection {

enum class Role : std::uint8_t { client, server };

/// What a connection is born with.
struct ConnectionConfig {
  transfer::ConnectionId id = 0;
  Role role = Role::client;
  SocketAddress remote;
  std::uint32_t own_cid = 0;
  std::uint32_t peer_cid = 0;  ///< server: from the initial; client: learned from the accept
  std::uint64_t attempt = 0;
  bool address_validated = false;  ///< server: the client returned a token
  Duration connect_timeout{};      ///< client
  wire::ResetToken reset_token{};
  crypto::Secret entropy;                            ///< of all the connection draws
  const EndpointConfig* endpoint = nullptr;          ///< outlives the connection
  std::shared_ptr<crypto::Credentials> credentials;  ///< null: security none
  crypto::AeadLimits aead_limits{};
  congestion::ControllerFactory make_controller = nullptr;
  base::PayloadMode payload_mode = base::PayloadMode::bytes;
  std::uint32_t datagram_max = 65507;  ///< of the backend
  bool departure_times = false;        ///< the backend honours them
};

}  // namespace longhaul::connection
