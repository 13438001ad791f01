// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"

namespace longhaul::apps::wan {

namespace {

using nlohmann::json;

constexpr std::uint64_t kFileMax = 1u << 20;

tl::unexpected<Error> refuse(std::string text) {
  return fail(ErrorCode::invalid_argument, std::move(text));
}

/// Finds a key that an object has twice, of which the parser would keep the last without a word.
struct TwiceWritten {
  std::string key;
  std::vector<std::set<std::string>> open;

  bool operator()(int, json::parse_event_t event, const json& parsed) {
    using Kind = json::parse_event_t;
    if (event == Kind::object_start) open.emplace_back();
    if (event == Kind::object_end) open.pop_back();
    if (event != Kind::key) return true;
    auto name = parsed.get<std::string>();
    if (!open.back().insert(name).second) key = std::move(name);
    return true;
  }
};

/// An object with no other keys than these.
Result<void> check_keys(const json& object, std::string_view where,
                        std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return refuse(fmt::format("{} has to be an object {{}}", where));
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (const std::string_view name : known) names += fmt::format(" {}", name);
    return refuse(
        fmt::format("{} has an unknown key \"{}\"; there are{}", where, printable(key), names));
  }
  return {};
}

Result<std::string> text_of(const json& object, std::string_view key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return refuse(fmt::format("{} needs \"{}\", a text", where, key));
  }
  return found->get<std::string>();
}

Result<EffectList> effects_of(const json& object, std::string_view key, std::string_view where) {
  EffectList list;
  const auto found = object.find(key);
  if (found == object.end()) return list;
  if (!found->is_object()) {
    return refuse(fmt::format("{}: \"{}\" has to be an object of effects", where, key));
  }
  for (const auto& [name, value] : found->items()) {
    if (value.is_structured() || value.is_null()) {
      return refuse(fmt::format("{}: \"{}\" has to be a text, a number, true or false", where,
                                printable(name)));
    }
    list.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return list;
}

Result<ScheduledEffects> scheduled_of(const json& object, const std::string& where) {
  if (auto checked = check_keys(object, where, {"at", "direction", "effects"}); !checked)
    return tl::unexpected(checked.error());
  const auto at = text_of(object, "at", where);
  if (!at) return tl::unexpected(at.error());
  const auto time = parse_time(*at);
  if (!time) return refuse(fmt::format("{}: {}", where, time.error().context));
  const auto direction = text_of(object, "direction", where);
  if (!direction) return tl::unexpected(direction.error());
  const auto which = parse_direction(*direction);
  if (!which) return refuse(fmt::format("{}: {}", where, which.error().context));
  auto effects = effects_of(object, "effects", where);
  if (!effects) return tl::unexpected(std::move(effects.error()));
  if (effects->empty())
    return refuse(fmt::format("{} needs \"effects\", an object of them", where));
  return ScheduledEffects{*time, *which, std::move(*effects)};
}

Result<LinkRequest> link_of(const json& object, std::size_t number) {
  const std::string where = fmt::format("link {}", number);
  auto checked =
      check_keys(object, where, {"name", "a", "b", "both", "forward", "backward", "schedule"});
  if (!checked) return tl::unexpected(checked.error());
  LinkRequest request;
  for (const auto& [key, target] : {std::pair{"a", &request.a}, std::pair{"b", &request.b}}) {
    auto name = text_of(object, key, where);
    if (!name) return tl::unexpected(std::move(name.error()));
    *target = std::move(*name);
  }
  request.name = fmt::format("{}-{}", request.a, request.b);
  if (object.contains("name")) {
    auto name = text_of(object, "name", where);
    if (!name) return tl::unexpected(std::move(name.error()));
    request.name = printable(*name);
  }
  for (const auto& [key, target] :
       {std::pair{"both", &request.both}, std::pair{"forward", &request.forward},
        std::pair{"backward", &request.backward}}) {
    auto list = effects_of(object, key, where);
    if (!list) return tl::unexpected(std::move(list.error()));
    *target = std::move(*list);
  }
  if (!object.contains("schedule")) return request;
  if (!object["schedule"].is_array())
    return refuse(fmt::format("{}: \"schedule\" has to be a list []", where));
  for (const json& entry : object["schedule"]) {
    auto scheduled = scheduled_of(
        entry, fmt::format("{}, schedule entry {}", where, request.schedule.size() + 1));
    if (!scheduled) return tl::unexpected(std::move(scheduled.error()));
    request.schedule.push_back(std::move(*scheduled));
  }
  return request;
}

Result<void> fill(const json& root, Options& options) {
  if (auto checked = check_keys(root, "the scenario", {"seed", "links"}); !checked) return checked;
  if (root.contains("seed")) {
    if (!root["seed"].is_number_unsigned())
      return refuse("\"seed\" has to be a whole number that is not negative");
    if (!options.seed) options.seed = root["seed"].get<std::uint64_t>();
  }
  const auto links = root.find("links");
  if (links == root.end() || !links->is_array() || links->empty())
    return refuse("the scenario needs \"links\", a list of one or more");
  for (const json& entry : *links) {
    auto link = link_of(entry, options.links.size() + 1);
    if (!link) return tl::unexpected(std::move(link.error()));
    options.links.push_back(std::move(*link));
  }
  return {};
}

}  // namespace

Result<void> parse_scenario(std::string_view text, std::string_view name, Options& options) {
  const std::string file = printable(name);
  try {
    TwiceWritten twice;
    const json root = json::parse(text, std::ref(twice));
    if (!twice.key.empty()) {
      return refuse(fmt::format("{} gives \"{}\" twice in one object; give it once", file,
                                printable(twice.key)));
    }
    if (auto filled = fill(root, options); !filled)
      return refuse(fmt::format("{}: {}", file, filled.error().context));
  } catch (const json::exception& error) {
    return refuse(fmt::format("{} is not JSON: {}", file, printable(error.what())));
  }
  return {};
}

Result<void> read_scenario(const std::string& path, Options& options) {
  std::uint64_t bytes = 0;
  const auto fd = open_for_reading(path, bytes);
  if (!fd) return tl::unexpected(fd.error());
  if (bytes > kFileMax) {
    return refuse(fmt::format("{} has {} bytes, too many for a scenario", printable(path), bytes));
  }
  std::string text(bytes, '\0');
  if (auto read = read_at(fd->get(), path, 0, std::as_writable_bytes(std::span(text))); !read)
    return read;
  return parse_scenario(text, path, options);
}

}  // namespace longhaul::apps::wan
