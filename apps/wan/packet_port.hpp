// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/wan/port.hpp"

namespace longhaul::apps::wan {

/// An interface that exists: frames come by a ring shared with the kernel, each with the moment the
/// kernel saw it, and leave by sendmmsg.
Result<std::unique_ptr<Port>> open_packet_port(const std::string& name,
                                               std::vector<std::string>& notes);

/// An interface that is made for the run and goes with it; whoever uses it in this namespace is one
/// end of the link.
Result<std::unique_ptr<Port>> open_tap_port(const std::string& name);

}  // namespace longhaul::apps::wan
