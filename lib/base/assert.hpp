// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace longhaul::base {

/// What a broken invariant does. Without a hook, and always with -Dassertions=abort, it aborts in
/// test builds and is counted in others; a connection installs itself around its entry points and
/// is poisoned.
class PoisonScope {
 public:
  PoisonScope() noexcept;
  ~PoisonScope();
  PoisonScope(const PoisonScope&) = delete;
  PoisonScope& operator=(const PoisonScope&) = delete;
  bool poisoned() const noexcept { return message_ != nullptr; }
  const char* message() const noexcept { return message_; }
  const char* file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

 private:
  friend void invariant_broken(const char*, const char*, int) noexcept;
  PoisonScope* outer_;
  const char* message_ = nullptr;
  const char* file_ = nullptr;
  int line_ = 0;
};

/// Notes the first broken invariant in the innermost scope of this thread; aborts in
/// -Dassertions=abort builds.
void invariant_broken(const char* expression, const char* file, int line) noexcept;

}  // namespace longhaul::base

/// Always on. Execution goes on after a broken invariant: the connection ends before it does
/// anything else.
#define LONGHAUL_ASSERT(condition)                                        \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      ::longhaul::base::invariant_broken(#condition, __FILE__, __LINE__); \
  } while (false)
