// SPDX-License-Identifier: Apache-2.0
// usage: send PORT KEY <FILE: sends what it reads to a receiver on this machine that has the key.
#include <longhaul/longhaul.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char data[4 << 20];

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t bytes = fread(data, 1, sizeof data, stdin);
  if (ferror(stdin) || fgetc(stdin) != EOF) {
    fprintf(stderr, "send: the input cannot be read, or is larger than 4 MiB\n");
    return 2;
  }
  longhaul_error error = {.struct_size = sizeof error};
  longhaul_endpoint_config config;
  longhaul_endpoint* endpoint = NULL;
  longhaul_connection* peer = NULL;
  longhaul_transfer* send = NULL;
  longhaul_status status = LONGHAUL_STATUS_PENDING;
  longhaul_address there = {.struct_size = sizeof there};
  const uint16_t port = (uint16_t)atoi(argv[1]);
  longhaul_const_tensor tensor;
  if (longhaul_endpoint_config_init(&config, sizeof config) ||
      longhaul_const_tensor_init(&tensor, sizeof tensor)) {
    fprintf(stderr, "send: header and library do not fit each other\n");
    return 2;
  }
  config.psk_file = argv[2];
  tensor.data = data;
  tensor.bytes = bytes;
  tensor.extents = &bytes;
  tensor.dimensions = 1;
  if (longhaul_address_parse("127.0.0.1", port, &there, &error) ||
      longhaul_endpoint_open(&config, &endpoint, &error) ||
      longhaul_endpoint_connect(endpoint, &there, NULL, &peer, &error) ||
      longhaul_connection_send_tensor(peer, 7, &tensor, NULL, &send, &error) ||
      longhaul_transfer_wait(send, 20000000000, &status, &error)) {
    fprintf(stderr, "send: %s\n", error.message);
  }
  longhaul_transfer_release(&send);
  longhaul_connection_release(&peer);
  longhaul_endpoint_release(&endpoint);
  return status == LONGHAUL_STATUS_COMPLETED ? 0 : 1;
}
