// SPDX-License-Identifier: Apache-2.0
// What needs no handle: versions, names, addresses.
#include <string.h>

#include "lib/api/c/convert.hpp"
#include "lib/api/c/guard.hpp"
#include "lib/api/c/structs.hpp"
#include "longhaul/longhaul.h"
#include "longhaul/longhaul.hpp"

namespace longhaul::api::c {
namespace {

// The numbers of both interfaces are the same, so that one cast is the translation.
template <typename Enum>
constexpr bool same(int number, Enum enumerator) {
  return number == static_cast<int>(enumerator);
}
static_assert(same(LONGHAUL_INVALID_ARGUMENT, ErrorCode::invalid_argument));
static_assert(same(LONGHAUL_INTERNAL, ErrorCode::internal));
static_assert(same(LONGHAUL_STATUS_PENDING, Status::pending));
static_assert(same(LONGHAUL_STATUS_INTERNAL, Status::internal));
static_assert(same(LONGHAUL_CLASS_SCAVENGER, TrafficClass::scavenger));
static_assert(same(LONGHAUL_BEST_EFFORT, Reliability::best_effort));
static_assert(same(LONGHAUL_U8, Dtype::u8) && same(LONGHAUL_BOOLEAN, Dtype::boolean));
static_assert(same(LONGHAUL_MEMORY_MANAGED, MemoryKind::managed));
static_assert(same(LONGHAUL_CALLER_POLLS, ThreadMode::caller_polls));
static_assert(same(LONGHAUL_LOG_ERROR, LogLevel::error));
static_assert(same(LONGHAUL_TRANSFER_ENDED, Completion::Kind::transfer));
static_assert(same(LONGHAUL_CONNECTION_ENDED, Completion::Kind::disconnected));
static_assert(same(LONGHAUL_IPV4, AddressFamily::ipv4) && same(LONGHAUL_IPV6, AddressFamily::ipv6));
static_assert(LONGHAUL_DIMENSIONS_MAX == kDimensionsMax);

// The name of an enumerator of C++, which is a literal, for a number that may be none.
template <typename Enum>
const char* name_of(std::int32_t number, Enum last) noexcept {
  if (number < 0 || number > static_cast<std::int32_t>(last)) return "unknown";
  return to_string(static_cast<Enum>(number)).data();
}

}  // namespace
}  // namespace longhaul::api::c

using namespace longhaul;
using namespace longhaul::api::c;

uint32_t longhaul_abi_version(void) {
  return LONGHAUL_ABI_VERSION;
}

const char* longhaul_version(void) {
  return version().data();
}

const char* longhaul_code_name(longhaul_code code) {
  return code == LONGHAUL_OK ? "ok" : name_of(code, ErrorCode::internal);
}

const char* longhaul_status_name(longhaul_status status) {
  return name_of(status, Status::internal);
}

const char* longhaul_traffic_class_name(longhaul_traffic_class traffic_class) {
  return name_of(traffic_class, TrafficClass::scavenger);
}

const char* longhaul_reliability_name(longhaul_reliability reliability) {
  return name_of(reliability, Reliability::best_effort);
}

const char* longhaul_dtype_name(longhaul_dtype dtype) {
  return name_of(dtype, Dtype::boolean);
}

const char* longhaul_drop_reason_name(size_t place) {
  return place < kDropReasons ? to_string(static_cast<DropReason>(place)).data() : nullptr;
}

size_t longhaul_dtype_size(longhaul_dtype dtype) {
  const auto known = to_enum(dtype, Dtype::u8, Dtype::boolean, "longhaul_dtype");
  return known ? element_size(*known) : 0;
}

longhaul_code longhaul_dtype_parse(const char* name, longhaul_dtype* dtype, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (dtype == nullptr) return invalid("there is nowhere to put the dtype (NULL)");
    const auto text = to_text(name, "name");
    if (!text) return tl::unexpected(text.error());
    const auto parsed = parse_dtype(*text);
    if (!parsed) return tl::unexpected(parsed.error());
    *dtype = static_cast<longhaul_dtype>(*parsed);
    return {};
  });
}

longhaul_code longhaul_address_parse(const char* host, uint16_t port, longhaul_address* address,
                                     longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    const auto text = to_text(host, "host");
    if (!text) return tl::unexpected(text.error());
    const auto parsed = SocketAddress::parse(*text, port);
    if (!parsed) return tl::unexpected(parsed.error());
    return give_address(*parsed, address);
  });
}

namespace {

Result<void> resolve_into(const char* host, std::uint16_t port,
                          std::optional<longhaul::AddressFamily> family,
                          longhaul_address* address) {
  const auto text = to_text(host, "host");
  if (!text) return tl::unexpected(text.error());
  if (auto size = size_of(address, "longhaul_address"); !size) {
    return tl::unexpected(size.error());
  }
  const auto resolved = longhaul::resolve(*text, port, family);
  if (!resolved) return tl::unexpected(resolved.error());
  return give_address(*resolved, address);
}

}  // namespace

longhaul_code longhaul_resolve(const char* host, uint16_t port, longhaul_address* address,
                               longhaul_error* error) {
  return guarded(error, [&] { return resolve_into(host, port, std::nullopt, address); });
}

longhaul_code longhaul_resolve_family(const char* host, uint16_t port, int32_t family,
                                      longhaul_address* address, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    const auto wanted = to_enum(family, longhaul::AddressFamily::ipv4,
                                longhaul::AddressFamily::ipv6, "longhaul_family");
    if (!wanted) return tl::unexpected(wanted.error());
    return resolve_into(host, port, *wanted, address);
  });
}

longhaul_code longhaul_generate_key(const char* identity, char* text, size_t capacity,
                                    longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (text == nullptr) return invalid("there is nowhere to put the key (NULL)");
    const auto name = to_text(identity, "identity");
    if (!name) return tl::unexpected(name.error());
    auto key = generate_key(*name);
    if (!key) return tl::unexpected(key.error());
    const std::size_t needed = key->size() + 1;
    if (needed <= capacity) std::memcpy(text, key->c_str(), needed);
    explicit_bzero(key->data(), key->size());
    if (needed <= capacity) return {};
    return invalid("the key does not fit " + std::to_string(capacity) +
                   " bytes; LONGHAUL_KEY_TEXT_MAX do");
  });
}

longhaul_code longhaul_address_format(const longhaul_address* address, char* text, size_t capacity,
                                      longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (text == nullptr || capacity == 0) return invalid("there is no room for the text");
    const auto given = to_address(address);
    if (!given) return tl::unexpected(given.error());
    copy_text(text, capacity, to_string(*given));
    return {};
  });
}
