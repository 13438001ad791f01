// SPDX-License-Identifier: Apache-2.0
#include "longhaul/status.hpp"

namespace longhaul {

std::string_view to_string(Status status) noexcept {
  switch (status) {
    case Status::pending:
      return "pending";
    case Status::completed:
      return "completed";
    case Status::completed_partial:
      return "completed_partial";
    case Status::timed_out:
      return "timed_out";
    case Status::cancelled:
      return "cancelled";
    case Status::peer_lost:
      return "peer_lost";
    case Status::corrupt:
      return "corrupt";
    case Status::refused:
      return "refused";
    case Status::closed:
      return "closed";
    case Status::internal:
      return "internal";
  }
  return "unknown";
}

std::string_view to_string(TrafficClass traffic_class) noexcept {
  switch (traffic_class) {
    case TrafficClass::control:
      return "control";
    case TrafficClass::critical:
      return "critical";
    case TrafficClass::bulk:
      return "bulk";
    case TrafficClass::scavenger:
      return "scavenger";
  }
  return "unknown";
}

std::string_view to_string(Reliability reliability) noexcept {
  switch (reliability) {
    case Reliability::exact:
      return "exact";
    case Reliability::bounded_loss:
      return "bounded_loss";
    case Reliability::best_effort:
      return "best_effort";
  }
  return "unknown";
}

}  // namespace longhaul
