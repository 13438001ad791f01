# SPDX-License-Identifier: Apache-2.0
"""The program as a process: what it is started with, what it leaves, and output that goes away."""

import contextlib
import os
import signal
from pathlib import Path

from harness import case, expect, free_port, same_bytes, wait_until

SMALL = ('--size', '1M', '-n', '8')


@contextlib.contextmanager
def daemon(bench, port, name, *arguments, prefix=()):
    """Its process id, of a server in the background that ends when it is left."""
    pidfile = bench.folder / f'{name}.pid'
    starter = bench.run(f'start-{name}', '-s', '-D', '-p', port, '--pidfile', pidfile, *arguments,
                        prefix=prefix)
    expect(starter.wait(10) == 0, starter.story())
    pid = int(pidfile.read_text())
    try:
        yield pid
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        raise
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: gone(pid), 5, f'{name} ends')


def gone(pid):
    """A zombie, which is for its new parent to bury, is gone as well."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')')[-1].split()[0] == 'Z'
    except OSError:
        return True


@case
def daemon_started_without_standard_descriptors_serves_and_ends(bench):
    for number, closed in enumerate(('<&-', '>&-', '2>&-', '<&- >&-', '<&- >&- 2>&-')):
        port, without = free_port(), ('sh', '-c', f'exec "$@" {closed}', 'sh')
        with daemon(bench, port, f'daemon{number}', prefix=without) as pid:
            for standard in range(3):
                expect(os.readlink(f'/proc/{pid}/fd/{standard}') == '/dev/null',
                       f'{closed}: {standard} is no /dev/null')
            client = bench.client('127.0.0.1', port, *SMALL, name=f'client{number}')
            expect(client.wait(10) == 0, f'{closed}: {client.story()}')
        expect(not (bench.folder / f'daemon{number}.pid').exists(), f'{closed}: a pidfile stays')


@case
def ends_without_standard_descriptors_move_a_file(bench):
    sample, output = bench.sample(2), bench.folder / 'arrived'
    silent = ('sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh')
    port = free_port()
    server = bench.server(port, '--output', output, prefix=silent)
    client = bench.client('127.0.0.1', port, '--file', sample, prefix=silent)
    bench.finish(server, client)
    same_bytes(sample, output)
