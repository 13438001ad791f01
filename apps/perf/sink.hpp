// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/buffer.hpp"
#include "apps/common/files.hpp"
#include "apps/common/safetensors.hpp"
#include "apps/perf/digest.hpp"
#include "apps/perf/plan.hpp"
#include "longhaul/tensor.hpp"

namespace longhaul::apps::perf {

/// Where received tensors go: memory for receives posted ahead, and what is done with a tensor once
/// it is there. Never called while the library may write to the memory in question.
class Sink {
 public:
  struct Posting {
    Tag tag = 0;
    TensorView view;
    std::uint64_t index = 0;  ///< comes back in `on_completed` or `on_failed`
  };
  virtual ~Sink() = default;

  /// The next receive to post; nothing while its memory is used up or all are posted.
  virtual Result<std::optional<Posting>> next() = 0;
  virtual void on_completed(std::uint64_t index) = 0;
  virtual void on_failed(std::uint64_t index) = 0;
  /// How many transfers make the test complete; nothing = the sender says when.
  virtual std::optional<std::uint64_t> expected() const = 0;

  /// Does a small step of the work left with received tensors; false when none is left.
  virtual Result<bool> work() = 0;
  /// After all work: compares with what the sender says (`digests`, may be empty) and, when all is
  /// well, makes the result permanent. Adds what is wrong to `problems`.
  virtual Result<void> conclude(std::span<const std::byte> digests,
                                std::vector<std::string>& problems) = 0;
  /// The test has failed: undoes what is visible of it. The memory stays until the sink goes.
  virtual void discard() = 0;
};

/// Receives of generated data; compares the first and last bytes of each with the generator. (All
/// bytes are already covered by the library's digests; this catches a tensor in a wrong place.)
class StreamSink : public Sink {
 public:
  static Result<std::unique_ptr<StreamSink>> create(const TestPlan& plan);

  Result<std::optional<Posting>> next() override;
  void on_completed(std::uint64_t index) override;
  void on_failed(std::uint64_t index) override;
  std::optional<std::uint64_t> expected() const override;
  Result<bool> work() override { return false; }
  Result<void> conclude(std::span<const std::byte> digests,
                        std::vector<std::string>& problems) override;
  void discard() override {}

 private:
  struct Slot {
    Buffer buffer;
    std::uint64_t transfer = 0;
  };
  explicit StreamSink(const TestPlan& plan) : plan_(plan) {}
  bool sample_agrees(const Slot& slot) const;

  TestPlan plan_;
  Shape shape_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> free_;
  std::uint64_t posted_ = 0;
  std::uint64_t mismatches_ = 0;
  std::uint64_t first_mismatch_ = 0;
};

/// Tensors of a file; each gets memory while it is on its way, then its digest is taken and it is
/// written to the output file, if there is one.
class FileSink : public Sink {
 public:
  /// `raw_header` is the file's own, length prefix included; `output` empty = write nothing.
  static Result<std::unique_ptr<FileSink>> create(const TestPlan& plan,
                                                  std::span<const std::byte> raw_header,
                                                  const std::string& output);

  Result<std::optional<Posting>> next() override;
  void on_completed(std::uint64_t index) override;
  void on_failed(std::uint64_t index) override;
  std::optional<std::uint64_t> expected() const override { return header_.tensors.size(); }
  Result<bool> work() override;
  Result<void> conclude(std::span<const std::byte> digests,
                        std::vector<std::string>& problems) override;
  void discard() override { output_.reset(); }

 private:
  FileSink() = default;
  void release(std::uint64_t index);
  void name_problem(std::span<const std::size_t> tensors, std::string_view what,
                    std::vector<std::string>& problems) const;

  SafetensorsHeader header_;
  std::uint64_t header_bytes_ = 0;
  std::optional<OutputFile> output_;
  std::uint64_t memory_budget_ = 0;
  std::uint64_t memory_used_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<std::optional<std::uint64_t>> digests_;
  std::uint64_t posted_ = 0;
  std::uint64_t released_ = 0;

  std::deque<std::uint64_t> to_do_;
  std::uint64_t done_bytes_ = 0;  ///< of the front of `to_do_`
  DigestStream stream_;
};

/// Receives posted beyond those in flight, so that a sender never waits for one: enough for what
/// arrives while this process is not looking.
std::uint64_t receive_window(std::uint64_t bytes, std::uint32_t parallel) noexcept;

}  // namespace longhaul::apps::perf
