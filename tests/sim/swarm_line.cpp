// SPDX-License-Identifier: Apache-2.0
// A scenario as a line of text. One table of fields serves both directions.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tests/sim/swarm_scenario.hpp"

namespace longhaul::simtest {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// One number of a record of type T under its name.
template <typename T>
struct Field {
  std::string_view name;
  std::function<std::uint64_t(const T&)> get;
  std::function<void(T&, std::uint64_t)> set;
};
template <typename T>
using Fields = std::vector<Field<T>>;

template <typename Unit>
std::uint64_t count(Duration duration) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<Unit>(duration).count());
}
template <typename Unit>
Duration duration(std::uint64_t count) {
  return Unit(static_cast<std::int64_t>(count));
}
std::uint64_t thousandths(double probability) {
  return static_cast<std::uint64_t>(std::lround(probability * 1000));
}
double probability(std::uint64_t thousandths) {
  return static_cast<double>(thousandths) / 1000;
}

template <typename T, typename Number>
Field<T> number(std::string_view name, Number T::*member) {
  return {name, [=](const T& t) { return static_cast<std::uint64_t>(t.*member); },
          [=](T& t, std::uint64_t value) { t.*member = static_cast<Number>(value); }};
}
template <typename Unit, typename T>
Field<T> time(std::string_view name, Duration T::*member) {
  return {name, [=](const T& t) { return count<Unit>(t.*member); },
          [=](T& t, std::uint64_t value) { t.*member = duration<Unit>(value); }};
}
template <typename T>
Field<T> chance(std::string_view name, double T::*member) {
  return {name, [=](const T& t) { return thousandths(t.*member); },
          [=](T& t, std::uint64_t value) { t.*member = probability(value); }};
}

const Fields<Line>& line_fields() {
  static const Fields<Line> fields{number("rate", &Line::rate_bps),
                                   time<microseconds>("rtt_us", &Line::rtt),
                                   number("mtu", &Line::mtu)};
  return fields;
}

using Faults = netmodel::LinkConfig;

std::uint64_t burst_packets(const Faults& faults) {
  if (faults.burst.good_to_bad <= 0) return 0;
  return static_cast<std::uint64_t>(std::lround(1 / faults.burst.bad_to_good));
}
void set_burst_packets(Faults& faults, std::uint64_t packets) {
  faults.burst = {};
  if (packets == 0) return;
  faults.burst.good_to_bad = 0.001;
  faults.burst.bad_to_good = 1.0 / static_cast<double>(packets);
}

const Fields<Faults>& fault_fields() {
  static const Fields<Faults> fields{
      chance("loss", &Faults::loss),
      {"burst", burst_packets, set_burst_packets},
      time<microseconds>("jitter_us", &Faults::jitter),
      number("jitter_reorders", &Faults::jitter_reorders),
      chance("reorder", &Faults::reorder_probability),
      time<microseconds>("reorder_us", &Faults::reorder_delay),
      number("queue", &Faults::queue_bytes),
      chance("duplicate", &Faults::duplicate),
      chance("corrupt", &Faults::corrupt),
  };
  return fields;
}

using Down = netmodel::DownTime;

const Fields<Down>& down_fields() {
  static const Fields<Down> fields{
      {"from_ms", [](const Down& d) { return count<milliseconds>(d.from - Timestamp{}); },
       [](Down& d, std::uint64_t value) { d.from = Timestamp{} + duration<milliseconds>(value); }},
      {"to_ms", [](const Down& d) { return count<milliseconds>(d.to - Timestamp{}); },
       [](Down& d, std::uint64_t value) { d.to = Timestamp{} + duration<milliseconds>(value); }},
  };
  return fields;
}

const Fields<Load>& load_fields() {
  static const Fields<Load> fields{
      number("way", &Load::way),
      number("bytes", &Load::bytes),
      number("count", &Load::count),
      number("dtype", &Load::dtype),
      number("parts", &Load::parts),
      {"class", [](const Load& l) { return static_cast<std::uint64_t>(l.send.traffic_class); },
       [](Load& l, std::uint64_t v) { l.send.traffic_class = static_cast<TrafficClass>(v); }},
      time<milliseconds>("send_ms", &Load::send_at),
      {"receive_ms",
       [](const Load& l) { return l.receive_at ? 1 + count<milliseconds>(*l.receive_at) : 0; },
       [](Load& l, std::uint64_t v) {
         l.receive_at.reset();
         if (v > 0) l.receive_at = duration<milliseconds>(v - 1);
       }},
      {"pieces", [](const Load& l) { return std::uint64_t{l.receive.piece_events}; },
       [](Load& l, std::uint64_t v) { l.receive.piece_events = v != 0; }},
      {"growing", [](const Load& l) { return std::uint64_t{l.send.growing}; },
       [](Load& l, std::uint64_t v) { l.send.growing = v != 0; }},
      time<milliseconds>("grow_ms", &Load::grow_over),
  };
  return fields;
}

/// A suspension of the server and its end, which only make sense together.
struct Pause {
  Duration at{};
  Duration length{};
};

const Fields<Pause>& pause_fields() {
  static const Fields<Pause> fields{time<milliseconds>("at_ms", &Pause::at),
                                    time<milliseconds>("for_ms", &Pause::length)};
  return fields;
}

const Fields<Change>& change_fields() {
  static const Fields<Change> fields{
      time<milliseconds>("at_ms", &Change::at),
      number("what", &Change::what),
      {"mtu", [](const Change& c) { return std::uint64_t{c.line.mtu}; },
       [](Change& c, std::uint64_t v) { c.line.mtu = static_cast<std::uint32_t>(v); }},
  };
  return fields;
}

const Fields<Scenario>& scenario_fields() {
  static const Fields<Scenario> fields{
      number("seed", &Scenario::seed),
      number("connect_under_faults", &Scenario::connect_under_faults),
      {"cubic", [](const Scenario& s) { return std::uint64_t{s.controller == "cubic"}; },
       [](Scenario& s, std::uint64_t v) { s.controller = v != 0 ? "cubic" : "fixed"; }},
      time<milliseconds>("settle_ms", &Scenario::settle),
  };
  return fields;
}

// What every scenario of the swarm has and no line says.
Scenario plain_scenario() {
  Scenario scenario{.name = "swarm"};
  scenario.peer_timeout = std::chrono::seconds(10);
  scenario.limit = std::chrono::seconds(300);
  scenario.faults_strike = false;
  return scenario;
}

Load plain_load() {
  Load load;
  load.bytes = 1000;
  return load;
}

template <typename T>
void write(std::string& out, std::string_view prefix, char between, char assign,
           const Fields<T>& fields, const T& value, const T& plain) {
  for (const Field<T>& field : fields) {
    if (field.get(value) == field.get(plain)) continue;
    if (!out.empty() && out.back() != '=') out += between;
    out += fmt::format("{}{}{}{}", prefix, field.name, assign, field.get(value));
  }
}

template <typename T>
void write_record(std::string& out, std::string_view key, const Fields<T>& fields, const T& value,
                  const T& plain = {}) {
  out += fmt::format(" {}=", key);
  write(out, "", ',', ':', fields, value, plain);
}

void write_changes(std::string& out, const std::vector<Change>& changes) {
  using What = Change::What;
  for (auto it = changes.begin(); it != changes.end(); ++it) {
    if (it->what != What::suspend_server) {
      write_record(out, "change", change_fields(), *it);
      continue;
    }
    const auto end = std::ranges::find(it, changes.end(), What::resume_server, &Change::what);
    if (end == changes.end()) throw std::runtime_error("a suspended server has to be resumed");
    write_record(out, "pause", pause_fields(), {it->at, end->at - it->at});
    it = end;
  }
}

std::uint64_t parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::runtime_error(fmt::format("\"{}\" is not a number", text));
  return value;
}

template <typename T>
void read(const Fields<T>& fields, std::string_view name, std::string_view value, T& record) {
  for (const Field<T>& field : fields)
    if (field.name == name) return field.set(record, parse_number(value));
  throw std::runtime_error(fmt::format("no field is called \"{}\"", name));
}

/// The text up to `separator`, which goes with it.
std::string_view cut(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return first;
}

template <typename T>
T read_record(const Fields<T>& fields, std::string_view text, T record = {}) {
  while (!text.empty()) {
    std::string_view value = cut(text, ',');
    const std::string_view name = cut(value, ':');
    read(fields, name, value, record);
  }
  return record;
}

void read_fault(std::string_view name, std::string_view value, Faults& faults) {
  if (name == "down") return faults.down.push_back(read_record(down_fields(), value));
  read(fault_fields(), name, value, faults);
}

void read_token(std::string_view token, Scenario& scenario) {
  const std::string_view name = cut(token, '=');
  if (name.starts_with("there.")) return read_fault(name.substr(6), token, scenario.there);
  if (name.starts_with("back.")) return read_fault(name.substr(5), token, scenario.back);
  if (name == "load")
    return scenario.loads.push_back(read_record(load_fields(), token, plain_load()));
  if (name == "pause") {
    const Pause pause = read_record(pause_fields(), token);
    scenario.changes.push_back({.at = pause.at, .what = Change::What::suspend_server});
    scenario.changes.push_back(
        {.at = pause.at + pause.length, .what = Change::What::resume_server});
    return;
  }
  if (name == "change") return scenario.changes.push_back(read_record(change_fields(), token));
  for (const auto& field : line_fields())
    if (field.name == name) return field.set(scenario.line, parse_number(token));
  read(scenario_fields(), name, token, scenario);
}

bool plausible(const Load& load) {
  const auto dtype = static_cast<unsigned>(load.dtype);
  const auto traffic_class = static_cast<unsigned>(load.send.traffic_class);
  return dtype >= 1 && dtype <= 15 && traffic_class >= 1 && traffic_class <= 3 && load.count > 0 &&
         load.parts > 0 && static_cast<unsigned>(load.way) <= 1;
}

bool plausible(const Faults& faults) {
  const auto down = [](const Down& d) { return d.to - d.from <= std::chrono::seconds(2); };
  return faults.loss <= 0.5 && (faults.queue_bytes == 0 || faults.queue_bytes >= 100'000) &&
         std::ranges::all_of(faults.down, down);
}

// What can hold at all: cutting a scenario down must not end at one that no protocol survives.
void check(const Scenario& scenario) {
  if (scenario.loads.empty()) throw std::runtime_error("there is no load");
  if (!std::ranges::all_of(scenario.loads, [](const Load& load) { return plausible(load); }))
    throw std::runtime_error("a load has a number that means nothing");
  if (!plausible(scenario.there) || !plausible(scenario.back))
    throw std::runtime_error("loss above 500, a queue below 100000, or down for more than 2 s");
  for (const Change& change : scenario.changes)
    if (change.what != Change::What::line && change.what != Change::What::suspend_server &&
        change.what != Change::What::resume_server && change.what != Change::What::rebind_client &&
        change.what != Change::What::inject_garbage)
      throw std::runtime_error("a change of a kind the swarm has not");
  if (scenario.line.rate_bps < 100'000'000 || scenario.line.mtu < 1280)
    throw std::runtime_error("a rate below 100000000, or an MTU below 1280");
}

}  // namespace

std::string to_line(const Scenario& scenario) {
  const Scenario plain = plain_scenario();
  std::string out;
  write(out, "", ' ', '=', scenario_fields(), scenario, plain);
  write(out, "", ' ', '=', line_fields(), scenario.line, plain.line);
  write(out, "there.", ' ', '=', fault_fields(), scenario.there, plain.there);
  for (const Down& down : scenario.there.down) write_record(out, "there.down", down_fields(), down);
  write(out, "back.", ' ', '=', fault_fields(), scenario.back, plain.back);
  for (const Down& down : scenario.back.down) write_record(out, "back.down", down_fields(), down);
  for (const Load& load : scenario.loads)
    write_record(out, "load", load_fields(), load, plain_load());
  write_changes(out, scenario.changes);
  return out;
}

Scenario from_line(std::string_view line) {
  Scenario scenario = plain_scenario();
  while (!line.empty()) {
    const std::string_view token = cut(line, ' ');
    if (!token.empty()) read_token(token, scenario);
  }
  for (std::size_t i = 0; i < scenario.loads.size(); ++i) {
    Load& load = scenario.loads[i];
    load.tag = i + 1;
    load.bytes -= load.bytes % std::max<std::uint64_t>(element_size(load.dtype), 1);
  }
  for (Change& change : scenario.changes) {
    // A changed line keeps the faults of the way there.
    const std::uint32_t mtu = change.line.mtu;
    if (change.what != Change::What::line) continue;
    change.line = scenario.line;
    change.line.mtu = mtu;
    change.there = scenario.there;
  }
  check(scenario);
  return scenario;
}

}  // namespace longhaul::simtest
