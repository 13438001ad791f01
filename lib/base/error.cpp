// SPDX-License-Identifier: Apache-2.0
#include "longhaul/error.hpp"

#include <algorithm>
#include <system_error>

namespace longhaul {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::unknown_host:
      return "unknown_host";
    case ErrorCode::address_in_use:
      return "address_in_use";
    case ErrorCode::wrong_family:
      return "wrong_family";
    case ErrorCode::no_permission:
      return "no_permission";
    case ErrorCode::system:
      return "system";
    case ErrorCode::budget_exceeded:
      return "budget_exceeded";
    case ErrorCode::would_block:
      return "would_block";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::closed:
      return "closed";
    case ErrorCode::peer_lost:
      return "peer_lost";
    case ErrorCode::version_mismatch:
      return "version_mismatch";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::not_contiguous:
      return "not_contiguous";
    case ErrorCode::cannot_fill_pipe:
      return "cannot_fill_pipe";
    case ErrorCode::not_authenticated:
      return "not_authenticated";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string text(to_string(error.code));
  // The system's words belong to the cause, which ends at the first semicolon; the remedy follows.
  const std::size_t cause_end = std::min(error.context.find(';'), error.context.size());
  if (!error.context.empty()) text.append(": ").append(error.context, 0, cause_end);
  if (error.os_error != 0) {
    text.append(" (").append(std::generic_category().message(error.os_error)).append(")");
  }
  return text.append(error.context, cause_end);
}

}  // namespace longhaul
