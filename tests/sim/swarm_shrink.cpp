// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/swarm_shrink.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

namespace longhaul::simtest {
namespace {

/// `load=bytes:5000,way:1` as key `load` and fields; `seed=7` as key and one field.
struct Token {
  std::string key;
  std::vector<std::string> fields;
};
using Tokens = std::vector<Token>;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Tokens parse(const std::string& line) {
  Tokens tokens;
  for (const std::string& word : split(line, ' ')) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    tokens.push_back({word.substr(0, equals), split(word.substr(equals + 1), ',')});
  }
  return tokens;
}

std::string join(const Tokens& tokens) {
  std::string line;
  for (const Token& token : tokens) {
    if (!line.empty()) line += ' ';
    line += token.key + '=';
    for (std::size_t i = 0; i < token.fields.size(); ++i) line += (i ? "," : "") + token.fields[i];
  }
  return line;
}

// The field with half its number; empty if there is nothing to halve.
std::string halved(const std::string& field) {
  const std::size_t colon = field.find(':');
  const std::size_t at = colon == std::string::npos ? 0 : colon + 1;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data() + at, field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size() || value == 0) return {};
  return field.substr(0, at) + std::to_string(value / 2);
}

class Shrinker {
 public:
  Shrinker(std::string line, const Fails& fails, unsigned runs_max)
      : best_(parse(line)), fails_(fails), left_(runs_max) {}

  std::string run() {
    for (bool any = true; any && left_ > 0;) {
      any = drop_tokens();
      any |= drop_fields();
      any |= halve_fields();
    }
    return join(best_);
  }

 private:
  bool try_instead(Tokens&& tokens) {
    if (left_ == 0) return false;
    --left_;
    if (!fails_(join(tokens))) return false;
    best_ = std::move(tokens);
    return true;
  }

  bool drop_tokens() {
    bool any = false;
    for (std::size_t i = best_.size(); i-- > 0;) {
      Tokens fewer = best_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      any |= try_instead(std::move(fewer));
    }
    return any;
  }

  bool drop_fields() {
    bool any = false;
    for (std::size_t i = 0; i < best_.size(); ++i) {
      if (best_[i].fields.size() == 1 && best_[i].fields[0].find(':') == std::string::npos)
        continue;
      for (std::size_t k = best_[i].fields.size(); k-- > 0;) {
        Tokens fewer = best_;
        fewer[i].fields.erase(fewer[i].fields.begin() + static_cast<std::ptrdiff_t>(k));
        any |= try_instead(std::move(fewer));
      }
    }
    return any;
  }

  bool halve_fields() {
    bool any = false;
    for (std::size_t i = 0; i < best_.size(); ++i) {
      for (std::size_t k = 0; k < best_[i].fields.size(); ++k) {
        for (bool again = true; again;) {
          Tokens smaller = best_;
          std::string& field = smaller[i].fields[k];
          field = halved(field);
          again = !field.empty() && try_instead(std::move(smaller));
          any |= again;
        }
      }
    }
    return any;
  }

  Tokens best_;
  const Fails& fails_;
  unsigned left_;
};

}  // namespace

std::string shrink(std::string line, const Fails& fails, unsigned runs_max) {
  return Shrinker(std::move(line), fails, runs_max).run();
}

}  // namespace longhaul::simtest
