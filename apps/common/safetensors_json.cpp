// SPDX-License-Identifier: Apache-2.0
#include "apps/common/safetensors_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"

namespace longhaul::apps {

namespace {

/// Where in `{"name": {"dtype": …, "shape": […], "data_offsets": […]}, "__metadata__": {…}}` the
/// parser stands.
enum class Place : std::uint8_t { outside, top, tensor, metadata, shape, offsets, finished };
enum class Field : std::uint8_t { none, dtype, shape, offsets };

/// Function names are those the parser calls (nlohmann's SAX interface).
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return reject("null"); }
  bool boolean(bool) override { return reject("a boolean"); }
  bool number_integer(number_integer_t) override { return reject("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return reject("a fraction"); }
  bool binary(binary_t&) override { return reject("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) return append(entries_.back().shape, value);
    if (place_ == Place::offsets) return append(entries_.back().offsets, value);
    return reject("a number");
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::tensor || field_ != Field::dtype) return reject("a string");
    entries_.back().dtype = std::move(value);
    field_ = Field::none;
    has_dtype_ = true;
    return true;
  }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::outside:
        place_ = Place::top;
        return true;
      case Place::top:
        place_ = in_metadata_ ? Place::metadata : Place::tensor;
        has_dtype_ = has_shape_ = has_offsets_ = false;
        return true;
      default:
        return reject("an object");
    }
  }

  bool key(string_t& name) override {
    if (place_ == Place::top) return start_entry(name);
    if (place_ == Place::metadata) return true;
    return start_field(name);
  }

  bool end_object() override {
    if (place_ == Place::top) {
      place_ = Place::finished;
      return true;
    }
    if (place_ == Place::tensor && !(has_dtype_ && has_shape_ && has_offsets_)) {
      return stop(fmt::format("tensor \"{}\" lacks {}", printable(entries_.back().name),
                              !has_dtype_   ? "dtype"
                              : !has_shape_ ? "shape"
                                            : "data_offsets"));
    }
    place_ = Place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && field_ == Field::shape) {
      place_ = Place::shape;
      has_shape_ = true;
      return true;
    }
    if (place_ == Place::tensor && field_ == Field::offsets) {
      place_ = Place::offsets;
      has_offsets_ = true;
      return true;
    }
    return reject("an array");
  }

  bool end_array() override {
    place_ = Place::tensor;
    field_ = Field::none;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return stop(fmt::format("its header is no valid JSON at byte {}", position));
  }

  const std::string& cause() const { return cause_; }
  std::vector<RawSafetensorsEntry> take() { return std::move(entries_); }

 private:
  static constexpr std::size_t kNumbersMax = 64;

  bool start_entry(string_t& name) {
    if (!names_.insert(name).second) {
      return stop(fmt::format("names tensor \"{}\" twice", printable(name)));
    }
    in_metadata_ = name == "__metadata__";
    if (!in_metadata_) {
      entries_.emplace_back();
      entries_.back().name = std::move(name);
    }
    return true;
  }

  bool start_field(const string_t& name) {
    const bool repeated = (name == "dtype" && has_dtype_) || (name == "shape" && has_shape_) ||
                          (name == "data_offsets" && has_offsets_);
    if (!repeated) {
      if (name == "dtype") field_ = Field::dtype;
      if (name == "shape") field_ = Field::shape;
      if (name == "data_offsets") field_ = Field::offsets;
    }
    if (repeated || field_ == Field::none) {
      return stop(fmt::format("tensor \"{}\" has {} field \"{}\"", printable(entries_.back().name),
                              repeated ? "twice the" : "an unknown", printable(name, 40)));
    }
    return true;
  }

  bool append(std::vector<std::uint64_t>& numbers, std::uint64_t value) {
    if (numbers.size() == kNumbersMax) return reject("an endless list");
    numbers.push_back(value);
    return true;
  }

  bool reject(std::string_view what) {
    if (place_ == Place::outside) return stop(fmt::format("its header is {}, no object", what));
    const bool in_tensor = !in_metadata_ && !entries_.empty();
    return stop(fmt::format("{} has {} where the format allows none",
                            in_tensor
                                ? fmt::format("tensor \"{}\"", printable(entries_.back().name))
                                : std::string("the header"),
                            what));
  }

  bool stop(std::string cause) {
    if (cause_.empty()) cause_ = std::move(cause);
    return false;
  }

  std::vector<RawSafetensorsEntry> entries_;
  std::unordered_set<std::string> names_;
  std::string cause_;
  Place place_ = Place::outside;
  Field field_ = Field::none;
  bool in_metadata_ = false;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
};

}  // namespace

Result<std::vector<RawSafetensorsEntry>> parse_safetensors_json(std::span<const std::byte> json) {
  HeaderHandler handler;
  const auto* text = reinterpret_cast<const char*>(json.data());
  if (!nlohmann::json::sax_parse(text, text + json.size(), &handler)) {
    return fail(ErrorCode::invalid_argument, handler.cause());
  }
  return handler.take();
}

}  // namespace longhaul::apps
