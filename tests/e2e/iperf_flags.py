# SPDX-License-Identifier: Apache-2.0
"""Flags that mean what they mean in iperf3: who sends, where reports go, life in the background."""

import json
import os
import re
import signal
import socket
import time
from pathlib import Path

from harness import (case, expect, free_port, inside, interrupt_and_time, need_root,
                     wait_until)
from wire_view import ETH_P_ALL, captured_dscp

SMALL = ('--size', '1M', '-n', '8')
EF, CS6 = 46, 48


def one_test(bench, *client, server=(), seconds=30):
    port = free_port()
    receiver = bench.server(port, *server)
    sender = bench.client('127.0.0.1', port, *client)
    bench.finish(receiver, sender, seconds)
    return receiver, sender


@case
def reverse_lets_the_server_send(bench):
    server, client = one_test(bench, '-R', '-J', *SMALL)
    report = client.json()
    expect(report['start']['direction'] == 'reverse', report['start'])
    expect(report['end']['bytes'] == 8 << 20 and report['end']['digest_ok'], report['end'])
    expect(report['end']['transfers']['count'] == 8, report['end'])
    expect(not any(line['sender'] for line in report['intervals']), report['intervals'])
    expect(re.search(r'8\.00 MBytes.*sent', server.output), server.story())


@case
def bidir_counts_both_directions(bench):
    _, client = one_test(bench, '--bidir', '-J', '-t', '1', '--size', '1M', '-i', '0.25')
    report = client.json()
    for end in ('end', 'end_bidir_reverse'):
        expect(report[end]['digest_ok'] and report[end]['bytes'] > 1 << 20, report[end])
        expect(0.7 <= report[end]['seconds'] <= 2, report[end])
    senders = {line['sender'] for line in report['intervals']}
    expect(senders == {True, False}, report['intervals'])


@case
def interrupted_client_ends_a_server_that_sends(bench):
    for direction in ('-R', '--bidir'):
        port = free_port()
        server = bench.server(port, name=f'server{direction}')
        client = bench.client('127.0.0.1', port, direction, '-t', '30', '--size', '1M',
                              name=f'client{direction}')
        wait_until(lambda: '-1.00 ' in client.output, 10, 'the first line')
        code, took = interrupt_and_time(client)
        expect(code == 1, f'status {code}\n{client.story()}')
        expect(server.wait(2) == 1, server.story())
        expect('received and verified' in client.output and 'interrupted' in client.errors,
               client.story())
        print(f'{direction}: ended {took * 1000:.0f} ms after Ctrl-C')


@case
def killed_client_ends_a_server_that_sends(bench):
    port = free_port()
    server = bench.server(port)
    client = bench.client('127.0.0.1', port, '-R', '-t', '30', '--size', '1M')
    wait_until(lambda: 'Interval' in client.output, 10, 'data')
    client.popen.kill()
    expect(server.wait(5) == 1, server.story())
    expect('peer_lost' in server.errors, server.story())


@case
def json_stream_is_one_object_a_line(bench):
    server, client = one_test(bench, '--json-stream', '-t', '1', '-i', '0.25', '--size', '1M',
                              server=('--json-stream',))
    for process in (client, server):
        events = [json.loads(line) for line in process.output.splitlines()]
        names = [event['event'] for event in events]
        expect(names[0] == 'start' and names[-1] == 'end', f'{names}\n{process.story()}')
        expect(names[1:-1] == ['interval'] * (len(names) - 2) and len(names) >= 4, names)
        expect(events[-1]['data']['end']['digest_ok'] is True, events[-1])


@case
def server_output_reaches_the_client(bench):
    _, client = one_test(bench, '--get-server-output', *SMALL)
    expect(re.search(r'Server output:\n(.*\n)*.*received and verified', client.output),
           client.story())
    _, client = one_test(bench, '--get-server-output', '-J', *SMALL)
    expect('received and verified' in client.json()['server_output_text'], client.story())
    server, client = one_test(bench, '--get-server-output', '-J', *SMALL, server=('-J',))
    expect(client.json()['server_output_json'] == server.json(), client.story())


@case
def logfile_takes_reports_and_is_appended_to(bench):
    log = bench.folder / 'server.log'
    for count in (1, 2):
        server, _ = one_test(bench, *SMALL, server=('--logfile', log))
        expect(server.output == '', f'stdout is not empty\n{server.story()}')
        text = log.read_text()
        expect(text.count('digest ok') == count, text)


@case
def full_disk_for_the_log_does_not_end_the_test(bench):
    server, client = one_test(bench, '-t', '1', '-i', '0.01', '--size', '1M',
                              '--logfile', '/dev/full', server=('--logfile', '/dev/full'))
    for process in (server, client):
        expect(process.errors.count('warning: /dev/full') == 1 and 'No space' in process.errors,
               process.story())


@case
def slow_disk_for_the_log_does_not_end_the_test(bench):
    """A FIFO whose reader never reads: what fits its 64 KiB is kept, nobody waits for the rest."""
    fifo = bench.folder / 'fifo'
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        start = time.monotonic()
        _, client = one_test(bench, '-t', '2', '-i', '0.001', '--size', '64K', '-b', '100M',
                             '--json-stream', '--logfile', fifo)
        expect(time.monotonic() - start < 12, 'the log held the test up')
        expect(client.errors.count('too slow') == 1, client.story())
    finally:
        os.close(reader)


@case
def full_disk_for_stdout_does_not_end_the_test(bench):
    port = free_port()
    server = bench.server(port)
    client = bench.run('client', '-c', '127.0.0.1', '-p', port, *SMALL,
                       prefix=('sh', '-c', 'exec "$@" > /dev/full', 'sh'))
    bench.finish(server, client)
    expect(client.errors.count('stdout takes no more') == 1, client.story())


@case
def json_that_cannot_be_written_is_no_success(bench):
    for flag in ('-J', '--json-stream'):
        port = free_port()
        server = bench.server(port, name=f'server{flag}')
        client = bench.run(f'client{flag}', '-c', '127.0.0.1', '-p', port, *SMALL, flag,
                           prefix=('sh', '-c', 'exec "$@" > /dev/full', 'sh'))
        expect(client.wait(20) == 1, client.story())
        lost = [line for line in client.errors.splitlines() if 'security is none' not in line]
        expect(len(lost) == 1 and 'stdout' in lost[0] and 'No space' in lost[0], client.story())
        expect(server.wait(10) == 0, server.story())


@case
def daemon_serves_in_the_background_and_cleans_up(bench):
    port, log, pidfile = free_port(), bench.folder / 'log', bench.folder / 'pid'
    # Relative paths mean what they meant where it was started.
    starter = bench.run('starter', '-s', '-D', '-p', port, '--logfile', 'log', '--pidfile', 'pid',
                        cwd=bench.folder)
    expect(starter.wait(10) == 0, starter.story())
    pid = int(pidfile.read_text())
    try:
        expect(Path(f'/proc/{pid}/cwd').resolve() == Path('/'), 'it holds a folder')
        expect(os.readlink(f'/proc/{pid}/fd/2') == '/dev/null', 'it holds the terminal')
        for name in ('first', 'second'):
            client = bench.client('127.0.0.1', port, *SMALL, name=name)
            expect(client.wait(10) == 0, f'{client.story()}\n{log.read_text()}')
        second = bench.run('second-server', '-s', '-p', free_port(), '--pidfile', pidfile)
        expect(second.wait(5) == 1 and str(pid) in second.errors, second.story())
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not Path(f'/proc/{pid}').exists(), 5, 'the daemon ends')
    expect(not pidfile.exists(), 'the pidfile stays')
    expect(log.read_text().count('digest ok') == 2 and 'interrupted' in log.read_text(),
           log.read_text())


@case
def daemon_that_cannot_start_says_so(bench):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(('0.0.0.0', 0))
        port = holder.getsockname()[1]
        starter = bench.run('starter', '-s', '-D', '-p', port, '--pidfile', bench.folder / 'pid')
        expect(starter.wait(10) == 1 and 'in use' in starter.errors, starter.story())
        expect(not (bench.folder / 'pid').exists(), 'the pidfile stays')


@case
def families_can_be_chosen(bench):
    port = free_port()
    server = bench.server(port, '-6')
    refused = bench.client('127.0.0.1', port, '-6', name='wrong-family')
    expect(refused.wait(5) == 1 and 'IPv6' in refused.errors, refused.story())
    client = bench.client('::1', port, '-6', *SMALL)
    bench.finish(server, client)
    server = bench.server(port, '-4', name='server4')
    expect('::' not in server.output, server.story())
    client = bench.client('localhost', port, '-4', *SMALL, name='client4')
    bench.finish(server, client)
    expect('127.0.0.1' in client.output, client.story())


@case
def connect_timeout_is_kept(bench):
    """Towards a port that is open and never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(('127.0.0.1', 0))
        start = time.monotonic()
        client = bench.client('127.0.0.1', silent.getsockname()[1], '--connect-timeout', '500')
        expect(client.wait(5) == 1, client.story())
        took = time.monotonic() - start
    expect(0.5 <= took < 2, f'gave up after {took:.2f} s\n{client.story()}')
    expect('no answer' in client.errors, client.story())


@case
def dscp_marks_the_data_of_the_end_that_sends(bench):
    net, port = bench.namespaces(1500), free_port()
    with inside(net.client_name):
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sniffer.bind(('c0', 0))
    with sniffer:
        server = bench.server(port, prefix=net.server)
        client = bench.client(net.server4, port, '--size', '1M', '-t', '2', '-b', '50M', '--dscp',
                              'ef', prefix=net.client)
        seen = captured_dscp(sniffer, 2, port)
    bench.finish(server, client)
    data = {dscp: count for (source, dscp, large), count in seen.items()
            if source == net.client4 and large}
    back = {dscp: count for (source, dscp, large), count in seen.items()
            if source == net.server4 and not large}
    expect(data.get(EF, 0) > 0.9 * sum(data.values()), f'data is not EF: {seen}')
    expect(back.get(CS6, 0) > 0.9 * sum(back.values()), f'ACKs are not CS6: {seen}')


@case
def bind_takes_an_address_and_an_interface(bench):
    need_root()
    net, port = bench.namespaces(1500), free_port()
    server = bench.server(port, '-B', f'{net.server4}%s0', prefix=net.server)
    # The right address behind the wrong interface reaches nobody.
    lost = bench.client(net.server4, port, '-B', f'{net.client4}%lo', '--connect-timeout', '500',
                        prefix=net.client, name='wrong-interface')
    expect(lost.wait(5) == 1, lost.story())
    client = bench.client(net.server4, port, '-B', f'{net.client4}%c0', *SMALL, prefix=net.client)
    bench.finish(server, client)
    expect(net.client4 in server.output, server.story())


@case
def cores_of_both_ends_can_be_chosen(bench):
    port = free_port()
    server = bench.server(port)
    client = bench.client('127.0.0.1', port, '-t', '2', '--size', '1M', '-b', '50M', '-A', '0,0')
    wait_until(lambda: 'Interval' in server.output, 10, 'data')
    for process in (server, client):
        tasks = Path(f'/proc/{process.popen.pid}/task')
        cores = [re.search(r'Cpus_allowed_list:\s*(\S+)', (task / 'status').read_text())[1]
                 for task in tasks.iterdir()]
        expect('0' in cores, f'{process.name}: {cores}')
    bench.finish(server, client)
    refused = bench.client('127.0.0.1', port, '-A', '0,x', name='refused')
    expect(refused.wait(5) == 1 and '--affinity' in refused.errors, refused.story())
