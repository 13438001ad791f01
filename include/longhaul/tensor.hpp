// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "longhaul/export.hpp"
#include "longhaul/result.hpp"

namespace longhaul {

/// Element type. The numbers are fixed: they travel on the wire.
enum class Dtype : std::uint8_t {
  u8 = 1,
  i8 = 2,
  u16 = 3,
  i16 = 4,
  u32 = 5,
  i32 = 6,
  u64 = 7,
  i64 = 8,
  f16 = 9,
  bf16 = 10,
  f32 = 11,
  f64 = 12,
  f8e4m3 = 13,
  f8e5m2 = 14,
  boolean = 15,
};

/// Bytes of one element; 0 for a number that is no Dtype.
LONGHAUL_API std::size_t element_size(Dtype dtype) noexcept;
/// "bf16", "i64", "bool" …
LONGHAUL_API std::string_view to_string(Dtype dtype) noexcept;
/// The reverse; accepts the names `to_string` gives.
LONGHAUL_API Result<Dtype> parse_dtype(std::string_view name);

inline constexpr std::size_t kDimensionsMax = 8;

/// Extents of a tensor, outermost first. No dimension at all is a scalar (one element).
class LONGHAUL_API Shape {
 public:
  Shape() = default;
  /// Beyond `kDimensionsMax` dimensions `elements()` fails, and with it every call that takes the
  /// shape; `from()` says so at once.
  Shape(std::initializer_list<std::uint64_t> extents);
  /// Fails with invalid_argument beyond `kDimensionsMax` dimensions.
  static Result<Shape> from(std::span<const std::uint64_t> extents);

  std::span<const std::uint64_t> extents() const noexcept { return {extents_.data(), count_}; }
  /// Number of elements; invalid_argument if the product does not fit 64 bits.
  Result<std::uint64_t> elements() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::uint64_t, kDimensionsMax> extents_{};
  std::uint8_t count_ = 0;
};

/// "4096x4096"; a scalar is "scalar".
LONGHAUL_API std::string to_string(const Shape& shape);

/// Where memory lives. Only `host` is accepted today; others are refused by name.
enum class MemoryKind : std::uint8_t { host = 0, cuda = 1, rocm = 2, managed = 3 };

/// Handle of registered memory (`Endpoint::register_memory`); 0 is "not registered".
struct Region {
  std::uint64_t id = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

/// Typed memory a transfer reads. Borrowed: it must stay valid and unchanged until the transfer's
/// terminal status. `strides`, when given, are in elements and must describe contiguous row-major
/// memory; anything else is refused with `not_contiguous`.
struct ConstTensorView {
  const void* data = nullptr;
  std::uint64_t bytes = 0;  ///< must equal elements × element_size
  Dtype dtype = Dtype::u8;
  Shape shape;
  std::span<const std::int64_t> strides{};  ///< read during the call only
  Region region{};
  MemoryKind kind = MemoryKind::host;
  int device = 0;
};

/// Typed memory a transfer writes. Same rules; the library may write any part of it in any order
/// until the terminal status, and never after.
struct TensorView {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  Dtype dtype = Dtype::u8;
  Shape shape;
  std::span<const std::int64_t> strides{};
  Region region{};
  MemoryKind kind = MemoryKind::host;
  int device = 0;
};

/// A one-dimensional u8 view of plain bytes.
LONGHAUL_API ConstTensorView bytes_view(const void* data, std::uint64_t bytes) noexcept;
LONGHAUL_API TensorView bytes_view(void* data, std::uint64_t bytes) noexcept;

}  // namespace longhaul
