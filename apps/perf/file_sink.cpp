// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"
#include "apps/perf/sink.hpp"

namespace longhaul::apps::perf {

namespace {

// Tensors on their way together. Beyond a path's bandwidth-delay product more does not help.
constexpr std::uint64_t kBudgetMin = 512u << 20;
// Table entries of the library are finite; so many small tensors fill any pipe.
constexpr std::uint64_t kPostedMax = 8192;
// Bytes digested and written between two looks at the network.
constexpr std::uint64_t kStep = 4u << 20;

}  // namespace

Result<std::unique_ptr<FileSink>> FileSink::create(const TestPlan& plan,
                                                   std::span<const std::byte> raw_header,
                                                   const std::string& output) {
  const std::string name = fmt::format("file \"{}\" of the client", printable(plan.file_name));
  auto length = safetensors_header_length(name, raw_header, plan.file_bytes);
  if (!length) return tl::unexpected(std::move(length.error()));
  if (*length + kSafetensorsPrefix != plan.header_bytes) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{}: its header says {} bytes and the client {}; are both ends the same "
                    "release of longhaul-perf?",
                    name, *length + kSafetensorsPrefix, plan.header_bytes));
  }
  auto header = parse_safetensors_header(name, raw_header.subspan(kSafetensorsPrefix),
                                         plan.file_bytes - plan.header_bytes);
  if (!header) return tl::unexpected(std::move(header.error()));

  std::unique_ptr<FileSink> sink(new FileSink());
  sink->header_ = std::move(*header);
  sink->header_bytes_ = plan.header_bytes;
  sink->memory_budget_ = std::max(kBudgetMin, available_memory() / 4);
  sink->buffers_.resize(sink->header_.tensors.size());
  sink->digests_.resize(sink->header_.tensors.size());
  if (output.empty()) return sink;
  auto file = OutputFile::create(output, plan.file_bytes);
  if (!file) return tl::unexpected(std::move(file.error()));
  sink->output_.emplace(std::move(*file));
  if (auto put = sink->output_->write_at(0, raw_header); !put) {
    return tl::unexpected(std::move(put.error()));
  }
  return sink;
}

Result<std::optional<Sink::Posting>> FileSink::next() {
  if (posted_ == header_.tensors.size()) return std::optional<Posting>();
  const SafetensorsEntry& entry = header_.tensors[posted_];
  const bool fits = memory_used_ + entry.bytes() <= memory_budget_;
  // One tensor larger than the budget goes alone.
  if ((!fits && memory_used_ != 0) || posted_ - released_ >= kPostedMax) {
    return std::optional<Posting>();
  }
  auto shape = Shape::from(entry.extents);
  if (!shape) return tl::unexpected(std::move(shape.error()));
  auto buffer =
      Buffer::allocate(entry.bytes(), fmt::format("tensor \"{}\"", printable(entry.name)));
  if (!buffer) return tl::unexpected(std::move(buffer.error()));
  buffers_[posted_] = std::move(*buffer);
  memory_used_ += entry.bytes();
  Posting posting{kTensorTag + posted_, {}, posted_};
  posting.view.data = buffers_[posted_].data();
  posting.view.bytes = entry.bytes();
  posting.view.dtype = entry.dtype;
  posting.view.shape = *shape;
  ++posted_;
  return std::optional(posting);
}

void FileSink::on_completed(std::uint64_t index) {
  to_do_.push_back(index);
}

void FileSink::on_failed(std::uint64_t index) {
  release(index);
}

void FileSink::release(std::uint64_t index) {
  memory_used_ -= buffers_[index].size();
  buffers_[index] = Buffer();
  ++released_;
}

Result<bool> FileSink::work() {
  if (to_do_.empty()) return false;
  const std::uint64_t index = to_do_.front();
  const auto tensor = buffers_[index].span();
  const auto step =
      tensor.subspan(done_bytes_, std::min<std::uint64_t>(kStep, tensor.size() - done_bytes_));
  stream_.update(step);
  if (output_) {
    const std::uint64_t offset = header_bytes_ + header_.tensors[index].begin + done_bytes_;
    if (auto put = output_->write_at(offset, step); !put) {
      return tl::unexpected(std::move(put.error()));
    }
  }
  done_bytes_ += step.size();
  if (done_bytes_ == tensor.size()) {
    digests_[index] = stream_.finish();
    release(index);
    to_do_.pop_front();
    done_bytes_ = 0;
  }
  return !to_do_.empty();
}

Result<void> FileSink::conclude(std::span<const std::byte> digests,
                                std::vector<std::string>& problems) {
  std::vector<std::size_t> missing;
  std::vector<std::size_t> different;
  const bool comparable = digests.size() == digests_.size() * kDigestBytes;
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    if (!digests_[i]) {
      missing.push_back(i);
    } else if (!comparable ||
               *digests_[i] !=
                   get_digest(digests.subspan(i * kDigestBytes).first<kDigestBytes>())) {
      different.push_back(i);
    }
  }
  name_problem(missing, "did not arrive", problems);
  name_problem(different,
               comparable ? "have another digest than was sent" : "have no digest from the client",
               problems);
  if (!missing.empty() || !different.empty() || !output_) return {};
  return output_->commit();
}

void FileSink::name_problem(std::span<const std::size_t> tensors, std::string_view what,
                            std::vector<std::string>& problems) const {
  if (tensors.empty()) return;
  problems.push_back(fmt::format(
      "{} of {} tensors {}: \"{}\"{}", tensors.size(), header_.tensors.size(), what,
      printable(header_.tensors[tensors.front()].name), tensors.size() == 1 ? "" : " and others"));
}

}  // namespace longhaul::apps::perf
