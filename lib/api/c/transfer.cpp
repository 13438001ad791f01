// SPDX-License-Identifier: Apache-2.0
// longhaul_transfer_*
#include <algorithm>

#include "lib/api/c/convert.hpp"
#include "lib/api/c/guard.hpp"
#include "lib/api/c/handles.hpp"
#include "longhaul/longhaul.h"

using namespace longhaul;
using namespace longhaul::api::c;

uint64_t longhaul_transfer_id(const longhaul_transfer* transfer) {
  return is_valid(transfer) ? transfer->object.id() : 0;
}

longhaul_status longhaul_transfer_status(const longhaul_transfer* transfer) {
  if (!is_valid(transfer)) return LONGHAUL_STATUS_CLOSED;
  return static_cast<longhaul_status>(transfer->object.status());
}

longhaul_code longhaul_transfer_progress(const longhaul_transfer* transfer,
                                         longhaul_progress* progress, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(transfer); !checked) return checked;
    const auto size = size_of(progress, "longhaul_progress");
    if (!size) return tl::unexpected(size.error());
    const Progress now = transfer->object.progress();
    longhaul_progress result{};
    result.bytes = now.bytes;
    result.placed = now.placed;
    result.verified = now.verified;
    write(progress, *size, result);
    return {};
  });
}

longhaul_code longhaul_transfer_reason(const longhaul_transfer* transfer, char* text,
                                       size_t capacity, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(transfer); !checked) return checked;
    if (text == nullptr || capacity == 0) return invalid("there is no room for the text");
    copy_text(text, capacity, transfer->object.reason());
    return {};
  });
}

longhaul_code longhaul_transfer_wait(const longhaul_transfer* transfer, int64_t timeout_ns,
                                     longhaul_status* status, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(transfer); !checked) return checked;
    const auto ended = transfer->object.wait(to_wait(timeout_ns));
    if (!ended) return tl::unexpected(ended.error());
    if (status != nullptr) *status = static_cast<longhaul_status>(*ended);
    return {};
  });
}

longhaul_code longhaul_transfer_cancel(const longhaul_transfer* transfer, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(transfer); !checked) return checked;
    return transfer->object.cancel();
  });
}

longhaul_code longhaul_transfer_ready(const longhaul_transfer* transfer, uint64_t bytes,
                                      longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(transfer); !checked) return checked;
    return transfer->object.ready(bytes);
  });
}

longhaul_code longhaul_transfer_received_ranges(const longhaul_transfer* transfer, uint64_t* bounds,
                                                size_t capacity, size_t* count,
                                                longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (count == nullptr) return invalid("there is nowhere to put the count (NULL)");
    *count = 0;
    if (auto checked = check(transfer); !checked) return checked;
    if (bounds == nullptr && capacity > 0) return invalid("bounds is NULL, but capacity is not 0");
    const auto ranges = transfer->object.received_ranges();
    *count = ranges.size();
    for (std::size_t i = 0; i < std::min(capacity, ranges.size()); ++i) {
      bounds[2 * i] = ranges[i].begin;
      bounds[2 * i + 1] = ranges[i].end;
    }
    return {};
  });
}

void longhaul_transfer_release(longhaul_transfer** transfer) {
  release(transfer);
}
