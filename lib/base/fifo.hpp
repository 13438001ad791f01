// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace longhaul::base {

/// Growable ring of small values. Memory is one block that doubles when full and never shrinks, so
/// a queue in steady state allocates nothing. Growing moves the values: keep no pointers to them.
template <typename T>
class Fifo {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  const T& front() const noexcept { return slots_[head_]; }
  const T& back() const noexcept { return slots_[index(size_ - 1)]; }
  /// The i-th from the front.
  const T& operator[](std::size_t i) const noexcept { return slots_[index(i)]; }

  void push_back(const T& value) {
    if (size_ == slots_.size()) grow();
    slots_[index(size_)] = value;
    ++size_;
  }
  void push_front(const T& value) {
    if (size_ == slots_.size()) grow();
    head_ = (head_ - 1) & (slots_.size() - 1);
    slots_[head_] = value;
    ++size_;
  }
  void pop_front() noexcept {
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void pop_back() noexcept { --size_; }
  void clear() noexcept { size_ = 0; }

  /// Inserts behind every value that is not greater: cheap when values come nearly in order.
  template <typename Less>
  void insert_ordered(const T& value, Less less) {
    push_back(value);
    std::size_t i = size_ - 1;
    for (; i > 0 && less(value, slots_[index(i - 1)]); --i) {
      slots_[index(i)] = slots_[index(i - 1)];
    }
    slots_[index(i)] = value;
  }

 private:
  std::size_t index(std::size_t i) const noexcept { return (head_ + i) & (slots_.size() - 1); }
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : slots_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = slots_[index(i)];
    slots_.swap(larger);
    head_ = 0;
  }

  std::vector<T> slots_;  // size is a power of two
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace longhaul::base
