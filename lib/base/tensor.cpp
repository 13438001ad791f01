// SPDX-License-Identifier: Apache-2.0
#include "longhaul/tensor.hpp"

#include <algorithm>
#include <limits>

namespace longhaul {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::size_t size;
  std::string_view name;
};
constexpr DtypeRow kDtypes[] = {
    {Dtype::u8, 1, "u8"},         {Dtype::i8, 1, "i8"},         {Dtype::u16, 2, "u16"},
    {Dtype::i16, 2, "i16"},       {Dtype::u32, 4, "u32"},       {Dtype::i32, 4, "i32"},
    {Dtype::u64, 8, "u64"},       {Dtype::i64, 8, "i64"},       {Dtype::f16, 2, "f16"},
    {Dtype::bf16, 2, "bf16"},     {Dtype::f32, 4, "f32"},       {Dtype::f64, 8, "f64"},
    {Dtype::f8e4m3, 1, "f8e4m3"}, {Dtype::f8e5m2, 1, "f8e5m2"}, {Dtype::boolean, 1, "bool"},
};

const DtypeRow* find(Dtype dtype) noexcept {
  const auto* const row = std::ranges::find(kDtypes, dtype, &DtypeRow::dtype);
  return row == std::end(kDtypes) ? nullptr : row;
}

}  // namespace

std::size_t element_size(Dtype dtype) noexcept {
  const DtypeRow* const row = find(dtype);
  return row == nullptr ? 0 : row->size;
}

std::string_view to_string(Dtype dtype) noexcept {
  const DtypeRow* const row = find(dtype);
  return row == nullptr ? "unknown" : row->name;
}

Result<Dtype> parse_dtype(std::string_view name) {
  const auto* const row = std::ranges::find(kDtypes, name, &DtypeRow::name);
  if (row != std::end(kDtypes)) return row->dtype;
  std::string context = "'";
  context.append(name.substr(0, 32)).append("' is no element type; there are");
  for (const DtypeRow& known : kDtypes) context.append(" ").append(known.name);
  return fail(ErrorCode::invalid_argument, std::move(context));
}

Shape::Shape(std::initializer_list<std::uint64_t> extents) {
  if (extents.size() > kDimensionsMax) {
    extents_.fill(std::numeric_limits<std::uint64_t>::max());
    count_ = kDimensionsMax;
    return;
  }
  std::ranges::copy(extents, extents_.begin());
  count_ = static_cast<std::uint8_t>(extents.size());
}

Result<Shape> Shape::from(std::span<const std::uint64_t> extents) {
  if (extents.size() > kDimensionsMax) {
    return fail(ErrorCode::invalid_argument,
                "a shape of " + std::to_string(extents.size()) + " dimensions; at most " +
                    std::to_string(kDimensionsMax) + " travel, merge some");
  }
  Shape shape;
  std::ranges::copy(extents, shape.extents_.begin());
  shape.count_ = static_cast<std::uint8_t>(extents.size());
  return shape;
}

Result<std::uint64_t> Shape::elements() const {
  std::uint64_t product = 1;
  bool overflow = false;
  for (const std::uint64_t extent : extents()) {
    // One empty dimension makes the tensor empty, however large the others are.
    if (extent == 0) return 0;
    if (product > std::numeric_limits<std::uint64_t>::max() / extent) overflow = true;
    product *= extent;
  }
  if (overflow) {
    return fail(ErrorCode::invalid_argument,
                "the number of elements of " + to_string(*this) + " does not fit 64 bits");
  }
  return product;
}

std::string to_string(const Shape& shape) {
  if (shape.extents().empty()) return "scalar";
  std::string text;
  for (const std::uint64_t extent : shape.extents()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(extent);
  }
  return text;
}

ConstTensorView bytes_view(const void* data, std::uint64_t bytes) noexcept {
  ConstTensorView view;
  view.data = data;
  view.bytes = bytes;
  view.shape = Shape{bytes};
  return view;
}

TensorView bytes_view(void* data, std::uint64_t bytes) noexcept {
  TensorView view;
  view.data = data;
  view.bytes = bytes;
  view.shape = Shape{bytes};
  return view;
}

}  // namespace longhaul
