# SPDX-License-Identifier: Apache-2.0
"""Transfers that must arrive, byte for byte, over real sockets."""

from harness import case, digest_ok, expect, free_port, same_bytes, write_safetensors

# What the JSON end object promises.
END_FIELDS = ('bytes', 'seconds', 'goodput_mbps', 'transfers', 'packets_sent', 'packets_lost',
              'retransmitted_bytes', 'repair_bytes', 'rtt_ms', 'cpu_percent', 'peak_rss_mib',
              'digest_ok')
HARSH = ('--inject-loss', '1%', '--inject-reorder', '1%', '--inject-corrupt', '1%')


def send_file(bench, source, host='127.0.0.1', server=(), client=(), ends=((), ()), seconds=60):
    """Moves a file and compares it; `ends` prefixes the commands (namespaces)."""
    port, output = free_port(), bench.folder / 'received.safetensors'
    receiver = bench.server(port, '--output', output, *server, prefix=ends[0])
    sender = bench.client(host, port, '--file', source, *client, prefix=ends[1])
    bench.finish(receiver, sender, seconds)
    same_bytes(source, output)
    digest_ok(receiver)
    return receiver, sender


@case
def file_over_ipv4_loopback(bench):
    send_file(bench, bench.sample())


@case
def file_over_ipv6_loopback(bench):
    send_file(bench, bench.sample(), host='::1')


@case
def file_by_host_name(bench):
    send_file(bench, bench.sample(megabytes=2), host='localhost')


@case
def file_with_empty_and_odd_tensors(bench):
    source = bench.folder / 'odd.safetensors'
    write_safetensors(source, [('empty', 'F32', (0, 16)), ('scalar', 'BF16', ()),
                               ('one', 'U8', (1,)), ('odd', 'U8', (100003,)),
                               ('deep', 'BF16', (1, 2, 3, 4, 5, 6))])
    send_file(bench, source)


@case
def file_without_tensors(bench):
    source = bench.folder / 'none.safetensors'
    write_safetensors(source, [])
    send_file(bench, source)


@case
def file_of_hundreds_of_small_tensors(bench):
    source = bench.folder / 'many.safetensors'
    write_safetensors(source, [(f'layer.{i}.bias', 'F32', (i % 97,)) for i in range(800)])
    send_file(bench, source)


@case
def real_file_through_loss_reordering_and_corruption(bench):
    rate = ('-b', '900M')
    send_file(bench, bench.real_file(), server=(*HARSH, *rate), client=(*HARSH, *rate))


@case
def real_file_through_a_long_line(bench):
    delay = ('--inject-delay', '25ms', '--inject-loss', '0.1%', '-b', '900M')
    send_file(bench, bench.real_file(), server=delay, client=delay)


@case
def file_over_veth_mtu_1500(bench):
    net = bench.namespaces(1500)
    send_file(bench, bench.sample(), host=net.server4, ends=(net.server, net.client))


@case
def file_over_veth_mtu_9000(bench):
    net = bench.namespaces(9000)
    send_file(bench, bench.sample(), host=net.server4, ends=(net.server, net.client))


@case
def file_over_veth_ipv6(bench):
    net = bench.namespaces(1500)
    send_file(bench, bench.sample(), host=net.server6, ends=(net.server, net.client))


def measure(bench, *client, server=(), seconds=60):
    """A run with generated tensors; returns the client's JSON end object."""
    port = free_port()
    receiver = bench.server(port, *server)
    sender = bench.client('127.0.0.1', port, '-J', *client)
    bench.finish(receiver, sender, seconds)
    end = sender.json()
    end = end.get('end', end)
    missing = [field for field in END_FIELDS if field not in end]
    expect(not missing, f'JSON end object lacks {missing}: {end}')
    expect(end['digest_ok'] is True, f'digest_ok is not true: {end}')
    return end


@case
def json_end_object_is_complete(bench):
    end = measure(bench, '--size', '4M', '-n', '16')
    expect(end['transfers']['count'] == 16, f'16 transfers asked for: {end}')
    expect(end['bytes'] == 16 * (4 << 20), f'64 MiB asked for: {end}')
    expect(end['goodput_mbps'] > 0 and end['seconds'] > 0, f'no time or goodput: {end}')
    order = [end['transfers'][key] for key in ('p50_ms', 'p90_ms', 'p99_ms', 'max_ms')]
    expect(order == sorted(order) and order[0] > 0, f'percentiles out of order: {end}')
    for side in ('cpu_percent', 'peak_rss_mib'):
        expect(set(end[side]) >= {'local', 'remote'}, f'{side} lacks a side: {end}')


@case
def shaped_tensors_both_counted(bench):
    end = measure(bench, '--shape', '1024x1024', '--dtype', 'bf16', '-n', '8')
    expect(end['bytes'] == 8 * 1024 * 1024 * 2, f'16 MiB asked for: {end}')


@case
def timed_run_with_parallel_transfers(bench):
    end = measure(bench, '-t', '2', '-P', '4', '--size', '1M')
    expect(1.5 <= end['seconds'] <= 3.5, f'2 s asked for: {end}')
    expect(end['transfers']['count'] >= 4, f'nothing ran in parallel: {end}')


@case
def rate_limit_counts_everything(bench):
    end = measure(bench, '-t', '3', '-b', '200M', '--size', '1M')
    expect(end['goodput_mbps'] <= 200, f'more than -b allows: {end}')
    expect(end['goodput_mbps'] >= 120, f'far below -b: {end}')


@case
def no_progress_bar_in_a_pipe(bench):
    port = free_port()
    receiver = bench.server(port)
    sender = bench.client('127.0.0.1', port, '--size', '8M', '-n', '4')
    bench.finish(receiver, sender)
    for process in (sender, receiver):
        expect('\r' not in process.everything and '\x1b' not in process.everything,
               f'terminal control in a pipe\n{process.story()}')


@case
def small_test_has_a_rate(bench):
    """One look may find the first byte and the last; the time they took is not nothing."""
    for number, direction in enumerate(((), ('-R',), ('--bidir',), ())):
        port = free_port()
        server = bench.server(port, name=f'server{number}')
        client = bench.client('127.0.0.1', port, '-n', '1', '-l', '30', '-J', *direction,
                              name=f'client{number}')
        bench.finish(server, client)
        end = client.json()['end']
        expect(end['bytes'] == 30 and 0 < end['seconds'] < 1 and end['goodput_mbps'] > 0, end)
        expect(' 0 bits/sec  received' not in server.output, server.story())


@case
def output_is_said_to_be_on_the_server(bench):
    port, source, target = free_port(), bench.sample(2), bench.folder / 'copy.safetensors'
    target.write_text('old')
    server = bench.server(port, '--output', target)
    client = bench.client('127.0.0.1', port, '--file', source)
    bench.finish(server, client)
    same_bytes(source, target)
    expect(f'Output      {target} (on the server)\n' in client.output, client.story())
    expect(f'Output      {target}\n' in server.output, server.story())
    for process in (server, client):
        expect('of repair' not in process.output, process.story())
