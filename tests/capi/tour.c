// SPDX-License-Identifier: Apache-2.0
// Everything the C interface can do, in C: two endpoints in one process talk over loopback.
// Compiled as C99 and C11 by several compilers (compile.py). Says what failed and exits with 1.
#include <longhaul/longhaul.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_S = 20, BYTES = 1 << 20, HALF = BYTES / 2, ROWS = 1024, COLUMNS = 256 };

static const int64_t kPatience = (int64_t)PATIENCE_S * 1000000000;

typedef struct world {
  longhaul_error error;
  longhaul_endpoint* server;
  longhaul_endpoint* client;
  longhaul_connection* to_server;
  longhaul_connection* to_client;
  unsigned char* source;
  unsigned char* target;
  int log_lines[2];  // of the server and the client
  char key[LONGHAUL_KEY_TEXT_MAX];
} world;

static void check(int holds, const char* what, const world* with) {
  if (holds) return;
  fprintf(stderr, "tour: %s (%s: %s)\n", what, longhaul_code_name(with->error.code),
          with->error.message);
  exit(1);
}

static void count_line(void* context, longhaul_log_level level, const char* line, size_t length) {
  if (level >= LONGHAUL_LOG_DEBUG && level <= LONGHAUL_LOG_ERROR && line[length] == '\0')
    ++*(int*)context;
}

static void fill(world* with, unsigned seed) {
  size_t i;
  for (i = 0; i < BYTES; ++i) with->source[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
  memset(with->target, 0, BYTES);
}

static void words(world* with) {
  longhaul_address address;
  longhaul_dtype dtype = 0;
  char text[LONGHAUL_ADDRESS_TEXT_MAX];
  check(longhaul_abi_version() >= LONGHAUL_ABI_VERSION, "the library is older than the header",
        with);
  check(strchr(longhaul_version(), '.') != NULL, "version", with);
  check(strcmp(longhaul_code_name(LONGHAUL_OK), "ok") == 0, "code name", with);
  check(strcmp(longhaul_code_name(LONGHAUL_CANNOT_FILL_PIPE), "cannot_fill_pipe") == 0, "code name",
        with);
  check(strcmp(longhaul_status_name(LONGHAUL_STATUS_PEER_LOST), "peer_lost") == 0, "status name",
        with);
  check(strcmp(longhaul_traffic_class_name(LONGHAUL_CLASS_BULK), "bulk") == 0, "class name", with);
  check(strcmp(longhaul_reliability_name(LONGHAUL_EXACT), "exact") == 0, "reliability name", with);
  check(strcmp(longhaul_drop_reason_name(0), "too_short") == 0, "drop reason", with);
  check(longhaul_dtype_parse("bf16", &dtype, &with->error) == LONGHAUL_OK, "dtype", with);
  check(dtype == LONGHAUL_BF16 && longhaul_dtype_size(dtype) == 2, "dtype", with);
  check(strcmp(longhaul_dtype_name(dtype), "bf16") == 0, "dtype name", with);

  address.struct_size = sizeof address;
  check(longhaul_address_parse("2001:db8::1", 5201, &address, &with->error) == LONGHAUL_OK, "parse",
        with);
  check(longhaul_address_format(&address, text, sizeof text, &with->error) == LONGHAUL_OK, "format",
        with);
  check(strcmp(text, "[2001:db8::1]:5201") == 0, text, with);
  check(longhaul_resolve("localhost", 1, &address, &with->error) == LONGHAUL_OK, "resolve", with);
  check(longhaul_generate_key("tour", with->key, sizeof with->key, &with->error) == LONGHAUL_OK,
        "key", with);
  check(strstr(with->key, "longhaul-psk-1 tour ") != NULL, "key", with);
}

static longhaul_endpoint* open_endpoint(world* with, int* log_lines) {
  longhaul_endpoint_config config;
  longhaul_address local;
  longhaul_endpoint* endpoint = NULL;
  local.struct_size = sizeof local;
  longhaul_address_parse("127.0.0.1", 0, &local, &with->error);
  check(longhaul_endpoint_config_init(&config, sizeof config) == LONGHAUL_OK, "init", with);
  config.psk = with->key;
  config.local = &local;
  config.log = count_line;
  config.log_context = log_lines;
  check(longhaul_endpoint_open(&config, &endpoint, &with->error) == LONGHAUL_OK, "open", with);
  return endpoint;
}

static void meet(world* with) {
  longhaul_address address, remote;
  longhaul_connect_options options;
  with->server = open_endpoint(with, &with->log_lines[0]);
  with->client = open_endpoint(with, &with->log_lines[1]);
  memset(with->key, 0, sizeof with->key);
  check(with->log_lines[0] > 0, "an endpoint logs", with);
  check(longhaul_endpoint_listen(with->server, &with->error) == LONGHAUL_OK, "listen", with);
  address.struct_size = remote.struct_size = sizeof address;
  check(longhaul_endpoint_local_address(with->server, &address, &with->error) == LONGHAUL_OK,
        "address", with);
  longhaul_connect_options_init(&options, sizeof options);
  options.timeout_ns = kPatience;
  options.cookie = 42;
  check(longhaul_endpoint_connect_async(with->client, &address, &options, &with->to_server,
                                        &with->error) == LONGHAUL_OK,
        "connect", with);
  check(longhaul_connection_wait_connected(with->to_server, kPatience, &with->error) == LONGHAUL_OK,
        "wait_connected", with);
  check(longhaul_endpoint_accept(with->server, kPatience, &with->to_client, &with->error) ==
            LONGHAUL_OK,
        "accept", with);
  check(longhaul_connection_status(with->to_client) == LONGHAUL_STATUS_COMPLETED, "open", with);
  longhaul_connection_remote_address(with->to_server, &remote, &with->error);
  check(memcmp(&remote, &address, sizeof remote) == 0, "remote address", with);
}

// The completion of this kind with this cookie; others are passed over.
static longhaul_completion next(world* with, longhaul_endpoint* endpoint,
                                longhaul_completion_kind kind, uint64_t cookie) {
  struct pollfd waiting;
  longhaul_completion completion;
  size_t count = 0;
  waiting.fd = longhaul_endpoint_completion_fd(endpoint);
  waiting.events = POLLIN;
  for (;;) {
    check(poll(&waiting, 1, PATIENCE_S * 1000) == 1, "no completion came", with);
    completion.struct_size = sizeof completion;
    check(longhaul_endpoint_poll(endpoint, &completion, 1, &count, &with->error) == LONGHAUL_OK,
          "poll", with);
    if (count == 1 && completion.kind == kind && completion.cookie == cookie) return completion;
  }
}

static void one_tensor(world* with) {
  const uint64_t shape[2] = {ROWS, COLUMNS};
  const int64_t strides[2] = {COLUMNS, 1};
  longhaul_const_tensor out;
  longhaul_tensor in;
  longhaul_transfer *sending = NULL, *receiving = NULL;
  longhaul_status status = LONGHAUL_STATUS_PENDING;
  longhaul_progress progress;
  char text[100];
  fill(with, 1);
  longhaul_const_tensor_init(&out, sizeof out);
  longhaul_tensor_init(&in, sizeof in);
  out.dtype = in.dtype = LONGHAUL_F32;
  out.bytes = in.bytes = BYTES;
  out.extents = in.extents = shape;
  out.strides = strides;
  out.dimensions = in.dimensions = 2;
  out.data = with->source;
  in.data = with->target;
  check(longhaul_connection_recv_tensor(with->to_client, 7, &in, NULL, &receiving, &with->error) ==
            LONGHAUL_OK,
        "recv_tensor", with);
  check(longhaul_connection_send_tensor(with->to_server, 7, &out, NULL, &sending, &with->error) ==
            LONGHAUL_OK,
        "send_tensor", with);
  check(longhaul_transfer_wait(sending, kPatience, &status, &with->error) == LONGHAUL_OK, "wait",
        with);
  check(status == LONGHAUL_STATUS_COMPLETED, longhaul_status_name(status), with);
  check(longhaul_transfer_status(receiving) == LONGHAUL_STATUS_COMPLETED ||
            longhaul_transfer_wait(receiving, kPatience, NULL, NULL) == LONGHAUL_OK,
        "the receiver completes too", with);
  check(memcmp(with->source, with->target, BYTES) == 0, "bytes differ", with);
  progress.struct_size = sizeof progress;
  longhaul_transfer_progress(receiving, &progress, &with->error);
  check(progress.bytes == BYTES && progress.verified == BYTES, "progress", with);
  check(longhaul_transfer_reason(receiving, text, sizeof text, &with->error) == LONGHAUL_OK,
        "reason", with);
  longhaul_transfer_release(&sending);
  longhaul_transfer_release(&receiving);
  check(sending == NULL && receiving == NULL, "release", with);
}

// Two tensors as one transfer, from registered memory, seen through completions alone.
static void a_list(world* with) {
  const uint64_t half = HALF;
  longhaul_const_tensor out[2];
  longhaul_tensor in[2];
  longhaul_send_options sending;
  longhaul_receive_options receiving;
  longhaul_completion done;
  uint64_t region = 0;
  int i;
  fill(with, 2);
  check(longhaul_endpoint_register_memory(with->client, with->source, BYTES, LONGHAUL_MEMORY_HOST,
                                          &region, &with->error) == LONGHAUL_OK,
        "register", with);
  for (i = 0; i < 2; ++i) {
    longhaul_const_tensor_init(&out[i], sizeof out[i]);
    longhaul_tensor_init(&in[i], sizeof in[i]);
    out[i].bytes = in[i].bytes = half;
    out[i].extents = in[i].extents = &half;
    out[i].dimensions = in[i].dimensions = 1;
    out[i].data = with->source + (size_t)i * HALF;
    in[i].data = with->target + (size_t)i * HALF;
    out[i].region = region;
  }
  longhaul_send_options_init(&sending, sizeof sending);
  sending.traffic_class = LONGHAUL_CLASS_CRITICAL;
  sending.deadline_ns = kPatience;
  sending.cookie = 100;
  longhaul_receive_options_init(&receiving, sizeof receiving);
  receiving.deadline_ns = kPatience;
  receiving.cookie = 200;
  check(longhaul_connection_recv_tensors(with->to_client, 8, in, 2, &receiving, NULL,
                                         &with->error) == LONGHAUL_OK,
        "recv_tensors", with);
  check(longhaul_connection_send_tensors(with->to_server, 8, out, 2, &sending, NULL,
                                         &with->error) == LONGHAUL_OK,
        "send_tensors", with);
  done = next(with, with->server, LONGHAUL_TRANSFER_ENDED, 200);
  check(done.status == LONGHAUL_STATUS_COMPLETED && done.bytes == BYTES && done.tag == 8, "list",
        with);
  done = next(with, with->client, LONGHAUL_TRANSFER_ENDED, 100);
  check(done.status == LONGHAUL_STATUS_COMPLETED, "list sent", with);
  check(memcmp(with->source, with->target, BYTES) == 0, "bytes of the list differ", with);
  check(longhaul_endpoint_unregister_memory(with->client, region, &with->error) == LONGHAUL_OK,
        "unregister", with);
}

// A source that grows, and a destination that reports what is there.
static void a_stream(world* with) {
  const uint64_t bytes = BYTES;
  longhaul_const_tensor out;
  longhaul_tensor in;
  longhaul_send_options options;
  longhaul_receive_options pieces;
  longhaul_transfer* sending = NULL;
  longhaul_completion piece;
  fill(with, 3);
  longhaul_const_tensor_init(&out, sizeof out);
  longhaul_tensor_init(&in, sizeof in);
  out.bytes = in.bytes = bytes;
  out.extents = in.extents = &bytes;
  out.dimensions = in.dimensions = 1;
  out.data = with->source;
  in.data = with->target;
  longhaul_receive_options_init(&pieces, sizeof pieces);
  pieces.piece_events = 1;
  pieces.cookie = 300;
  longhaul_send_options_init(&options, sizeof options);
  options.growing = 1;
  check(longhaul_connection_recv_tensor(with->to_client, 9, &in, &pieces, NULL, &with->error) ==
            LONGHAUL_OK,
        "recv", with);
  check(longhaul_connection_send_tensor(with->to_server, 9, &out, &options, &sending,
                                        &with->error) == LONGHAUL_OK,
        "send growing", with);
  check(longhaul_transfer_ready(sending, HALF, &with->error) == LONGHAUL_OK, "ready", with);
  piece = next(with, with->server, LONGHAUL_RANGE_PLACED, 300);
  check(piece.range_begin < piece.range_end && piece.range_end <= HALF, "placed too far", with);
  check(longhaul_transfer_status(sending) == LONGHAUL_STATUS_PENDING, "half is not all", with);
  check(longhaul_transfer_ready(sending, BYTES, &with->error) == LONGHAUL_OK, "ready", with);
  piece = next(with, with->server, LONGHAUL_TRANSFER_ENDED, 300);
  check(piece.status == LONGHAUL_STATUS_COMPLETED, "stream", with);
  check(memcmp(with->source, with->target, BYTES) == 0, "bytes of the stream differ", with);
  longhaul_transfer_release(&sending);
}

static void find_tag(void* context, const char* line, size_t length) {
  if (line[length] == '\0' && strstr(line, "77777") != NULL) ++*(int*)context;
}

static void what_does_not_end_well(world* with) {
  const uint64_t bytes = BYTES;
  longhaul_tensor in;
  longhaul_receive_options options;
  longhaul_transfer *hopeless = NULL, *cancelled = NULL;
  longhaul_status status = LONGHAUL_STATUS_PENDING;
  size_t ranges = 99;
  int found = 0;
  longhaul_tensor_init(&in, sizeof in);
  in.bytes = bytes;
  in.extents = &bytes;
  in.dimensions = 1;
  in.data = with->target;
  longhaul_receive_options_init(&options, sizeof options);
  options.deadline_ns = 30000000;
  check(longhaul_connection_recv_tensor(with->to_client, 10, &in, &options, &hopeless,
                                        &with->error) == LONGHAUL_OK,
        "recv", with);
  check(longhaul_connection_recv_tensor(with->to_client, 77777, &in, NULL, &cancelled,
                                        &with->error) == LONGHAUL_OK,
        "recv", with);
  check(longhaul_endpoint_dump(with->server, find_tag, &found, kPatience, &with->error) ==
            LONGHAUL_OK,
        "dump", with);
  check(found == 1, "dump names the transfer", with);
  check(longhaul_transfer_cancel(cancelled, &with->error) == LONGHAUL_OK, "cancel", with);
  longhaul_transfer_wait(cancelled, kPatience, &status, &with->error);
  check(status == LONGHAUL_STATUS_CANCELLED, longhaul_status_name(status), with);
  longhaul_transfer_wait(hopeless, kPatience, &status, &with->error);
  check(status == LONGHAUL_STATUS_TIMED_OUT, longhaul_status_name(status), with);
  check(longhaul_transfer_received_ranges(hopeless, NULL, 0, &ranges, &with->error) == LONGHAUL_OK,
        "ranges", with);
  check(ranges == 0, "nothing arrived", with);
  longhaul_transfer_release(&hopeless);
  longhaul_transfer_release(&cancelled);
}

static void statistics(world* with) {
  longhaul_connection_stats connection;
  longhaul_endpoint_stats endpoint;
  connection.struct_size = sizeof connection;
  endpoint.struct_size = sizeof endpoint;
  check(longhaul_connection_stats_get(with->to_server, kPatience, &connection, &with->error) ==
            LONGHAUL_OK,
        "stats", with);
  check(connection.tensor_bytes_sent == 3u * BYTES && connection.smoothed_rtt_ns > 0, "counters",
        with);
  check(strcmp(connection.controller, "cubic") == 0, connection.controller, with);
  check(strcmp(connection.peer_identity, "psk tour") == 0, connection.peer_identity, with);
  check(strcmp(connection.cipher, "aes_128_gcm") == 0 ||
            strcmp(connection.cipher, "chacha20_poly1305") == 0,
        connection.cipher, with);
  check(
      longhaul_endpoint_stats_get(with->client, kPatience, &endpoint, &with->error) == LONGHAUL_OK,
      "stats", with);
  check(endpoint.connections == 1 && endpoint.memory_budget_bytes > 0, "counters", with);
}

static void part(world* with) {
  check(longhaul_connection_close(with->to_server, "the tour is over", &with->error) == LONGHAUL_OK,
        "close", with);
  check(longhaul_endpoint_close(with->client, &with->error) == LONGHAUL_OK, "close", with);
  check(longhaul_endpoint_close(with->client, &with->error) == LONGHAUL_OK, "close again", with);
  check(longhaul_endpoint_listen(with->client, &with->error) == LONGHAUL_CLOSED, "use after close",
        with);
  check(with->error.code == LONGHAUL_CLOSED && with->error.message[0] != '\0', "error", with);
  longhaul_connection_release(&with->to_server);
  longhaul_connection_release(&with->to_client);
  longhaul_endpoint_release(&with->client);
  longhaul_endpoint_release(&with->server);
  longhaul_endpoint_release(&with->server);
}

int main(void) {
  world with;
  memset(&with, 0, sizeof with);
  with.error.struct_size = sizeof with.error;
  with.source = (unsigned char*)malloc(BYTES);
  with.target = (unsigned char*)malloc(BYTES);
  if (with.source == NULL || with.target == NULL) return 1;
  words(&with);
  meet(&with);
  one_tensor(&with);
  a_list(&with);
  a_stream(&with);
  what_does_not_end_well(&with);
  statistics(&with);
  part(&with);
  free(with.source);
  free(with.target);
  puts("tour: everything works");
  return 0;
}
