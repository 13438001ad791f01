// SPDX-License-Identifier: Apache-2.0
// What the handles of the C interface point to: a C++ handle, and what kind it is.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "lib/api/c/structs.hpp"
#include "longhaul/endpoint.hpp"

namespace longhaul::api::c {

/// First in every handle, so that a binding that mixes up its pointers gets an answer.
enum class HandleKind : std::uint32_t {
  endpoint = 0x6c684570,
  connection = 0x6c68436f,
  transfer = 0x6c685472,
};

}  // namespace longhaul::api::c

struct longhaul_endpoint {
  static constexpr auto kKind = longhaul::api::c::HandleKind::endpoint;
  static constexpr const char* kName = "endpoint";
  longhaul::api::c::HandleKind kind = kKind;
  mutable longhaul::Endpoint object;
};

struct longhaul_connection {
  static constexpr auto kKind = longhaul::api::c::HandleKind::connection;
  static constexpr const char* kName = "connection";
  longhaul::api::c::HandleKind kind = kKind;
  longhaul::Connection object;
};

struct longhaul_transfer {
  static constexpr auto kKind = longhaul::api::c::HandleKind::transfer;
  static constexpr const char* kName = "transfer";
  longhaul::api::c::HandleKind kind = kKind;
  longhaul::Transfer object;
};

namespace longhaul::api::c {

/// Whether it is a handle of its type.
template <typename Handle>
bool is_valid(const Handle* handle) noexcept {
  if (handle == nullptr) return false;
  HandleKind kind{};
  std::memcpy(&kind, static_cast<const void*>(handle), sizeof kind);
  return kind == Handle::kKind;
}

template <typename Handle>
Result<void> check(const Handle* handle) {
  if (is_valid(handle)) return {};
  return invalid("the " + std::string(Handle::kName) + " handle is " +
                 (handle == nullptr ? "NULL" : "of another kind"));
}

/// Where a call puts the handle it makes. The handle is allocated before the call does anything, so
/// that a lack of memory never loses what was begun.
template <typename Handle>
class NewHandle {
 public:
  /// Sets *out to NULL.
  explicit NewHandle(Handle** out) : out_(out) {
    if (out_ == nullptr) return;
    *out_ = nullptr;
    handle_ = std::make_unique<Handle>();
  }

  bool wanted() const noexcept { return out_ != nullptr; }

  template <typename Object>
  Result<void> give(Result<Object>&& object) {
    if (!object) return tl::unexpected(object.error());
    if (out_ == nullptr) return {};
    handle_->object = std::move(*object);
    *out_ = handle_.release();
    return {};
  }

 private:
  Handle** const out_;
  std::unique_ptr<Handle> handle_;
};

/// The body of the `_release` functions.
template <typename Handle>
void release(Handle** handle) noexcept {
  if (handle == nullptr || !is_valid(*handle)) return;
  delete *handle;
  *handle = nullptr;
}

}  // namespace longhaul::api::c
