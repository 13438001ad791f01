// SPDX-License-Identifier: Apache-2.0
#include "lib/api/views.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace longhaul::api {
namespace {

// Row-major contiguity; a dimension of one element may have any stride, an empty tensor any at all.
bool contiguous(const Shape& shape, std::span<const std::int64_t> strides) {
  const auto extents = shape.extents();
  std::uint64_t expected = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 0) return true;
  }
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1) continue;
    if (strides[i] < 0 || static_cast<std::uint64_t>(strides[i]) != expected) return false;
    expected *= extents[i];
  }
  return true;
}

Result<void> check_strides(const Shape& shape, std::span<const std::int64_t> strides) {
  if (strides.empty()) return {};
  if (strides.size() != shape.extents().size()) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(strides.size()) + " strides for " +
                    std::to_string(shape.extents().size()) +
                    " dimensions; give one a dimension, in elements, or none");
  }
  if (!contiguous(shape, strides)) {
    return fail(ErrorCode::not_contiguous,
                "the strides of tensor " + to_string(shape) +
                    " leave gaps or are not row-major; copy it to contiguous memory first");
  }
  return {};
}

// Lengths travel in 62 bits (lib/wire/README.md, "v").
constexpr std::uint64_t kBytesMax = (std::uint64_t{1} << 62) - 1;

// Everything but the region, which needs the table.
Result<void> check_view(const ConstTensorView& view) {
  if (view.kind != MemoryKind::host) {
    return fail(ErrorCode::unsupported,
                "memory kind " + std::string(name_of(view.kind)) +
                    " is not supported yet; copy the tensor to host memory");
  }
  const std::size_t size = element_size(view.dtype);
  if (size == 0) {
    return fail(ErrorCode::invalid_argument, "dtype number " +
                                                 std::to_string(static_cast<unsigned>(view.dtype)) +
                                                 " is unknown; see longhaul::Dtype");
  }
  const auto elements = view.shape.elements();
  if (!elements) return tl::unexpected(elements.error());
  if (view.bytes > kBytesMax) {
    return fail(ErrorCode::invalid_argument, "a tensor of " + std::to_string(view.bytes) +
                                                 " bytes: a transfer has fewer than 2^62");
  }
  if (*elements > std::numeric_limits<std::uint64_t>::max() / size ||
      *elements * size != view.bytes) {
    return fail(ErrorCode::invalid_argument,
                "bytes is " + std::to_string(view.bytes) + " but " + to_string(view.shape) +
                    " of " + std::string(to_string(view.dtype)) + " is " +
                    std::to_string(*elements) + " × " + std::to_string(size));
  }
  if (view.data == nullptr && view.bytes > 0) {
    return fail(ErrorCode::invalid_argument,
                "data is null but the tensor has " + std::to_string(view.bytes) + " bytes");
  }
  return check_strides(view.shape, view.strides);
}

ConstTensorView as_const(const TensorView& view) {
  return {view.data,    view.bytes,  view.dtype, view.shape,
          view.strides, view.region, view.kind,  view.device};
}

// Checks one view and accounts for it in what the list has so far.
Result<void> add_view(const ConstTensorView& view, const RegionTable& table, std::uint64_t& bytes,
                      std::vector<RegionHold>& regions) {
  if (auto checked = check_view(view); !checked) return checked;
  if (view.bytes > kBytesMax - bytes) {
    return fail(ErrorCode::invalid_argument, "the list has 2^62 bytes or more");
  }
  bytes += view.bytes;
  if (view.region.id == 0) return {};
  auto hold = table.hold(view.region, view.data, view.bytes);
  if (!hold) return tl::unexpected(hold.error());
  regions.push_back(std::move(*hold));
  return {};
}

// Says which of several tensors was wrong.
Error at_index(Error error, std::size_t index, std::size_t count) {
  if (count > 1) error.context = "tensor " + std::to_string(index) + ": " + error.context;
  return error;
}

tl::unexpected<Error> empty_list() {
  return fail(ErrorCode::invalid_argument,
              "the list has no tensors; a transfer of nothing is one tensor of zero bytes");
}

Result<void> check_deadline(const std::optional<Duration>& deadline) {
  if (deadline && *deadline <= Duration::zero()) {
    return fail(
        ErrorCode::invalid_argument,
        "the deadline is not in the future; leave it unset to wait as long as the peer lives");
  }
  return {};
}

}  // namespace

std::string_view name_of(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::host:
      return "host";
    case MemoryKind::cuda:
      return "cuda";
    case MemoryKind::rocm:
      return "rocm";
    case MemoryKind::managed:
      return "managed";
  }
  return "unknown";
}

Result<CheckedSend> check_views(std::span<const ConstTensorView> views,
                                const RegionTable& regions) {
  if (views.empty()) return empty_list();
  CheckedSend checked;
  checked.segments.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const ConstTensorView& view = views[i];
    if (auto added = add_view(view, regions, checked.bytes, checked.regions); !added) {
      return tl::unexpected(at_index(added.error(), i, views.size()));
    }
    checked.segments.push_back(
        {{static_cast<const std::byte*>(view.data), static_cast<std::size_t>(view.bytes)},
         view.dtype,
         view.shape});
  }
  return checked;
}

Result<CheckedReceive> check_views(std::span<const TensorView> views, const RegionTable& regions) {
  if (views.empty()) return empty_list();
  CheckedReceive checked;
  checked.segments.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const TensorView& view = views[i];
    if (auto added = add_view(as_const(view), regions, checked.bytes, checked.regions); !added) {
      return tl::unexpected(at_index(added.error(), i, views.size()));
    }
    checked.segments.push_back(
        {{static_cast<std::byte*>(view.data), static_cast<std::size_t>(view.bytes)},
         view.dtype,
         view.shape});
  }
  return checked;
}

Result<void> check_options(const SendOptions& options, std::uint64_t bytes) {
  if (options.traffic_class == TrafficClass::control) {
    return fail(ErrorCode::invalid_argument,
                "traffic class control is the protocol's own; use critical, bulk or scavenger");
  }
  if (static_cast<std::size_t>(options.traffic_class) >= kTrafficClasses) {
    return fail(ErrorCode::invalid_argument, "unknown traffic class; see longhaul::TrafficClass");
  }
  if (options.reliability > Reliability::best_effort) {
    return fail(ErrorCode::invalid_argument, "unknown reliability; see longhaul::Reliability");
  }
  if (options.loss_budget > 0 && options.reliability != Reliability::bounded_loss) {
    return fail(ErrorCode::invalid_argument,
                "loss_budget is set but reliability is not bounded_loss");
  }
  if (options.reliability == Reliability::bounded_loss) {
    if (!options.deadline) {
      return fail(ErrorCode::invalid_argument,
                  "bounded_loss needs a deadline: what is missing then is given up");
    }
    if (options.loss_budget > bytes) {
      return fail(ErrorCode::invalid_argument,
                  "loss_budget of " + std::to_string(options.loss_budget) +
                      " bytes is more than the tensor's " + std::to_string(bytes));
    }
  }
  return check_deadline(options.deadline);
}

Result<void> check_options(const ReceiveOptions& options) {
  return check_deadline(options.deadline);
}

}  // namespace longhaul::api
