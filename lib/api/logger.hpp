// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

#include "longhaul/log.hpp"

namespace longhaul::api {

/// The application's sink, if it gave one. A sink that throws is not let through to the worker.
class Logger {
 public:
  Logger() = default;
  explicit Logger(LogSink sink) : sink_(std::move(sink)) {}

  void log(LogLevel level, std::string_view line) const noexcept {
    if (!sink_) return;
    try {
      sink_(level, line);
    } catch (...) {
      return;  // there is nobody to tell
    }
  }

 private:
  LogSink sink_;
};

}  // namespace longhaul::api
