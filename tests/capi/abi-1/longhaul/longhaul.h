// SPDX-License-Identifier: Apache-2.0
/// Longhaul for C, and for every language that can call C: all that the C++ interface can do, under
/// the same names (`Connection::send_tensor` is `longhaul_connection_send_tensor`). C99, C++ too.
/// Binary-stable from 1.0, unstable until then.
///
/// **Answers.** Calls that can fail return a longhaul_code and take a longhaul_error last, which
/// may be NULL. It is written also on success, and has to say its size like every struct
/// (`longhaul_error error = {.struct_size = sizeof error};`), or the call is refused and nothing is
/// written. A call that fails has changed nothing, its outputs are NULL, 0 or untouched structs.
///
/// **Structs.** `struct_size` comes first and is set by the caller; the `_init` functions set it
/// and the defaults. A program built against an older header passes a smaller size: members it does
/// not know keep their defaults, and outputs are written up to `struct_size` only. A size beyond
/// what this library knows is taken if the unknown members are zero, and refused with
/// LONGHAUL_INVALID_ARGUMENT otherwise; as outputs they are set to zero. A size of 0, above
/// LONGHAUL_STRUCT_SIZE_MAX or no multiple of 8 is refused. Reserved members are zero. The elements
/// of an array stand the first one's `struct_size` apart and all have that size.
///
/// **Handles.** `_close` ends what a handle stands for: it may be called twice, and every call on a
/// closed handle is defined (LONGHAUL_CLOSED, or as its comment says). `_release` gives the handle
/// itself back and sets the variable to NULL; the pointer, and copies of it, must not be used after
/// that, nor by another thread meanwhile, as with free(). NULL is LONGHAUL_INVALID_ARGUMENT, in
/// `_release` nothing. Connections and transfers may be released in any order, before or after
/// their endpoint; releasing them ends nothing. After fork() the child's handles answer
/// LONGHAUL_CLOSED and touch nothing; it may release them.
///
/// **Threads.** Every call may come from any thread, several at once, and none waits for a worker
/// but those that take a `timeout_ns` or say so. `timeout_ns` is in nanoseconds: 0 does not wait,
/// below 0 waits without end. On an endpoint of LONGHAUL_CALLER_POLLS they turn its worker
/// meanwhile. No C++ exception leaves the library; lack of memory is LONGHAUL_BUDGET_EXCEEDED.
#pragma once

#include "longhaul/longhaul_types.h"

// The rest of the shared object is hidden.
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

// ---- The library ----

/// The LONGHAUL_ABI_VERSION of the library that is loaded. It grows with every release that adds to
/// this interface: a program needs one at least as large as its header's.
uint32_t longhaul_abi_version(void);
/// Version of the library that is loaded, such as "0.1.0". Static text.
const char* longhaul_version(void);

/// Stable lower-case names ("address_in_use", "completed_partial", "bf16" …); static text,
/// "unknown" for a number that is none. No error, any thread.
const char* longhaul_code_name(longhaul_code code);
const char* longhaul_status_name(longhaul_status status);
const char* longhaul_traffic_class_name(longhaul_traffic_class traffic_class);
const char* longhaul_reliability_name(longhaul_reliability reliability);
const char* longhaul_dtype_name(longhaul_dtype dtype);
/// Name of a place in longhaul_endpoint_stats.dropped; NULL beyond the last.
const char* longhaul_drop_reason_name(size_t place);

/// Bytes of one element; 0 for a number that is no dtype.
size_t longhaul_dtype_size(longhaul_dtype dtype);
/// The dtype with this name. Error: invalid_argument.
longhaul_code longhaul_dtype_parse(const char* name, longhaul_dtype* dtype, longhaul_error* error);

// ---- Addresses ----

/// Numeric text only ("192.0.2.1", "2001:db8::1"). The caller sets address->struct_size.
/// Errors: invalid_argument, unknown_host.
longhaul_code longhaul_address_parse(const char* host, uint16_t port, longhaul_address* address,
                                     longhaul_error* error);
/// A name or a numeric address. Blocks in the system's resolver. The caller sets
/// address->struct_size. Errors: unknown_host, invalid_argument.
longhaul_code longhaul_resolve(const char* host, uint16_t port, longhaul_address* address,
                               longhaul_error* error);
/// The same, to an address of `family` only (LONGHAUL_IPV4 or LONGHAUL_IPV6). Error: wrong_family.
longhaul_code longhaul_resolve_family(const char* host, uint16_t port, int32_t family,
                                      longhaul_address* address, longhaul_error* error);
/// "192.0.2.1:5201" or "[2001:db8::1]:5201", cut to `capacity` bytes with the final NUL
/// (LONGHAUL_ADDRESS_TEXT_MAX holds all). Error: invalid_argument.
longhaul_code longhaul_address_format(const longhaul_address* address, char* text, size_t capacity,
                                      longhaul_error* error);

// ---- Keys ----

/// Makes a pre-shared key: its text, with a comment that says what it is, goes to `text` with the
/// final NUL (LONGHAUL_KEY_TEXT_MAX bytes hold every one) and is what longhaul_endpoint_config.psk
/// takes and a psk_file holds. `identity` is the name by which the peer knows the key, 1 to 64 of
/// [A-Za-z0-9._-]. It is written whole or not at all. The caller overwrites it after use. Errors:
/// invalid_argument (also too small a `capacity`), system.
longhaul_code longhaul_generate_key(const char* identity, char* text, size_t capacity,
                                    longhaul_error* error);

// ---- Defaults of structs ----

/// Each writes the defaults and `struct_size` = `size`, which is sizeof(the struct). Nothing else
/// is written. Error: invalid_argument (NULL, or a size no struct has).
longhaul_code longhaul_endpoint_config_init(longhaul_endpoint_config* config, size_t size);
longhaul_code longhaul_faults_init(longhaul_faults* faults, size_t size);
longhaul_code longhaul_connect_options_init(longhaul_connect_options* options, size_t size);
longhaul_code longhaul_send_options_init(longhaul_send_options* options, size_t size);
longhaul_code longhaul_receive_options_init(longhaul_receive_options* options, size_t size);
longhaul_code longhaul_tensor_init(longhaul_tensor* tensor, size_t size);
longhaul_code longhaul_const_tensor_init(longhaul_const_tensor* tensor, size_t size);

// ---- Endpoint: a socket-like object ----

/// Binds and starts. The endpoint is the caller's to release. Errors: address_in_use, wrong_family,
/// no_permission, unsupported, cannot_fill_pipe, invalid_argument, budget_exceeded, system.
longhaul_code longhaul_endpoint_open(const longhaul_endpoint_config* config,
                                     longhaul_endpoint** endpoint, longhaul_error* error);
/// Ends every request (closed), tells the peers, stops the workers, returns all memory: afterwards
/// no handle of this endpoint is pending. Takes some 20 ms. A second time, and in a forked child,
/// it does nothing.
longhaul_code longhaul_endpoint_close(longhaul_endpoint* endpoint, longhaul_error* error);
/// Closes, gives the handle back, sets *endpoint to NULL.
void longhaul_endpoint_release(longhaul_endpoint** endpoint);

/// Where it is bound, with the port the system chose; also after close. The caller sets
/// address->struct_size.
longhaul_code longhaul_endpoint_local_address(const longhaul_endpoint* endpoint,
                                              longhaul_address* address, longhaul_error* error);

/// From now on clients are let in; each shows up as an incoming completion. Waits until the worker
/// knows of it. Errors: closed, would_block.
longhaul_code longhaul_endpoint_listen(longhaul_endpoint* endpoint, longhaul_error* error);
/// Takes a waiting connection, the caller's to release. Errors: invalid_argument (not listening),
/// would_block (none, timeout 0), timed_out, closed.
longhaul_code longhaul_endpoint_accept(longhaul_endpoint* endpoint, int64_t timeout_ns,
                                       longhaul_connection** connection, longhaul_error* error);
/// Connects and waits, as long as `options` (NULL: defaults) say. The connection is the caller's to
/// release. Errors: wrong_family, invalid_argument, timed_out, refused, not_authenticated,
/// system (no route), no_permission (a firewall rule here), version_mismatch, would_block, closed,
/// peer_lost.
longhaul_code longhaul_endpoint_connect(longhaul_endpoint* endpoint, const longhaul_address* remote,
                                        const longhaul_connect_options* options,
                                        longhaul_connection** connection, longhaul_error* error);
/// Starts connecting and returns at once; ends with a connect_ended completion. Transfers may be
/// posted meanwhile. Errors: wrong_family, invalid_argument, would_block, closed.
longhaul_code longhaul_endpoint_connect_async(longhaul_endpoint* endpoint,
                                              const longhaul_address* remote,
                                              const longhaul_connect_options* options,
                                              longhaul_connection** connection,
                                              longhaul_error* error);

/// Registers memory for transfers; *region goes into tensors. The range stays mapped until it is
/// unregistered. Waits until the worker has done it, as does the next. Errors: invalid_argument,
/// unsupported (kinds other than host), closed, would_block, budget_exceeded.
longhaul_code longhaul_endpoint_register_memory(longhaul_endpoint* endpoint, void* data,
                                                uint64_t bytes, longhaul_memory_kind kind,
                                                uint64_t* region, longhaul_error* error);
/// Errors: invalid_argument (no such region, or a transfer still uses it), closed, would_block.
longhaul_code longhaul_endpoint_unregister_memory(longhaul_endpoint* endpoint, uint64_t region,
                                                  longhaul_error* error);

/// Takes up to `capacity` completions, oldest first; *count says how many. Never waits. The caller
/// sets struct_size of the first. While the queue (completions_max) is full nothing more ends.
/// Until the first call of this or of completion_fd a full queue forgets its oldest completion
/// instead. What was left at close can still be taken; then, and in a forked child, *count is 0.
longhaul_code longhaul_endpoint_poll(longhaul_endpoint* endpoint, longhaul_completion* completions,
                                     size_t capacity, size_t* count, longhaul_error* error);
/// Readable (level-triggered, for epoll) while completions wait. The endpoint owns it: do not read
/// or close it. -1 for NULL, a closed endpoint, a forked child.
int longhaul_endpoint_completion_fd(const longhaul_endpoint* endpoint);
/// LONGHAUL_CALLER_POLLS only: one turn of the worker; *worked (may be NULL) is 1 if there was
/// something to do. Elsewhere, and after close, it does nothing.
longhaul_code longhaul_endpoint_run_once(longhaul_endpoint* endpoint, int* worked,
                                         longhaul_error* error);

/// Snapshot; the caller sets stats->struct_size. Errors: would_block (no answer in time), closed.
longhaul_code longhaul_endpoint_stats_get(const longhaul_endpoint* endpoint, int64_t timeout_ns,
                                          longhaul_endpoint_stats* stats, longhaul_error* error);
/// Names each outstanding transfer: peer, tag, n, age, missing bytes; one line a call of `sink`, on
/// this thread. Errors: would_block (no answer in time), closed, invalid_argument.
longhaul_code longhaul_endpoint_dump(const longhaul_endpoint* endpoint, longhaul_line_sink sink,
                                     void* context, int64_t timeout_ns, longhaul_error* error);

// ---- Connection ----

/// Unique within the endpoint; 0 for NULL.
uint64_t longhaul_connection_id(const longhaul_connection* connection);
/// Pending while connecting, completed when open, otherwise why it ended. NULL and forked: closed.
longhaul_status longhaul_connection_status(const longhaul_connection* connection);
/// One line saying why it ended, empty while open; cut to `capacity` bytes with the final NUL.
longhaul_code longhaul_connection_reason(const longhaul_connection* connection, char* text,
                                         size_t capacity, longhaul_error* error);
longhaul_code longhaul_connection_remote_address(const longhaul_connection* connection,
                                                 longhaul_address* address, longhaul_error* error);

/// Starts the n-th send of `tag`, which meets the peer's n-th receive of it. The memory is borrowed
/// until the terminal status. `options` NULL: defaults. `transfer` may be NULL (the completion says
/// the rest), else it is the caller's to release. Errors: invalid_argument, not_contiguous,
/// unsupported, would_block, budget_exceeded, or what the connection ended with.
longhaul_code longhaul_connection_send_tensor(const longhaul_connection* connection, uint64_t tag,
                                              const longhaul_const_tensor* tensor,
                                              const longhaul_send_options* options,
                                              longhaul_transfer** transfer, longhaul_error* error);
/// Posts the n-th receive of `tag`; dtype and shape must equal the sender's. Errors: as above.
longhaul_code longhaul_connection_recv_tensor(const longhaul_connection* connection, uint64_t tag,
                                              const longhaul_tensor* tensor,
                                              const longhaul_receive_options* options,
                                              longhaul_transfer** transfer, longhaul_error* error);
/// Many tensors as one transfer with one completion. The array is read during the call only.
longhaul_code longhaul_connection_send_tensors(const longhaul_connection* connection, uint64_t tag,
                                               const longhaul_const_tensor* tensors, size_t count,
                                               const longhaul_send_options* options,
                                               longhaul_transfer** transfer, longhaul_error* error);
longhaul_code longhaul_connection_recv_tensors(const longhaul_connection* connection, uint64_t tag,
                                               const longhaul_tensor* tensors, size_t count,
                                               const longhaul_receive_options* options,
                                               longhaul_transfer** transfer, longhaul_error* error);

/// Waits until an asynchronous connect ended. Errors: timed_out (it goes on), or why it failed.
longhaul_code longhaul_connection_wait_connected(const longhaul_connection* connection,
                                                 int64_t timeout_ns, longhaul_error* error);
/// Snapshot; the caller sets stats->struct_size. Errors: would_block (no answer in time), closed
/// (some time after the connection has ended).
longhaul_code longhaul_connection_stats_get(const longhaul_connection* connection,
                                            int64_t timeout_ns, longhaul_connection_stats* stats,
                                            longhaul_error* error);
/// Tells the peer; outstanding requests end closed on both sides. `reason` may be NULL; 255 bytes
/// of it travel. A second time, and after the end, it does nothing. Errors: would_block, closed
/// (forked child).
longhaul_code longhaul_connection_close(const longhaul_connection* connection, const char* reason,
                                        longhaul_error* error);
/// Gives the handle back, sets *connection to NULL. The connection goes on; see `_close`.
void longhaul_connection_release(longhaul_connection** connection);

// ---- Transfer: one tensor on its way ----

/// Unique within the endpoint, also in the completion; 0 for NULL.
uint64_t longhaul_transfer_id(const longhaul_transfer* transfer);
/// NULL and forked: closed.
longhaul_status longhaul_transfer_status(const longhaul_transfer* transfer);
/// The caller sets progress->struct_size.
longhaul_code longhaul_transfer_progress(const longhaul_transfer* transfer,
                                         longhaul_progress* progress, longhaul_error* error);
/// One line saying why it is not completed, may be empty; cut to `capacity` bytes with the final
/// NUL.
longhaul_code longhaul_transfer_reason(const longhaul_transfer* transfer, char* text,
                                       size_t capacity, longhaul_error* error);
/// Waits for the terminal status; *status (may be NULL) is set to it. Errors: timed_out (the
/// transfer goes on), closed (forked child).
longhaul_code longhaul_transfer_wait(const longhaul_transfer* transfer, int64_t timeout_ns,
                                     longhaul_status* status, longhaul_error* error);
/// Asks for the end; the terminal status comes as usual and may still be completed. After the end
/// it does nothing. Errors: would_block, closed (forked child).
longhaul_code longhaul_transfer_cancel(const longhaul_transfer* transfer, longhaul_error* error);
/// A growing source is valid up to `bytes` (a prefix, never shrinking). Errors: invalid_argument
/// (not growing, beyond the tensor, shrinking), would_block, closed (forked child).
longhaul_code longhaul_transfer_ready(const longhaul_transfer* transfer, uint64_t bytes,
                                      longhaul_error* error);
/// After completed_partial: the ranges that arrived, ascending, disjoint, as begin, end, begin,
/// end. *count is how many ranges there are; the first `capacity` of them are written to `bounds`,
/// which has room for twice as many numbers and may be NULL if `capacity` is 0.
longhaul_code longhaul_transfer_received_ranges(const longhaul_transfer* transfer, uint64_t* bounds,
                                                size_t capacity, size_t* count,
                                                longhaul_error* error);
/// Gives the handle back, sets *transfer to NULL. The transfer goes on; see `_cancel`.
void longhaul_transfer_release(longhaul_transfer** transfer);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop
