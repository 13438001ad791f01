// SPDX-License-Identifier: Apache-2.0
/// Words of the C interface: numbers and structs. `longhaul.h` has the functions and the rules.
/// Every number is fixed; later releases add numbers and append members. Unstable until 1.0.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  LONGHAUL_ABI_VERSION = 1,         ///< of this header; see longhaul_abi_version()
  LONGHAUL_DIMENSIONS_MAX = 8,      ///< of a tensor
  LONGHAUL_STRUCT_SIZE_MAX = 4096,  ///< no struct will ever be larger
  LONGHAUL_ADDRESS_TEXT_MAX = 80,   ///< bytes that hold every address as text, with the final NUL
  LONGHAUL_KEY_TEXT_MAX = 1024      ///< bytes that hold every key as text, with the final NUL
};

/// What a call answers: LONGHAUL_OK, or why it changed nothing. C++: ErrorCode.
typedef int32_t longhaul_code;
enum {
  LONGHAUL_OK = 0,
  LONGHAUL_INVALID_ARGUMENT = 1,   ///< what no call of this kind accepts: a NULL handle, a bad size
  LONGHAUL_UNSUPPORTED = 2,        ///< known, but not in this build or on this machine
  LONGHAUL_UNKNOWN_HOST = 3,       ///< the name does not resolve
  LONGHAUL_ADDRESS_IN_USE = 4,     ///< another socket holds the port
  LONGHAUL_WRONG_FAMILY = 5,       ///< IPv4 address on an IPv6 endpoint, or the reverse
  LONGHAUL_NO_PERMISSION = 6,      ///< the system refused; the message says what is needed
  LONGHAUL_SYSTEM = 7,             ///< another error of the operating system, in `os_error`
  LONGHAUL_BUDGET_EXCEEDED = 8,    ///< a table, a memory budget or the memory itself is full
  LONGHAUL_WOULD_BLOCK = 9,        ///< nothing yet; call again when the descriptor is readable
  LONGHAUL_TIMED_OUT = 10,         ///< the timeout of this call passed
  LONGHAUL_CLOSED = 11,            ///< endpoint or connection is closed (or this is a forked child)
  LONGHAUL_PEER_LOST = 12,         ///< nothing was heard from the peer for `peer_timeout`
  LONGHAUL_VERSION_MISMATCH = 13,  ///< the peer speaks no version we speak
  LONGHAUL_REFUSED = 14,           ///< the peer said no
  LONGHAUL_NOT_CONTIGUOUS = 15,    ///< tensor memory has gaps between elements
  LONGHAUL_CANNOT_FILL_PIPE = 16,  ///< rate times RTT is more than can be kept track of
  LONGHAUL_INTERNAL = 17,          ///< a broken invariant: our bug
  LONGHAUL_NOT_AUTHENTICATED = 18  ///< wrong key or certificate, on one side or the other
};

/// How a request stands. Exactly one terminal status (any but pending) ends each.
typedef int32_t longhaul_status;
enum {
  LONGHAUL_STATUS_PENDING = 0,
  LONGHAUL_STATUS_COMPLETED = 1,          ///< every byte verified at the receiver
  LONGHAUL_STATUS_COMPLETED_PARTIAL = 2,  ///< bounded loss, best effort: see the received ranges
  LONGHAUL_STATUS_TIMED_OUT = 3,          ///< a deadline passed, here or at the peer
  LONGHAUL_STATUS_CANCELLED = 4,          ///< cancelled here or at the peer
  LONGHAUL_STATUS_PEER_LOST = 5,          ///< the peer fell silent, or was reset
  LONGHAUL_STATUS_CORRUPT = 6,            ///< a piece failed its digest three times
  LONGHAUL_STATUS_REFUSED = 7,            ///< dtype, shape or size differ, or a budget said no
  LONGHAUL_STATUS_CLOSED = 8,             ///< connection or endpoint was closed
  LONGHAUL_STATUS_INTERNAL = 9            ///< a broken invariant poisoned the connection
};

/// Strictly ordered: critical leaves before bulk. Control is the protocol's own.
typedef int32_t longhaul_traffic_class;
enum {
  LONGHAUL_CLASS_CONTROL = 0,
  LONGHAUL_CLASS_CRITICAL = 1,
  LONGHAUL_CLASS_BULK = 2,
  LONGHAUL_CLASS_SCAVENGER = 3
};

/// What the receiver must get.
typedef int32_t longhaul_reliability;
enum {
  LONGHAUL_EXACT = 0,         ///< every byte, digest-verified
  LONGHAUL_BOUNDED_LOSS = 1,  ///< at most `loss_budget` bytes may be missing at the deadline
  LONGHAUL_BEST_EFFORT = 2    ///< each chunk leaves once
};

/// Element type. The numbers travel on the wire.
typedef int32_t longhaul_dtype;
enum {
  LONGHAUL_U8 = 1,
  LONGHAUL_I8 = 2,
  LONGHAUL_U16 = 3,
  LONGHAUL_I16 = 4,
  LONGHAUL_U32 = 5,
  LONGHAUL_I32 = 6,
  LONGHAUL_U64 = 7,
  LONGHAUL_I64 = 8,
  LONGHAUL_F16 = 9,
  LONGHAUL_BF16 = 10,
  LONGHAUL_F32 = 11,
  LONGHAUL_F64 = 12,
  LONGHAUL_F8E4M3 = 13,
  LONGHAUL_F8E5M2 = 14,
  LONGHAUL_BOOLEAN = 15
};

/// Where memory lives. Only host is accepted today; others are refused by name.
typedef int32_t longhaul_memory_kind;
enum {
  LONGHAUL_MEMORY_HOST = 0,
  LONGHAUL_MEMORY_CUDA = 1,
  LONGHAUL_MEMORY_ROCM = 2,
  LONGHAUL_MEMORY_MANAGED = 3
};

typedef int32_t longhaul_thread_mode;
enum {
  LONGHAUL_WORKER_THREADS = 0,  ///< the endpoint starts and owns its worker threads
  LONGHAUL_CALLER_POLLS = 1     ///< the caller turns the worker: longhaul_endpoint_run_once()
};

typedef int32_t longhaul_log_level;
enum {
  LONGHAUL_LOG_DEBUG = 0,
  LONGHAUL_LOG_INFO = 1,
  LONGHAUL_LOG_WARNING = 2,
  LONGHAUL_LOG_ERROR = 3
};

/// What a completion reports.
typedef int32_t longhaul_completion_kind;
enum {
  LONGHAUL_TRANSFER_ENDED = 0,   ///< `status` is final, the memory is the caller's again
  LONGHAUL_RANGE_PLACED = 1,     ///< the range was placed; still to be verified
  LONGHAUL_RANGE_VERIFIED = 2,   ///< the range passed its digest
  LONGHAUL_CONNECT_ENDED = 3,    ///< an asynchronous connect ended: completed, or why not
  LONGHAUL_INCOMING = 4,         ///< a connection waits in longhaul_endpoint_accept()
  LONGHAUL_CONNECTION_ENDED = 5  ///< its requests have all got their status
};

enum { LONGHAUL_IPV4 = 4, LONGHAUL_IPV6 = 6 };

/// Handles. Opaque; see "Handles" in longhaul.h.
typedef struct longhaul_endpoint longhaul_endpoint;
typedef struct longhaul_connection longhaul_connection;
typedef struct longhaul_transfer longhaul_transfer;

/// Takes one line of `length` bytes, without newline, NUL-terminated; valid during the call only.
/// Must not throw.
typedef void (*longhaul_line_sink)(void* context, const char* line, size_t length);
/// The same for the log. Called from worker threads, and inside longhaul_endpoint_open() from the
/// caller's, never concurrently for one endpoint; must not block for long nor call the library.
typedef void (*longhaul_log_sink)(void* context, longhaul_log_level level, const char* line,
                                  size_t length);

/// Why a call failed; written by every call it is passed to, also on success (code 0, no text).
typedef struct longhaul_error {
  uint32_t struct_size;  ///< set by the caller: sizeof(longhaul_error)
  longhaul_code code;
  int32_t os_error;  ///< errno, or 0 when the system was not involved
  int32_t reserved;
  char message[256];  ///< cause and remedy in one line, UTF-8, always NUL-terminated
} longhaul_error;

/// An IP address and a UDP port.
typedef struct longhaul_address {
  uint32_t struct_size;
  int32_t family;     ///< LONGHAUL_IPV4 or LONGHAUL_IPV6
  uint8_t bytes[16];  ///< network order; IPv4 occupies the first four, the rest is zero
  uint16_t port;      ///< host order
  uint16_t reserved;  ///< 0
  uint32_t scope_id;  ///< interface index of a link-local IPv6 address
} longhaul_address;

/// Faults injected into every datagram an endpoint sends. Zero is none.
typedef struct longhaul_faults {
  uint32_t struct_size;
  uint32_t reserved;  ///< 0
  double loss;        ///< probability, as the next three
  double corrupt;
  double duplicate;
  double reorder;            ///< of being held back by `reorder_delay_ns`
  int64_t reorder_delay_ns;  ///< default 2 ms
  int64_t delay_ns;          ///< added to every datagram
} longhaul_faults;

/// Everything decided at open. longhaul_endpoint_config_init() sets the defaults given here. Memory
/// named by pointers is read during longhaul_endpoint_open() only. Text is NUL-terminated.
typedef struct longhaul_endpoint_config {
  uint32_t struct_size;
  longhaul_thread_mode threads;   ///< default: worker threads
  const char* backend;            ///< NULL (default): "kernel"
  const longhaul_address* local;  ///< address to bind, port 0: chosen; NULL (default): any IPv4
  const char* engine;             ///< "mmsg", "io_uring" …; NULL (default): "auto"
  const char* device;             ///< interface all packets take; NULL (default): by the routes
  const char* security;           ///< "psk", "certificates", "none"; NULL (default): by the key
  const char* controller;         ///< "fixed", "cubic"; NULL (default): fixed if rate_bps is set
  uint64_t rate_bps;              ///< the line's rate in bit/s of UDP payload; default 0: none
  int64_t rtt_max_ns;             ///< what tables are sized for; default 200 ms
  uint32_t mtu_max;               ///< largest IP packet to search for, bytes; default 9000
  uint32_t mtu_base;              ///< IP packet size before the search, bytes; default 1280
  int64_t peer_timeout_ns;        ///< a peer silent for so long is lost; default 2 s
  int64_t heartbeat_ns;           ///< keep-alive; default 0: a fifth of peer_timeout
  int64_t connect_timeout_ns;     ///< default 10 s
  uint64_t eager_budget;          ///< bytes for transfers nobody posted for; default 4 MiB
  uint64_t eager_max;             ///< largest eager transfer, bytes; default 64 KiB
  uint32_t transfers_max;         ///< a connection and direction; default 32768
  uint32_t connections_max;       ///< 1 to 2^24; default 1024
  uint32_t completions_max;       ///< waiting for poll; a power of two; default 65536
  int32_t worker_cpu;             ///< core of the worker; default -1: the scheduler's choice
  uint8_t dscp[4];                ///< of each class, 0 to 63; default 48, 34, 10, 1
  uint32_t validate_addresses;    ///< 1 (default): new clients prove their address first; or 0
  uint32_t use_seed;              ///< 1: `seed` counts; default 0: from the system
  uint32_t handshakes_max_per_source;  ///< under way from one address; more wait; default 64
  uint64_t seed;                       ///< of injected faults; keys and IDs never follow it
  const void* stateless_reset_key;     ///< NULL (default): random; the caller wipes it
  uint64_t stateless_reset_key_bytes;  ///< its length, at least 16; 0 with NULL
  const longhaul_faults* inject;       ///< NULL (default): none
  longhaul_log_sink log;               ///< NULL (default): silent
  void* log_context;                   ///< passed to `log`; has to live until the endpoint closed
  // One kind of key; none at all, and a file of a secret that others can read, are refused.
  const char* psk;                       ///< the pre-shared key itself: longhaul_generate_key()
  const char* psk_file;                  ///< or the file that holds it
  const char* certificate_file;          ///< PEM: own certificate, then its chain
  const char* private_key_file;          ///< PEM: the key to it, without a passphrase
  const char* ca_file;                   ///< PEM: who has to vouch for a peer's certificate
  const char* peer_name;                 ///< whom it has to be made out to; NULL (default): anybody
  const char* const* peer_fingerprints;  ///< SHA-256, 64 hex digits, of all that peers may show
  uint64_t peer_fingerprints_count;      ///< how many; default 0: `ca_file` decides
} longhaul_endpoint_config;

typedef struct longhaul_connect_options {
  uint32_t struct_size;
  uint32_t reserved;   ///< 0
  int64_t timeout_ns;  ///< default 0: connect_timeout_ns of the endpoint
  uint64_t cookie;     ///< comes back in the completion
} longhaul_connect_options;

typedef struct longhaul_send_options {
  uint32_t struct_size;
  longhaul_traffic_class traffic_class;  ///< default: bulk
  longhaul_reliability reliability;      ///< default: exact
  uint32_t growing;      ///< 1: valid only as far as longhaul_transfer_ready() says; default 0
  uint64_t loss_budget;  ///< bytes that may be missing; bounded loss only
  int64_t deadline_ns;   ///< from this call; default 0: as long as the peer lives
  uint64_t cookie;       ///< comes back in the completion
} longhaul_send_options;

typedef struct longhaul_receive_options {
  uint32_t struct_size;
  uint32_t piece_events;  ///< 1: report ranges as they are placed and verified; default 0
  int64_t deadline_ns;    ///< from this call; default 0: as long as the peer lives
  uint64_t cookie;        ///< comes back in the completion
} longhaul_receive_options;

/// Typed memory a transfer reads: borrowed, it stays valid and unchanged until the terminal status.
/// Extents and strides are read during the call only.
typedef struct longhaul_const_tensor {
  uint32_t struct_size;
  longhaul_dtype dtype;  ///< default u8
  const void* data;
  uint64_t bytes;           ///< elements times element size
  const uint64_t* extents;  ///< outermost first; NULL with 0 dimensions is a scalar (one element)
  const int64_t* strides;   ///< in elements, one a dimension; NULL (default): contiguous
  uint32_t dimensions;      ///< at most LONGHAUL_DIMENSIONS_MAX
  longhaul_memory_kind kind;
  uint64_t region;  ///< of registered memory; default 0: not registered
  int32_t device;
  int32_t reserved;  ///< 0
} longhaul_const_tensor;

/// Typed memory a transfer writes: same members. The library may write any part of it in any order
/// until the terminal status, and never after.
typedef struct longhaul_tensor {
  uint32_t struct_size;
  longhaul_dtype dtype;
  void* data;
  uint64_t bytes;
  const uint64_t* extents;
  const int64_t* strides;
  uint32_t dimensions;
  longhaul_memory_kind kind;
  uint64_t region;
  int32_t device;
  int32_t reserved;
} longhaul_tensor;

/// One event of an endpoint.
typedef struct longhaul_completion {
  uint32_t struct_size;
  longhaul_completion_kind kind;
  longhaul_status status;
  int32_t reserved;
  uint64_t cookie;
  uint64_t transfer_id;    ///< longhaul_transfer_id()
  uint64_t connection_id;  ///< longhaul_connection_id()
  uint64_t tag;
  uint64_t bytes;        ///< of the tensor
  uint64_t range_begin;  ///< of placed and verified; bytes, half-open
  uint64_t range_end;
} longhaul_completion;

/// How far a transfer has come, in bytes.
typedef struct longhaul_progress {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t bytes;     ///< size of the transfer; for a receive, of what was posted
  uint64_t placed;    ///< receive: passed their packet's integrity check. send: left once
  uint64_t verified;  ///< receive: digest-checked. send: same as bytes once completed
} longhaul_progress;

/// Counters of one connection since it opened.
typedef struct longhaul_connection_stats {
  uint32_t struct_size;
  uint32_t max_datagram;  ///< PLPMTU as UDP payload, bytes
  uint64_t packets_sent;
  uint64_t packets_received;
  uint64_t packets_lost;           ///< declared lost by us
  uint64_t spurious_losses;        ///< declared lost, later reported as received
  uint64_t bytes_sent;             ///< UDP payload
  uint64_t bytes_received;         ///< UDP payload
  uint64_t tensor_bytes_sent;      ///< first copies
  uint64_t tensor_bytes_verified;  ///< received, digest-checked
  uint64_t retransmitted_bytes;    ///< tensor bytes sent again
  uint64_t repair_bytes;           ///< FEC repair symbols
  uint64_t duplicate_bytes;        ///< tensor bytes received more than once
  uint64_t pieces_refetched;
  uint64_t bytes_in_flight;
  uint64_t congestion_window;  ///< bytes
  uint64_t pacing_rate_bps;
  uint32_t mtu_black_holes;
  uint32_t migrations;  ///< validated changes of the peer's address
  int64_t min_rtt_ns;
  int64_t smoothed_rtt_ns;
  int64_t rtt_variation_ns;
  int64_t reordering_window_ns;       ///< of the busiest packet-number space
  int64_t limited_by_congestion_ns;   ///< time with data outstanding, by what held it back
  int64_t limited_by_receiver_ns;     ///< no posted receive and no eager budget
  int64_t limited_by_application_ns;  ///< nothing to send, or a growing source not ready
  char controller[32];                ///< NUL-terminated
  /// "psk NAME" or "certificate SUBJECT sha256:FINGERPRINT", who the peer has proven to be; cut to
  /// fit, NUL-terminated; empty with security none, and until the handshake is over
  char peer_identity[512];
  char cipher[32];       ///< what seals the packets, "aes_128_gcm" …; empty as above
  uint64_t key_updates;  ///< keys renewed, of both directions
} longhaul_connection_stats;

/// Counters of an endpoint, all workers together.
typedef struct longhaul_endpoint_stats {
  uint32_t struct_size;
  uint32_t connections;
  uint64_t datagrams_sent;
  uint64_t datagrams_received;
  uint64_t transmit_blocked;     ///< bursts the backend accepted only in part
  uint64_t memory_budget_bytes;  ///< what was computed at open
  char engine[32];               ///< what moves the datagrams now; NUL-terminated
  uint64_t dropped[32];  ///< datagrams by reason; longhaul_drop_reason_name() names the places
} longhaul_endpoint_stats;

#ifdef __cplusplus
}
#endif
