// SPDX-License-Identifier: Apache-2.0
#include "longhaul/stats.hpp"

namespace longhaul {

std::string_view to_string(DropReason reason) noexcept {
  switch (reason) {
    case DropReason::too_short:
      return "too_short";
    case DropReason::malformed_header:
      return "malformed_header";
    case DropReason::unknown_version:
      return "unknown_version";
    case DropReason::unknown_connection:
      return "unknown_connection";
    case DropReason::failed_integrity:
      return "failed_integrity";
    case DropReason::duplicate_packet:
      return "duplicate_packet";
    case DropReason::malformed_frame:
      return "malformed_frame";
    case DropReason::unknown_transfer:
      return "unknown_transfer";
    case DropReason::invalid_token:
      return "invalid_token";
    case DropReason::table_full:
      return "table_full";
    case DropReason::amplification_limit:
      return "amplification_limit";
    case DropReason::wrong_size:
      return "wrong_size";
    case DropReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace longhaul
