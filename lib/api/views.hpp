// SPDX-License-Identifier: Apache-2.0
// What a tensor view must satisfy before the core sees it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/api/region_table.hpp"
#include "lib/endpoint/messages.hpp"
#include "longhaul/result.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::api {

/// A list of views that passed, as the core takes it.
struct CheckedSend {
  std::vector<endpoint::SendSegment> segments;
  std::vector<RegionHold> regions;
  std::uint64_t bytes = 0;
};
struct CheckedReceive {
  std::vector<endpoint::ReceiveSegment> segments;
  std::vector<RegionHold> regions;
  std::uint64_t bytes = 0;
};

/// "host", "cuda" …
std::string_view name_of(MemoryKind kind) noexcept;

Result<CheckedSend> check_views(std::span<const ConstTensorView> views, const RegionTable& regions);
Result<CheckedReceive> check_views(std::span<const TensorView> views, const RegionTable& regions);

Result<void> check_options(const SendOptions& options, std::uint64_t bytes);
Result<void> check_options(const ReceiveOptions& options);

}  // namespace longhaul::api
