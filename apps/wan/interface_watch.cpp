// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/interface_watch.hpp"

namespace longhaul::apps::wan {

namespace {

// The kernel may take a second to say that an interface just brought up has a carrier.
constexpr Duration kCarrierPatience = std::chrono::seconds(2);

}  // namespace

std::string InterfaceWatch::changed(const std::string& name, InterfaceState state, Timestamp now) {
  if (state != seen_) {
    seen_ = state;
    since_ = now;
  }
  const bool lasts = state != InterfaceState::no_carrier || now - since_ >= kCarrierPatience;
  if (state == told_ || !lasts) return {};
  told_ = state;
  switch (state) {
    case InterfaceState::up:
      return name + " is up again";
    case InterfaceState::no_carrier:
      return name + " has no carrier: its other end is down";
    case InterfaceState::down:
      return name + " is down";
  }
  return {};
}

}  // namespace longhaul::apps::wan
