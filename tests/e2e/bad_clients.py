# SPDX-License-Identifier: Apache-2.0
"""A server outlives its clients: many, killed ones, two at once, and serves the next."""

import re
import time
from pathlib import Path

from harness import case, expect, free_port, wait_until
from wire_view import resident_kib

SMALL = ('--size', '100K', '-n', '4')


@case
def two_clients_at_once_get_one_server_and_one_answer(bench):
    port = free_port()
    server = bench.lasting_server(port, '-J')
    first = bench.client('127.0.0.1', port, '-t', '2', '--size', '1M', '-b', '50M', name='first')
    wait_until(lambda: 'Interval' in first.output, 10, 'data')
    second = bench.client('127.0.0.1', port, *SMALL, name='second')
    expect(second.wait(5) == 1, second.story())
    last = second.errors.strip().splitlines()[-1]
    expect(last == 'longhaul-perf: error: the server says: the server is busy with another test; '
           'try again when it is over', second.story())
    expect(first.wait(10) == 0, first.story())
    # The one that was turned away leaves no trace in the report about the other.
    wait_until(lambda: 'digest_ok' in server.output, 5, 'the report')
    report = server.json()
    expect(report['end']['digest_ok'] and 'error' not in report, server.story())


@case
def clients_one_after_another_of_which_every_second_is_killed(bench):
    """200 of them; memory and descriptors stay where they were, and the last one is served."""
    port = free_port()
    server = bench.lasting_server(port, '--peer-timeout', '0.1')
    before = None
    for number in range(200):
        client = bench.client('127.0.0.1', port, '--peer-timeout', '0.5', *SMALL, name='visitor')
        if number % 2:
            # In the handshake, before and in the test, by turns.
            time.sleep(number % 20 / 400)
            client.popen.kill()
        client.wait(10)
        expect(server.running(), server.story())
        if number == 40:
            before = resident_kib(server), descriptors(server)
    after = resident_kib(server), descriptors(server)
    expect(after[0] - before[0] < 8192 and after[1] <= before[1] + 2,
           f'KiB and descriptors went from {before} to {after}')
    wait_until(lambda: served(bench, port), 10, 'the next client is served')
    tests = int(re.findall(r'test #(\d+)', server.output)[-1]) - 1
    print(f'{tests} tests begun; KiB and descriptors {before} -> {after}')
    expect(tests >= 50, f'only {tests} of 100 honest clients were served\n{server.story()}')


def descriptors(process):
    return len(list(Path(f'/proc/{process.popen.pid}/fd').iterdir()))


def served(bench, port):
    client = bench.client('127.0.0.1', port, *SMALL, name='next')
    return client.wait(10) == 0
