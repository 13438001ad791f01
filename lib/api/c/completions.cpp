// SPDX-License-Identifier: Apache-2.0
// longhaul_endpoint_*: what happened, and how it stands.
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "lib/api/c/convert.hpp"
#include "lib/api/c/guard.hpp"
#include "lib/api/c/handles.hpp"
#include "longhaul/longhaul.h"

using namespace longhaul;
using namespace longhaul::api::c;

namespace {

constexpr std::size_t kBatch = 64;

// The caller's elements stand `stride` bytes apart.
std::size_t poll_into(Endpoint& endpoint, std::byte* out, std::uint32_t stride,
                      std::size_t capacity) {
  std::array<Completion, kBatch> batch;
  std::size_t total = 0;
  while (total < capacity) {
    const std::size_t room = std::min(kBatch, capacity - total);
    const std::size_t taken = endpoint.poll(std::span(batch).first(room));
    for (std::size_t i = 0; i < taken; ++i) {
      write(out + (total + i) * stride, stride, from_completion(batch[i]));
    }
    total += taken;
    if (taken < room) break;
  }
  return total;
}

}  // namespace

longhaul_code longhaul_endpoint_poll(longhaul_endpoint* endpoint, longhaul_completion* completions,
                                     size_t capacity, size_t* count, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (count == nullptr) return invalid("there is nowhere to put the count (NULL)");
    *count = 0;
    if (auto checked = check(endpoint); !checked) return checked;
    if (capacity == 0) return {};
    const auto stride = size_of(completions, "longhaul_completion");
    if (!stride) return tl::unexpected(stride.error());
    *count =
        poll_into(endpoint->object, reinterpret_cast<std::byte*>(completions), *stride, capacity);
    return {};
  });
}

int longhaul_endpoint_completion_fd(const longhaul_endpoint* endpoint) {
  return is_valid(endpoint) ? endpoint->object.completion_fd() : -1;
}

longhaul_code longhaul_endpoint_run_once(longhaul_endpoint* endpoint, int* worked,
                                         longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (worked != nullptr) *worked = 0;
    if (auto checked = check(endpoint); !checked) return checked;
    const bool did = endpoint->object.run_once();
    if (worked != nullptr) *worked = did ? 1 : 0;
    return {};
  });
}

longhaul_code longhaul_endpoint_stats_get(const longhaul_endpoint* endpoint, int64_t timeout_ns,
                                          longhaul_endpoint_stats* stats, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(endpoint); !checked) return checked;
    const auto size = size_of(stats, "longhaul_endpoint_stats");
    if (!size) return tl::unexpected(size.error());
    const auto taken = endpoint->object.stats(to_duration(timeout_ns));
    if (!taken) return tl::unexpected(taken.error());
    write(stats, *size, from_stats(*taken));
    return {};
  });
}

longhaul_code longhaul_endpoint_dump(const longhaul_endpoint* endpoint, longhaul_line_sink sink,
                                     void* context, int64_t timeout_ns, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(endpoint); !checked) return checked;
    if (sink == nullptr) return invalid("there is nobody to give the lines to (sink is NULL)");
    const auto give = [sink, context](std::string_view line) {
      const std::string text(line);  // with a NUL at its end
      sink(context, text.c_str(), text.size());
    };
    return endpoint->object.dump(give, to_duration(timeout_ns));
  });
}
