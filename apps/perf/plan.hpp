// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/safetensors.hpp"
#include "apps/perf/options.hpp"
#include "longhaul/result.hpp"
#include "longhaul/tensor.hpp"
#include "longhaul/time.hpp"
#include "longhaul/transfer.hpp"

namespace longhaul::apps::perf {

enum class Mode : std::uint8_t {
  stream,  ///< equal transfers of generated data, for a time or a number
  file,    ///< every tensor of a safetensors file, once
};
std::string_view to_string(Mode mode) noexcept;
std::string_view to_string(Direction direction) noexcept;

/// What a client asks a server to take part in. Travels as the `test` message.
struct TestPlan {
  Mode mode = Mode::stream;
  Direction direction = Direction::forward;
  Dtype dtype = Dtype::u8;
  std::vector<std::uint64_t> extents;
  std::uint64_t bytes = 0;      ///< of each transfer
  std::uint64_t transfers = 0;  ///< how many; 0 = as many as `time` allows
  Duration time{0};             ///< 0 = until all transfers are through
  Duration omit{0};
  Duration interval{0};
  std::uint32_t parallel = 1;
  std::uint64_t server_rate_bps = 0;  ///< tensor bits a second the server sends at most; 0 = any
  std::uint64_t seed = 0;

  std::optional<unsigned> server_cpu;  ///< core the server's workers stay on meanwhile
  bool server_output = false;          ///< the client wants what the server prints

  std::string file_name;           ///< for display only, never used as a path
  std::uint64_t file_bytes = 0;    ///< all of the file
  std::uint64_t header_bytes = 0;  ///< raw header, length prefix included

  bool client_sends() const noexcept { return direction != Direction::reverse; }
  bool server_sends() const noexcept { return direction != Direction::forward; }
};

/// Marks closer together than this measure the clock and not the line.
inline constexpr Duration kIntervalMin = std::chrono::milliseconds(1);

/// The plan of a stream test; `seed` is used unless the options name one.
Result<TestPlan> plan_stream(const Options& options, std::uint64_t seed);
/// The plan of a file test.
TestPlan plan_file(const Options& options, const SafetensorsFile& file);
/// What no honest client would ask: sizes that contradict each other or exceed the exchange.
Result<void> check_plan(const TestPlan& plan);

/// Tags of the exchange, both directions.
inline constexpr Tag kControlTag = 0;
inline constexpr Tag kHeaderTag = 1;
inline constexpr Tag kDigestTag = 2;
inline constexpr Tag kStreamTag = 3;
/// Tensor i of a file has tag kTensorTag + i.
inline constexpr Tag kTensorTag = 1u << 10;

}  // namespace longhaul::apps::perf
