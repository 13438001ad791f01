// SPDX-License-Identifier: Apache-2.0
#include "lib/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

#include "lib/base/build_config.hpp"

namespace longhaul::base {
namespace {
thread_local PoisonScope* innermost = nullptr;
}

PoisonScope::PoisonScope() noexcept : outer_(innermost) {
  innermost = this;
}
PoisonScope::~PoisonScope() {
  innermost = outer_;
}

void invariant_broken(const char* expression, const char* file, int line) noexcept {
  if constexpr (kAbortOnBrokenInvariant) {
    std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expression);
    std::abort();
  }
  if (innermost != nullptr && innermost->message_ == nullptr) {
    innermost->message_ = expression;
    innermost->file_ = file;
    innermost->line_ = line;
  }
}

}  // namespace longhaul::base
