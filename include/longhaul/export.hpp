// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the shared library shows. The rest of it is hidden.
#if defined(__GNUC__)
#define LONGHAUL_API __attribute__((visibility("default")))
#else
#define LONGHAUL_API
#endif
