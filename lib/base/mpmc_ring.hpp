// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace longhaul::base {

/// Bounded queue for any number of producers and consumers, after D. Vyukov's algorithm: each cell
/// carries a turn number that says whose it is. A call never waits for another thread; elements of
/// one producer come out in its order. A full ring is the caller's back-pressure.
template <typename T>
class MpmcRing {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>,
                "a throwing move would leave a cell that is nobody's turn");

 public:
  /// `capacity` is a power of two, at least 2; other numbers are rounded up. The only allocation.
  explicit MpmcRing(std::size_t capacity)
      : mask_(std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1),
        cells_(std::make_unique<Cell[]>(mask_ + 1)) {
    for (std::size_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }
  /// No other thread may use the ring any more; what is left in it is destroyed.
  ~MpmcRing() {
    const std::size_t end = push_at_.load(std::memory_order_acquire);
    for (std::size_t at = pop_at_.load(std::memory_order_acquire); at != end; ++at) {
      std::destroy_at(cells_[at & mask_].value());
    }
  }
  MpmcRing(const MpmcRing&) = delete;
  MpmcRing& operator=(const MpmcRing&) = delete;

  /// False if the ring is full; `item` is then untouched.
  bool try_push(T&& item) noexcept {
    std::size_t at = push_at_.load(std::memory_order_relaxed);
    Cell* const cell = claim(push_at_, at, 0);
    if (cell == nullptr) return false;
    ::new (static_cast<void*>(cell->storage)) T(std::move(item));
    cell->turn.store(at + 1, std::memory_order_release);
    return true;
  }

  /// False if the ring is empty; `item` is then untouched.
  bool try_pop(T& item) noexcept {
    std::size_t at = pop_at_.load(std::memory_order_relaxed);
    Cell* const cell = claim(pop_at_, at, 1);
    if (cell == nullptr) return false;
    item = std::move(*cell->value());
    std::destroy_at(cell->value());
    cell->turn.store(at + mask_ + 1, std::memory_order_release);
    return true;
  }

  /// Nothing to pop right now. An answer about the past while others push and pop.
  bool empty() const noexcept {
    const std::size_t at = pop_at_.load(std::memory_order_acquire);
    return cells_[at & mask_].turn.load(std::memory_order_acquire) == at;
  }
  std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  static constexpr std::size_t kCacheLine = 64;

  // Turn numbers of a cell: `at` free for the push of that position, `at + 1` filled for its pop.
  struct Cell {
    std::atomic<std::size_t> turn{0};
    alignas(T) std::byte storage[sizeof(T)];
    T* value() noexcept { return std::launder(reinterpret_cast<T*>(storage)); }
  };

  // Takes the cell at `counter` once its turn is `at + offset`; nullptr if it still is another's.
  Cell* claim(std::atomic<std::size_t>& counter, std::size_t& at, std::size_t offset) noexcept {
    for (;;) {
      Cell& cell = cells_[at & mask_];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      const auto ahead = static_cast<std::ptrdiff_t>(turn - (at + offset));
      if (ahead < 0) return nullptr;
      if (ahead > 0) {
        at = counter.load(std::memory_order_relaxed);
      } else if (counter.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        return &cell;
      }
    }
  }

  const std::size_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(kCacheLine) std::atomic<std::size_t> push_at_{0};
  alignas(kCacheLine) std::atomic<std::size_t> pop_at_{0};
};

}  // namespace longhaul::base
