// SPDX-License-Identifier: Apache-2.0
// longhaul_connection_*
#include "lib/api/c/convert.hpp"
#include "lib/api/c/guard.hpp"
#include "lib/api/c/handles.hpp"
#include "longhaul/longhaul.h"

using namespace longhaul;
using namespace longhaul::api::c;

namespace {

// Checks and translates what both directions share, then posts by `post(tensors, options)`.
template <typename Translate, typename Options, typename Post>
longhaul_code post_transfer(const longhaul_connection* connection, Translate translate,
                            const Options* options, longhaul_transfer** transfer,
                            longhaul_error* error, Post post) {
  return guarded(error, [&]() -> Result<void> {
    NewHandle<longhaul_transfer> made(transfer);
    if (auto checked = check(connection); !checked) return checked;
    const auto tensors = translate();
    if (!tensors) return tl::unexpected(tensors.error());
    const auto chosen = to_options(options);
    if (!chosen) return tl::unexpected(chosen.error());
    return made.give(post(*tensors, *chosen));
  });
}

}  // namespace

uint64_t longhaul_connection_id(const longhaul_connection* connection) {
  return is_valid(connection) ? connection->object.id() : 0;
}

longhaul_status longhaul_connection_status(const longhaul_connection* connection) {
  if (!is_valid(connection)) return LONGHAUL_STATUS_CLOSED;
  return static_cast<longhaul_status>(connection->object.status());
}

longhaul_code longhaul_connection_reason(const longhaul_connection* connection, char* text,
                                         size_t capacity, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(connection); !checked) return checked;
    if (text == nullptr || capacity == 0) return invalid("there is no room for the text");
    copy_text(text, capacity, connection->object.reason());
    return {};
  });
}

longhaul_code longhaul_connection_remote_address(const longhaul_connection* connection,
                                                 longhaul_address* address, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(connection); !checked) return checked;
    return give_address(connection->object.remote_address(), address);
  });
}

longhaul_code longhaul_connection_send_tensor(const longhaul_connection* connection, uint64_t tag,
                                              const longhaul_const_tensor* tensor,
                                              const longhaul_send_options* options,
                                              longhaul_transfer** transfer, longhaul_error* error) {
  return post_transfer(
      connection, [&] { return to_view(tensor); }, options, transfer, error,
      [&](const ConstTensorView& view, const SendOptions& chosen) {
        return connection->object.send_tensor(tag, view, chosen);
      });
}

longhaul_code longhaul_connection_recv_tensor(const longhaul_connection* connection, uint64_t tag,
                                              const longhaul_tensor* tensor,
                                              const longhaul_receive_options* options,
                                              longhaul_transfer** transfer, longhaul_error* error) {
  return post_transfer(
      connection, [&] { return to_view(tensor); }, options, transfer, error,
      [&](const TensorView& view, const ReceiveOptions& chosen) {
        return connection->object.recv_tensor(tag, view, chosen);
      });
}

longhaul_code longhaul_connection_send_tensors(const longhaul_connection* connection, uint64_t tag,
                                               const longhaul_const_tensor* tensors, size_t count,
                                               const longhaul_send_options* options,
                                               longhaul_transfer** transfer,
                                               longhaul_error* error) {
  return post_transfer(
      connection, [&] { return to_views(tensors, count); }, options, transfer, error,
      [&](const std::vector<ConstTensorView>& views, const SendOptions& chosen) {
        return connection->object.send_tensors(tag, views, chosen);
      });
}

longhaul_code longhaul_connection_recv_tensors(const longhaul_connection* connection, uint64_t tag,
                                               const longhaul_tensor* tensors, size_t count,
                                               const longhaul_receive_options* options,
                                               longhaul_transfer** transfer,
                                               longhaul_error* error) {
  return post_transfer(
      connection, [&] { return to_views(tensors, count); }, options, transfer, error,
      [&](const std::vector<TensorView>& views, const ReceiveOptions& chosen) {
        return connection->object.recv_tensors(tag, views, chosen);
      });
}

longhaul_code longhaul_connection_wait_connected(const longhaul_connection* connection,
                                                 int64_t timeout_ns, longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(connection); !checked) return checked;
    return connection->object.wait_connected(to_wait(timeout_ns));
  });
}

longhaul_code longhaul_connection_stats_get(const longhaul_connection* connection,
                                            int64_t timeout_ns, longhaul_connection_stats* stats,
                                            longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(connection); !checked) return checked;
    const auto size = size_of(stats, "longhaul_connection_stats");
    if (!size) return tl::unexpected(size.error());
    const auto taken = connection->object.stats(to_duration(timeout_ns));
    if (!taken) return tl::unexpected(taken.error());
    write(stats, *size, from_stats(*taken));
    return {};
  });
}

longhaul_code longhaul_connection_close(const longhaul_connection* connection, const char* reason,
                                        longhaul_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (auto checked = check(connection); !checked) return checked;
    return connection->object.close(reason == nullptr ? std::string_view() : reason);
  });
}

void longhaul_connection_release(longhaul_connection** connection) {
  release(connection);
}
