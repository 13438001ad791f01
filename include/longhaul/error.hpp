// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "longhaul/export.hpp"

namespace longhaul {

/// What went wrong. The numbers are fixed: they are also the C ABI's.
enum class ErrorCode : std::uint16_t {
  invalid_argument = 1,    ///< the caller passed something no call of this kind accepts
  unsupported = 2,         ///< known, but not in this build or on this machine
  unknown_host = 3,        ///< the name does not resolve
  address_in_use = 4,      ///< another socket holds the port
  wrong_family = 5,        ///< IPv4 address on an IPv6 endpoint, or the reverse
  no_permission = 6,       ///< the system refused; the context says what is needed
  system = 7,              ///< another operating-system error, in `os_error`
  budget_exceeded = 8,     ///< a configured table or memory budget cannot hold this
  would_block = 9,         ///< nothing yet; call again after `completion_fd()` is readable
  timed_out = 10,          ///< the deadline of this call passed
  closed = 11,             ///< endpoint or connection is closed (or this is a forked child)
  peer_lost = 12,          ///< nothing was heard from the peer for `peer_timeout`
  version_mismatch = 13,   ///< peer speaks no version we speak
  refused = 14,            ///< the peer said no
  not_contiguous = 15,     ///< tensor memory has gaps between elements
  cannot_fill_pipe = 16,   ///< the budgets are below rate × RTT; the context has the arithmetic
  internal = 17,           ///< a broken invariant: our bug
  not_authenticated = 18,  ///< wrong key or certificate, on one side or the other
};

/// Stable lower-case name of the code, such as "address_in_use".
LONGHAUL_API std::string_view to_string(ErrorCode code) noexcept;

/// Why a call failed. Cheap enough for set-up paths; the data path reports statuses instead.
struct Error {
  ErrorCode code = ErrorCode::internal;
  int os_error = 0;     ///< errno, or 0 when the system was not involved
  std::string context;  ///< cause and remedy in one short line; may be empty
};

/// "address_in_use: UDP port 5201 is taken (Address already in use); choose another port".
LONGHAUL_API std::string to_string(const Error& error);

}  // namespace longhaul
