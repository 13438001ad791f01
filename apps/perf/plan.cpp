// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/plan.hpp"

#include <fmt/format.h>

#include "apps/common/units.hpp"

namespace longhaul::apps::perf {

namespace {

constexpr std::uint32_t kStreamParallel = 4;
constexpr std::uint32_t kFileParallel = 256;
constexpr std::uint32_t kParallelMax = 16384;
constexpr std::uint64_t kRateMin = 8000;

tl::unexpected<Error> bad_plan(std::string_view cause) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("the test the client asks for makes no sense: {}", cause));
}

std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& extents, Dtype dtype) {
  std::optional<std::uint64_t> bytes = element_size(dtype);
  for (const std::uint64_t extent : extents) {
    if (bytes) bytes = checked_product(*bytes, extent);
  }
  return bytes;
}

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  return mode == Mode::stream ? "stream" : "file";
}

std::string_view to_string(Direction direction) noexcept {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::reverse:
      return "reverse";
    case Direction::both:
      return "both";
  }
  return "forward";
}

Result<TestPlan> plan_stream(const Options& options, std::uint64_t seed) {
  TestPlan plan;
  plan.mode = Mode::stream;
  plan.direction = options.direction;
  if (plan.server_sends()) plan.server_rate_bps = options.rate_bps;
  plan.server_cpu = options.server_cpu;
  plan.server_output = options.server_output;
  plan.dtype = options.dtype;
  const std::uint64_t element = element_size(plan.dtype);
  if (options.extents) {
    plan.extents = *options.extents;
  } else {
    const std::uint64_t size = options.size.value_or(kDefaultSize);
    if (size % element != 0) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("--size {} is no whole number of {} elements; choose a multiple of {}", size,
                      longhaul::to_string(plan.dtype), element));
    }
    plan.extents = {size / element};
  }
  const auto bytes = bytes_of(plan.extents, plan.dtype);
  if (!bytes) {
    return fail(ErrorCode::invalid_argument,
                "--shape: the product of the extents exceeds 64 bits; choose smaller ones");
  }
  plan.bytes = *bytes;
  if (options.amount.transfers) plan.transfers = *options.amount.transfers;
  if (options.amount.bytes) {
    if (plan.bytes == 0) {
      return fail(ErrorCode::invalid_argument,
                  "-n with a size needs transfers that are not empty; choose a larger --size");
    }
    plan.transfers =
        std::max<std::uint64_t>(1, (*options.amount.bytes + plan.bytes - 1) / plan.bytes);
  }
  if (plan.bytes == 0 && plan.transfers == 0) {
    return fail(ErrorCode::invalid_argument,
                "transfers of 0 bytes move nothing in any time; choose a larger --size or --shape, "
                "or count empty transfers with -n");
  }
  if (plan.transfers == 0) plan.time = options.time.value_or(kDefaultTime);
  plan.omit = options.omit;
  plan.interval = options.interval;
  plan.parallel = options.parallel.value_or(kStreamParallel);
  plan.seed = options.seed.value_or(seed);
  return plan;
}

TestPlan plan_file(const Options& options, const SafetensorsFile& file) {
  TestPlan plan;
  plan.mode = Mode::file;
  plan.server_cpu = options.server_cpu;
  plan.server_output = options.server_output;
  plan.transfers = file.header.tensors.size();
  plan.interval = options.interval;
  plan.parallel = options.parallel.value_or(kFileParallel);
  plan.file_name = file.path.substr(file.path.find_last_of('/') + 1);
  plan.file_bytes = file.content.size();
  plan.header_bytes = file.header_bytes;
  return plan;
}

Result<void> check_plan(const TestPlan& plan) {
  if (plan.parallel == 0 || plan.parallel > kParallelMax) {
    return bad_plan(fmt::format("{} transfers in flight", plan.parallel));
  }
  if (plan.interval.count() != 0 && plan.interval < kIntervalMin) {
    return bad_plan(fmt::format("a mark every {} ns", plan.interval.count()));
  }
  if (plan.mode == Mode::file) {
    if (plan.direction != Direction::forward) return bad_plan("a file that the server would send");
    if (plan.header_bytes < kSafetensorsPrefix || plan.header_bytes > plan.file_bytes ||
        plan.header_bytes - kSafetensorsPrefix > kSafetensorsHeaderMax) {
      return bad_plan(
          fmt::format("a header of {} bytes in a file of {}", plan.header_bytes, plan.file_bytes));
    }
    return {};
  }
  if (plan.server_rate_bps != 0 && plan.server_rate_bps < kRateMin) {
    return bad_plan(fmt::format("a rate of {} bits a second", plan.server_rate_bps));
  }
  if (plan.extents.size() > kDimensionsMax || element_size(plan.dtype) == 0 ||
      bytes_of(plan.extents, plan.dtype) != plan.bytes) {
    return bad_plan("shape, dtype and size of its transfers disagree");
  }
  if ((plan.transfers == 0) == (plan.time.count() == 0)) {
    return bad_plan("it must end after a time or after a number of transfers");
  }
  return {};
}

}  // namespace longhaul::apps::perf
