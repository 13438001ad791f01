// SPDX-License-Identifier: Apache-2.0
#include "lib/api/region_table.hpp"

#include <string>

namespace longhaul::api {
namespace {

tl::unexpected<Error> unknown(Region region) {
  return fail(ErrorCode::invalid_argument,
              "region " + std::to_string(region.id) +
                  " is not registered with this endpoint; see Endpoint::register_memory");
}

}  // namespace

void RegionTable::insert(Region region, std::span<std::byte> memory) {
  auto use = std::make_shared<RegionUse>();
  use->region = region;
  use->memory = memory;
  const std::lock_guard lock(mutex_);
  regions_.emplace(region.id, std::move(use));
}

Result<std::shared_ptr<RegionUse>> RegionTable::remove(Region region) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(region.id);
  if (found == regions_.end()) return unknown(region);
  const std::uint32_t transfers = found->second->transfers.load(std::memory_order_acquire);
  if (transfers > 0) {
    return fail(ErrorCode::invalid_argument, "region " + std::to_string(region.id) +
                                                 " is used by " + std::to_string(transfers) +
                                                 " outstanding transfers; wait for them first");
  }
  auto use = std::move(found->second);
  regions_.erase(found);
  return use;
}

Result<RegionHold> RegionTable::hold(Region region, const void* data, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(region.id);
  if (found == regions_.end()) return unknown(region);
  const auto begin = reinterpret_cast<std::uintptr_t>(found->second->memory.data());
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const std::uint64_t size = found->second->memory.size();
  if (at < begin || at - begin > size || bytes > size - (at - begin)) {
    return fail(ErrorCode::invalid_argument, "tensor memory is not inside region " +
                                                 std::to_string(region.id) + " of " +
                                                 std::to_string(size) + " bytes");
  }
  // Counted under the lock, so that `remove` sees every transfer that was let in.
  return RegionHold(found->second);
}

void RegionTable::clear() {
  const std::lock_guard lock(mutex_);
  regions_.clear();
}

}  // namespace longhaul::api
