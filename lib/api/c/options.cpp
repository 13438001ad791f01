// SPDX-License-Identifier: Apache-2.0
// Options and tensors of transfers, from C to C++.
#include <limits>

#include "lib/api/c/convert.hpp"
#include "lib/api/c/defaults.hpp"
#include "lib/api/c/structs.hpp"

namespace longhaul::api::c {
namespace {

// 0 is none; what is below is for the C++ interface to refuse.
std::optional<Duration> to_deadline(std::int64_t ns) {
  return ns == 0 ? std::nullopt : std::optional(Duration(ns));
}

template <typename View, typename Tensor>
Result<View> view_of(const Tensor& tensor) {
  if (tensor.reserved != 0) return invalid("reserved of a tensor has to be 0");
  const auto dtype = to_enum(tensor.dtype, Dtype::u8, Dtype::boolean, "longhaul_dtype");
  if (!dtype) return tl::unexpected(dtype.error());
  const auto kind = to_memory_kind(tensor.kind);
  if (!kind) return tl::unexpected(kind.error());
  if (tensor.dimensions > 0 && tensor.extents == nullptr) {
    return invalid("extents is NULL, but the tensor has " + std::to_string(tensor.dimensions) +
                   " dimensions");
  }
  const auto shape = Shape::from({tensor.extents, tensor.dimensions});
  if (!shape) return tl::unexpected(shape.error());
  View view;
  view.data = tensor.data;
  view.bytes = tensor.bytes;
  view.dtype = *dtype;
  view.shape = *shape;
  if (tensor.strides != nullptr) view.strides = {tensor.strides, tensor.dimensions};
  view.region = Region{tensor.region};
  view.kind = *kind;
  view.device = tensor.device;
  return view;
}

template <typename View, typename Tensor>
Result<View> one_view(const Tensor* tensor, std::string_view name) {
  const auto given = read(tensor, default_tensor<Tensor>(), name);
  if (!given) return tl::unexpected(given.error());
  return view_of<View>(*given);
}

template <typename View, typename Tensor>
Result<std::vector<View>> list_of_views(const Tensor* tensors, std::size_t count,
                                        std::string_view name) {
  std::vector<View> views;
  if (count == 0) return views;  // refused behind, with the remedy
  const auto stride = size_of(tensors, name);
  if (!stride) return tl::unexpected(stride.error());
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / *stride) {
    return invalid(std::to_string(count) + " tensors of " + std::to_string(*stride) +
                   " bytes do not fit any memory");
  }
  const auto* at = reinterpret_cast<const std::byte*>(tensors);
  for (std::size_t i = 0; i < count; ++i, at += *stride) {
    const auto* element = reinterpret_cast<const Tensor*>(at);
    auto size = size_of(element, name);
    if (size && *size != *stride) {
      size = invalid("struct_size differs from the first one's, " + std::to_string(*stride));
    }
    auto view = size ? one_view<View>(element, name) : tl::unexpected(size.error());
    if (!view) {
      return fail(view.error().code, "tensor " + std::to_string(i) + ": " + view.error().context);
    }
    views.push_back(*view);
  }
  return views;
}

}  // namespace

Result<ConnectOptions> to_options(const longhaul_connect_options* options) {
  ConnectOptions result;
  if (options == nullptr) return result;
  const auto given = read(options, longhaul_connect_options{}, "longhaul_connect_options");
  if (!given) return tl::unexpected(given.error());
  if (given->reserved != 0) return invalid("longhaul_connect_options.reserved has to be 0");
  result.timeout = to_deadline(given->timeout_ns);
  result.cookie = given->cookie;
  return result;
}

Result<SendOptions> to_options(const longhaul_send_options* options) {
  SendOptions result;
  if (options == nullptr) return result;
  const auto given = read(options, default_send_options(), "longhaul_send_options");
  if (!given) return tl::unexpected(given.error());
  const auto traffic_class = to_enum(given->traffic_class, TrafficClass::control,
                                     TrafficClass::scavenger, "longhaul_traffic_class");
  if (!traffic_class) return tl::unexpected(traffic_class.error());
  const auto reliability = to_enum(given->reliability, Reliability::exact, Reliability::best_effort,
                                   "longhaul_reliability");
  if (!reliability) return tl::unexpected(reliability.error());
  const auto growing = to_bool(given->growing, "longhaul_send_options.growing");
  if (!growing) return tl::unexpected(growing.error());
  result.traffic_class = *traffic_class;
  result.reliability = *reliability;
  result.growing = *growing;
  result.loss_budget = given->loss_budget;
  result.deadline = to_deadline(given->deadline_ns);
  result.cookie = given->cookie;
  return result;
}

Result<ReceiveOptions> to_options(const longhaul_receive_options* options) {
  ReceiveOptions result;
  if (options == nullptr) return result;
  const auto given = read(options, longhaul_receive_options{}, "longhaul_receive_options");
  if (!given) return tl::unexpected(given.error());
  const auto events = to_bool(given->piece_events, "longhaul_receive_options.piece_events");
  if (!events) return tl::unexpected(events.error());
  result.piece_events = *events;
  result.deadline = to_deadline(given->deadline_ns);
  result.cookie = given->cookie;
  return result;
}

Result<ConstTensorView> to_view(const longhaul_const_tensor* tensor) {
  return one_view<ConstTensorView>(tensor, "longhaul_const_tensor");
}

Result<TensorView> to_view(const longhaul_tensor* tensor) {
  return one_view<TensorView>(tensor, "longhaul_tensor");
}

Result<std::vector<ConstTensorView>> to_views(const longhaul_const_tensor* tensors,
                                              std::size_t count) {
  return list_of_views<ConstTensorView>(tensors, count, "longhaul_const_tensor");
}

Result<std::vector<TensorView>> to_views(const longhaul_tensor* tensors, std::size_t count) {
  return list_of_views<TensorView>(tensors, count, "longhaul_tensor");
}

}  // namespace longhaul::api::c
