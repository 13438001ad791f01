// SPDX-License-Identifier: Apache-2.0
#include "congestion/registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "congestion/cubic.hpp"
#include "congestion/fixed.hpp"

namespace longhaul::congestion {
namespace {

struct Entry {
  std::string_view name;
  ControllerFactory factory;
  bool needs_rate;  // useless without ControllerConfig::configured_rate
};

template <typename Implementation>
std::unique_ptr<Controller> make(const ControllerConfig& config) {
  return std::make_unique<Implementation>(config);
}

constexpr std::array kControllers{
    Entry{"cubic", &make<Cubic>, false},
    Entry{"fixed", &make<Fixed>, true},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kControllers.size()> names{};
  std::transform(kControllers.begin(), kControllers.end(), names.begin(),
                 [](const Entry& entry) { return entry.name; });
  return names;
}();
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

const Entry* find(std::string_view name) {
  const auto entry = std::find_if(kControllers.begin(), kControllers.end(),
                                  [name](const Entry& each) { return each.name == name; });
  return entry == kControllers.end() ? nullptr : &*entry;
}

}  // namespace

ControllerFactory find_controller(std::string_view name) {
  const Entry* entry = find(name);
  return entry == nullptr ? nullptr : entry->factory;
}

std::span<const std::string_view> controller_names() {
  return kNames;
}

std::string_view default_controller(BitsPerSecond configured_rate) {
  return configured_rate > 0 ? "fixed" : "cubic";
}

Result<std::unique_ptr<Controller>> make_controller(std::string_view name,
                                                    const ControllerConfig& config) {
  if (name.empty()) name = default_controller(config.configured_rate);
  const Entry* entry = find(name);
  if (entry == nullptr) {
    std::string context = "no controller \"" + std::string(name) + "\"; choose one of:";
    for (const std::string_view known : kNames) context.append(" ").append(known);
    return fail(ErrorCode::invalid_argument, std::move(context));
  }
  if (entry->needs_rate && config.configured_rate == 0) {
    return fail(ErrorCode::invalid_argument, "controller \"" + std::string(name) +
                                                 "\" needs a rate; configure one, or choose cubic");
  }
  return entry->factory(config);
}

}  // namespace longhaul::congestion
