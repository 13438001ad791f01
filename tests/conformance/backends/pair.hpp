// SPDX-License-Identifier: Apache-2.0
// What the backend suite needs to know of a backend: how to make two that reach each other, and how
// time passes there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/io/backend.hpp"

namespace longhaul::io {

/// Two open backends between which datagrams pass unharmed, in order and within a millisecond.
class Pair {
 public:
  virtual ~Pair() = default;
  virtual Backend& left() = 0;
  virtual Backend& right() = 0;
  /// The time to pass to the backends.
  virtual Timestamp now() const = 0;
  /// Lets time pass: until something may have arrived, or for `longest`.
  virtual void pass(Duration longest) = 0;
};

/// One backend under test. `make` gives null, with the missing capability in `why_not`, where the
/// machine cannot run it.
struct BackendUnderTest {
  std::string name;
  std::function<std::unique_ptr<Pair>(std::string& why_not)> make;
};

}  // namespace longhaul::io
