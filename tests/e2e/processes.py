# SPDX-License-Identifier: Apache-2.0
"""The program as a process: what it is started with, what it leaves, and output that goes away."""

import contextlib
import os
import re
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


@case
def server_that_was_killed_starts_again_at_once(bench):
    """Its pidfile stands in nobody's way, also not with the number of a process that runs."""
    port = free_port()
    with daemon(bench, port, 'first') as pid:
        pidfile = bench.folder / 'first.pid'
        os.kill(pid, signal.SIGKILL)
        again = bench.run('again', '-s', '-p', port, '--pidfile', pidfile)
        wait_until(lambda: pidfile.read_text() == f'{again.popen.pid}\n', 5, 'it starts again')
        second = bench.run('second', '-s', '-p', free_port(), '--pidfile', pidfile)
        expect(second.wait(5) == 1 and f'process {again.popen.pid}, which runs' in second.errors,
               second.story())
        again.signal(signal.SIGTERM)
        again.wait(5)
        pidfile.write_text(f'{os.getpid()}\n')
        third = bench.run('third', '-s', '-p', port, '--pidfile', pidfile)
        wait_until(lambda: pidfile.read_text() == f'{third.popen.pid}\n', 5, 'the third starts')


@case
def what_was_asked_for_and_cannot_be_printed_is_no_success(bench):
    full = ('sh', '-c', 'exec "$@" > /dev/full', 'sh')
    key, sample = bench.folder / 'made.key', bench.folder / 'made.safetensors'
    for name, words in (('help', ('--help',)), ('version', ('--version',)),
                        ('key', ('--generate-key', key)), ('sample', ('--make-sample', sample))):
        process = bench.run(name, *words, prefix=full, security=())
        expect(process.wait(30) == 1 and 'stdout takes no more (No space' in process.errors,
               process.story())
    # They are whole, and the error says that they are there.
    expect(re.search(r'longhaul-psk-1 \S+ [0-9a-f]{64}', key.read_text()), 'no key was made')
    expect(sample.stat().st_size > 1000, 'no sample was made')
    closed = bench.run('closed', '--version', prefix=('sh', '-c', 'exec "$@" >&-', 'sh'),
                       security=())
    expect(closed.wait(5) == 1 and 'stdout takes no more' in closed.errors, closed.story())


@case
def server_whose_reader_leaves_says_so(bench):
    """To its operator and to the client of the test it breaks off; without a test as well."""
    for name, interval, lines in (('testing', '0.1', 8), ('waiting', '0', 9)):
        port = free_port()
        server = bench.lasting_server(port, '-i', interval, name=f'server-{name}', prefix=(
            'bash', '-c', f'set -o pipefail; "$@" | head -n {lines}', 'bash'))
        long = ('-t', '30', '--size', '1M', '-b', '100M')
        words = long if name == 'testing' else ('--size', '1M', '-n', '1')
        client = bench.client('127.0.0.1', port, *words, name=f'client-{name}')
        client.wait(20)
        if name == 'waiting':
            again = bench.client('127.0.0.1', port, '--size', '1M', '-n', '1', name='again')
            again.wait(20)
        expect(server.wait(10) == 1, server.story())
        expect('nobody reads its output any more' in server.errors, server.story())
        if name == 'testing':
            expect('the server ends, since nobody reads its output any more' in client.errors,
                   client.story())


@case
def test_too_short_for_one_transfer_is_no_success(bench):
    """64 MiB at 100 Mbit/s take 5 s. Nothing was compared, and that is said with a remedy."""
    for name, words in (('text', ()), ('json', ('-J',)), ('reverse', ('-R',)),
                        ('both', ('--bidir',))):
        port = free_port()
        server = bench.server(port, '-b', '100M', name=f'server-{name}')
        client = bench.client('127.0.0.1', port, '-t', '0.5', '-b', '100M', *words,
                              name=f'client-{name}')
        for process in (client, server):
            expect(process.wait(20) == 1, process.story())
            expect('no transfer completed within the test' in process.everything and
                   '-t' in process.everything and '--size' in process.everything,
                   process.story())
        if name == 'json':
            expect(client.json()['end']['digest_ok'] is None, client.story())
