// SPDX-License-Identifier: Apache-2.0
// A program of the first release. It is compiled against abi-1/, the header as it was then, and
// runs on the library as it is now; it never changes.
#include <longhaul/longhaul.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 300000 };
static const int64_t kPatience = 20000000000;
static unsigned char source[BYTES], target[BYTES];
static longhaul_error error = {sizeof(longhaul_error), 0, 0, 0, {0}};

static int failed(const char* what) {
  fprintf(stderr, "first_release: %s: %s\n", what, error.message);
  return 1;
}

static longhaul_endpoint* open_endpoint(void) {
  longhaul_endpoint_config config;
  longhaul_address local;
  longhaul_endpoint* endpoint = NULL;
  local.struct_size = sizeof local;
  if (longhaul_address_parse("127.0.0.1", 0, &local, &error) != LONGHAUL_OK) return NULL;
  if (longhaul_endpoint_config_init(&config, sizeof config) != LONGHAUL_OK) return NULL;
  config.local = &local;
  config.security = "none";
  config.transfers_max = 64;
  config.completions_max = 64;
  config.use_seed = 1;
  config.seed = 5;
  if (longhaul_endpoint_open(&config, &endpoint, &error) != LONGHAUL_OK) return NULL;
  return endpoint;
}

// Sends `source` to `target`; the receiver learns the end from its completion.
static int move(longhaul_endpoint* server, longhaul_connection* to_server,
                longhaul_connection* to_client) {
  const uint64_t shape[2] = {BYTES / 4, 1};
  longhaul_const_tensor out;
  longhaul_tensor in;
  longhaul_send_options sending;
  longhaul_receive_options receiving;
  longhaul_completion done[4];
  longhaul_transfer* transfer = NULL;
  longhaul_status status = LONGHAUL_STATUS_PENDING;
  size_t count = 0, i;
  int turns = 0, received = 0;
  longhaul_const_tensor_init(&out, sizeof out);
  longhaul_tensor_init(&in, sizeof in);
  out.dtype = in.dtype = LONGHAUL_I32;
  out.data = source;
  in.data = target;
  out.bytes = in.bytes = BYTES;
  out.extents = in.extents = shape;
  out.dimensions = in.dimensions = 2;
  longhaul_send_options_init(&sending, sizeof sending);
  sending.deadline_ns = kPatience;
  longhaul_receive_options_init(&receiving, sizeof receiving);
  receiving.cookie = 11;
  if (longhaul_connection_recv_tensor(to_client, 3, &in, &receiving, NULL, &error)) return 1;
  if (longhaul_connection_send_tensor(to_server, 3, &out, &sending, &transfer, &error)) return 1;
  if (longhaul_transfer_wait(transfer, kPatience, &status, &error)) return 1;
  longhaul_transfer_release(&transfer);
  while (!received && ++turns < 100000000) {
    done[0].struct_size = sizeof done[0];
    if (longhaul_endpoint_poll(server, done, 4, &count, &error)) return 1;
    for (i = 0; i < count; ++i) {
      received |= done[i].kind == LONGHAUL_TRANSFER_ENDED && done[i].cookie == 11 &&
                  done[i].status == LONGHAUL_STATUS_COMPLETED;
    }
  }
  return status == LONGHAUL_STATUS_COMPLETED && received ? 0 : 1;
}

int main(void) {
  longhaul_endpoint *server = open_endpoint(), *client = open_endpoint();
  longhaul_connection *to_server = NULL, *to_client = NULL;
  longhaul_connect_options options;
  longhaul_connection_stats stats;
  longhaul_address address;
  size_t i;
  if (longhaul_abi_version() < LONGHAUL_ABI_VERSION) return failed("the library is older");
  if (server == NULL || client == NULL) return failed("open");
  for (i = 0; i < BYTES; ++i) source[i] = (unsigned char)(i * 31u >> 3);
  address.struct_size = sizeof address;
  stats.struct_size = sizeof stats;
  longhaul_connect_options_init(&options, sizeof options);
  options.timeout_ns = kPatience;
  if (longhaul_endpoint_listen(server, &error)) return failed("listen");
  if (longhaul_endpoint_local_address(server, &address, &error)) return failed("local_address");
  if (longhaul_endpoint_connect(client, &address, &options, &to_server, &error)) {
    return failed("connect");
  }
  if (longhaul_endpoint_accept(server, kPatience, &to_client, &error)) return failed("accept");
  if (move(server, to_server, to_client) != 0) return failed("move");
  if (memcmp(source, target, BYTES) != 0) return failed("the bytes differ");
  if (longhaul_connection_stats_get(to_server, kPatience, &stats, &error)) return failed("stats");
  if (stats.tensor_bytes_sent != BYTES) return failed("counters");
  longhaul_connection_release(&to_server);
  longhaul_connection_release(&to_client);
  longhaul_endpoint_release(&client);
  longhaul_endpoint_release(&server);
  puts("first_release: works on this library");
  return 0;
}
