// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace longhaul::transfer {

/// Names an object of a SlotTable; stale once the object is gone.
struct SlotHandle {
  std::uint32_t index = UINT32_MAX;
  std::uint32_t generation = 0;
  friend bool operator==(const SlotHandle&, const SlotHandle&) = default;
  friend auto operator<=>(const SlotHandle&, const SlotHandle&) = default;
};

/// Objects addressed by index and generation; stable addresses, indices are used again.
template <typename T>
class SlotTable {
 public:
  SlotHandle insert(std::unique_ptr<T> object) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].object = std::move(object);
    ++size_;
    return {index, slots_[index].generation};
  }
  T* find(SlotHandle handle) noexcept {
    if (handle.index >= slots_.size() || slots_[handle.index].generation != handle.generation)
      return nullptr;
    return slots_[handle.index].object.get();
  }
  const T* find(SlotHandle handle) const noexcept {
    return const_cast<SlotTable*>(this)->find(handle);
  }
  void erase(SlotHandle handle) {
    if (find(handle) == nullptr) return;
    slots_[handle.index].object.reset();
    ++slots_[handle.index].generation;
    free_.push_back(handle.index);
    --size_;
  }
  std::size_t size() const noexcept { return size_; }
  /// Handles of all objects, in index order.
  std::vector<SlotHandle> handles() const {
    std::vector<SlotHandle> result;
    for (std::uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].object) result.push_back({i, slots_[i].generation});
    return result;
  }

 private:
  struct Slot {
    std::unique_ptr<T> object;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace longhaul::transfer
