// SPDX-License-Identifier: Apache-2.0
#include "apps/common/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace longhaul::apps {

Result<void> hold_standard_descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one: those below it are taken.
    const int useless = standard == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", useless) != standard) {
      return fail(ErrorCode::system,
                  "cannot open /dev/null for a standard descriptor that is closed", errno);
    }
  }
  return {};
}

}  // namespace longhaul::apps
