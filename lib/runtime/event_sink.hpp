// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/endpoint/endpoint.hpp"
#include "lib/runtime/request.hpp"

namespace longhaul::runtime {

/// Where a worker publishes. Called on the worker's thread only; must never block.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// The core is about to hear of this owner's request; its events follow.
  virtual void adopt(std::shared_ptr<Owner> owner) = 0;
  /// False if there is no room: nothing was taken, and the worker offers the event again (and
  /// drains no other) until it is. Whoever makes room nudges the worker's mailbox.
  virtual bool on_event(endpoint::Event& event) = 0;
};

}  // namespace longhaul::runtime
