// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/api/endpoint_impl.hpp"

namespace longhaul::api {

/// One call's stay inside an endpoint: while it lasts `close()` does not take the worker away.
/// False if the endpoint is closing or this is a forked child. Never waits.
class EndpointImpl::Entry {
 public:
  explicit Entry(EndpointImpl& endpoint) noexcept : endpoint_(endpoint) {
    if (endpoint_.foreign()) return;
    endpoint_.inside_.fetch_add(1, std::memory_order_seq_cst);
    allowed_ = !endpoint_.closing_.load(std::memory_order_seq_cst);
    if (!allowed_) endpoint_.inside_.fetch_sub(1, std::memory_order_seq_cst);
  }
  ~Entry() {
    if (allowed_) endpoint_.inside_.fetch_sub(1, std::memory_order_seq_cst);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const noexcept { return allowed_; }

 private:
  EndpointImpl& endpoint_;
  bool allowed_ = false;
};

}  // namespace longhaul::api
