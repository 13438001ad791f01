// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/wan/interface.hpp"
#include "longhaul/time.hpp"

namespace longhaul::apps::wan {

/// Says once that an interface went down, and once that it is up again.
class InterfaceWatch {
 public:
  /// What to tell of the interface `name`, which is in this state now; empty if nothing new.
  std::string changed(const std::string& name, InterfaceState state, Timestamp now);

 private:
  InterfaceState told_ = InterfaceState::up;
  InterfaceState seen_ = InterfaceState::up;
  Timestamp since_{};
};

}  // namespace longhaul::apps::wan
