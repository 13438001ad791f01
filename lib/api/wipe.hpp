// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>

#include <string>

namespace longhaul::api {

/// Overwrites and empties a text that was a secret; no optimiser may leave that out.
inline void wipe(std::string& text) noexcept {
  text.resize(text.capacity());  // what a longer text left behind goes too
  explicit_bzero(text.data(), text.size());
  text.clear();
}

/// Wipes a text on every way out.
class Wiper {
 public:
  explicit Wiper(std::string& text) noexcept : text_(text) {}
  ~Wiper() { wipe(text_); }
  Wiper(const Wiper&) = delete;
  Wiper& operator=(const Wiper&) = delete;

 private:
  std::string& text_;
};

}  // namespace longhaul::api
