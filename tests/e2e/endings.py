# SPDX-License-Identifier: Apache-2.0
"""Ends that come early: Ctrl-C and death, at either side, at several moments."""

import re
import signal
import time

from harness import case, expect, free_port, interrupt_and_time, wait_until

# Seconds after the client's start: in the handshake, in the first round trips, in full flow.
MOMENTS = (0.0, 0.02, 0.1, 0.5, 1.5)
SUMMARY = re.compile(r'(\d[\d.]*\s*[KMG]?i?(B|bit)|goodput|transfers)', re.IGNORECASE)


def pair(bench, moment, name):
    port = free_port()
    server = bench.server(port, name=f'server-{name}-{moment}')
    client = bench.client('127.0.0.1', port, '-t', '30', '--size', '4M', '-b', '400M', '-i', '0.5',
                          name=f'client-{name}-{moment}')
    time.sleep(moment)
    return server, client


def began(*processes):
    """Whether both measure, which a slow machine may not have reached at the early moments."""
    return all('Interval' in process.output for process in processes)


def ends_by_itself(process, seconds):
    """The peer of an interrupted program ends too, by exit and not by a signal."""
    code = process.wait(seconds, 'learn that its peer has gone')
    expect(0 <= code < 128, f'{process.name} ended with status {code}\n{process.story()}')


def says_interrupted(process, code):
    expect(code in (0, 1, 128 + signal.SIGINT, -signal.SIGINT),
           f'{process.name} ended with status {code}\n{process.story()}')


@case
def interrupted_client_tells_its_peer(bench):
    for moment in MOMENTS:
        server, client = pair(bench, moment, 'int')
        code, took = interrupt_and_time(client)
        says_interrupted(client, code)
        if began(server, client):
            expect(SUMMARY.search(client.output), f'no summary\n{client.story()}')
            # Told, not timed out: well below the peer timeout of 2 s.
            ends_by_itself(server, 1.5)
            expect(SUMMARY.search(server.output), f'no summary\n{server.story()}')
        else:
            server.popen.kill()
        print(f'client interrupted after {moment} s: ended {took * 1000:.0f} ms later')


@case
def interrupted_server_tells_its_peer(bench):
    for moment in MOMENTS:
        server, client = pair(bench, moment, 'int')
        code, took = interrupt_and_time(server)
        says_interrupted(server, code)
        if began(server, client):
            ends_by_itself(client, 1.5)
            expect(client.popen.returncode != 0, f'the client saw a success\n{client.story()}')
            for process in (server, client):
                expect(SUMMARY.search(process.output), f'no summary\n{process.story()}')
        else:
            client.popen.kill()
        print(f'server interrupted after {moment} s: ended {took * 1000:.0f} ms later')


@case
def idle_server_ends_on_interrupt(bench):
    server = bench.server(free_port())
    code, _ = interrupt_and_time(server)
    says_interrupted(server, code)


@case
def terminate_is_handled_as_interrupt(bench):
    server, client = pair(bench, 0.5, 'term')
    code, _ = interrupt_and_time(client, signal.SIGTERM)
    expect(code in (0, 1, 128 + signal.SIGTERM, -signal.SIGTERM),
           f'client ended with status {code}\n{client.story()}')
    ends_by_itself(server, 4)


@case
def stop_that_comes_as_two_signals_is_one(bench):
    """As timeout(1) sends it: to the program, and at once to the program's group."""
    server, client = pair(bench, 0.5, 'two')
    client.signal(signal.SIGTERM)
    client.signal(signal.SIGTERM)
    expect(client.wait(5) >= 0, f'it was killed\n{client.story()}')
    expect(SUMMARY.search(client.output), f'no summary\n{client.story()}')
    ends_by_itself(server, 1.5)


@case
def closed_terminal_is_handled_as_interrupt(bench):
    """The next client is served at once; under nohup nothing ends."""
    port = free_port()
    server = bench.lasting_server(port)
    long = ('-t', '30', '--size', '4M', '-b', '100M')
    client = bench.client('127.0.0.1', port, *long)
    wait_until(lambda: 'Interval' in client.output, 10, 'data')
    code, _ = interrupt_and_time(client, signal.SIGHUP)
    expect(code == 1, client.story())
    after = bench.client('127.0.0.1', port, '--size', '1M', '-n', '1', name='after')
    expect(after.wait(10) == 0, f'{after.story()}\n{server.story()}')
    kept = bench.client('127.0.0.1', port, *long, prefix=('nohup',), name='kept')
    wait_until(lambda: 'Interval' in kept.output, 10, 'data')
    kept.signal(signal.SIGHUP)
    time.sleep(0.3)
    expect(kept.running(), kept.story())
    interrupt_and_time(kept)


@case
def client_whose_reader_leaves_tells_its_peer(bench):
    port = free_port()
    server = bench.lasting_server(port)
    client = bench.client('127.0.0.1', port, '-t', '30', '-i', '0.1', '--size', '4M', '-b', '100M',
                          prefix=('bash', '-c', 'set -o pipefail; "$@" | head -n 6', 'bash'))
    expect(client.wait(10) == 1, f'no exit status 1, but maybe a signal\n{client.story()}')
    expect(client.errors.count('stdout takes no more') == 1, client.story())
    after = bench.client('127.0.0.1', port, '--size', '1M', '-n', '1', name='after')
    expect(after.wait(10) == 0, f'{after.story()}\n{server.story()}')
    expect('the client was interrupted' in server.everything, server.story())


@case
def held_back_farewell_reaches_the_server(bench):
    """A delay injected by a client holds its last datagram too."""
    port = free_port()
    server = bench.lasting_server(port)
    for number in range(8):
        client = bench.client('127.0.0.1', port, '-n', '1', '--size', '1K', '--inject-delay',
                              '40ms', name=f'client{number}')
        expect(client.wait(10) == 0, f'{client.story()}\n{server.story()}')


@case
def second_interrupt_never_hangs(bench):
    server, client = pair(bench, 0.5, 'twice')
    client.signal(signal.SIGINT)
    time.sleep(0.01)
    if client.running():
        interrupt_and_time(client)
    ends_by_itself(server, 4)


def says_once_who_was_lost(process):
    said = re.findall(r'nothing heard from 127\.0\.0\.1:\d+ for \d+ ms; .*--peer-timeout',
                      process.errors)
    expect(len(said) == 1 and process.everything.count('nothing heard') == 1, process.story())


@case
def killed_client_is_noticed(bench):
    server, client = pair(bench, 1.0, 'kill')
    client.popen.kill()
    start = time.monotonic()
    ends_by_itself(server, 4)
    print(f'the server gave the client up after {time.monotonic() - start:.2f} s')
    says_once_who_was_lost(server)


@case
def killed_server_is_noticed(bench):
    server, client = pair(bench, 1.0, 'kill')
    server.popen.kill()
    start = time.monotonic()
    ends_by_itself(client, 4)
    print(f'the client gave the server up after {time.monotonic() - start:.2f} s')
    says_once_who_was_lost(client)
    expect(client.popen.returncode != 0, f'the client saw a success\n{client.story()}')


@case
def killed_server_leaves_no_part_of_a_file(bench):
    source, folder = bench.sample(megabytes=64), bench.folder / 'kept'
    folder.mkdir()
    port = free_port()
    server = bench.server(port, '--output', folder / 'out.safetensors')
    client = bench.client('127.0.0.1', port, '--file', source, '-b', '100M')
    wait_until(lambda: 'Connected' in server.output, 20, 'data')
    time.sleep(0.5)
    expect(server.running() and client.running(), f'{client.story()}\n{server.story()}')
    server.popen.kill()
    ends_by_itself(client, 4)
    left = [path.name for path in folder.iterdir()]
    expect(not left, f'a killed server left {left}')


@case
def restarted_server_with_its_key_is_known_at_once(bench):
    """Far below the peer timeout, which is 20 s here."""
    port, key = free_port(), bench.folder / 'key'
    first = bench.server(port, '--reset-key', key, '--peer-timeout', '20', name='first')
    expect(key.stat().st_mode & 0o777 == 0o600 and key.stat().st_size == 32, 'not a secret')
    client = bench.client('127.0.0.1', port, '-t', '30', '--size', '1M', '-b', '100M',
                          '--peer-timeout', '20')
    wait_until(lambda: began(client), 10, 'data')
    first.popen.kill()
    time.sleep(0.5)
    start = time.monotonic()
    bench.server(port, '--reset-key', key, name='second')
    ends_by_itself(client, 5)
    print(f'the client knew {time.monotonic() - start:.2f} s after the restart began')
    expect('restarted' in client.errors, client.story())


@case
def stopped_peer_is_noticed_and_its_return_hurts_nobody(bench):
    """A SIGSTOP looks like a dead line; after SIGCONT the late process learns what happened."""
    server, client = pair(bench, 1.0, 'stop')
    server.signal(signal.SIGSTOP)
    try:
        ends_by_itself(client, 4)
    finally:
        server.signal(signal.SIGCONT)
    ends_by_itself(server, 5)


@case
def server_without_one_shot_serves_again(bench):
    port = free_port()
    server = bench.lasting_server(port)
    killed = bench.client('127.0.0.1', port, '-t', '30', '--size', '4M', name='killed')
    time.sleep(0.5)
    killed.popen.kill()
    # Until the peer timeout has passed, the server believes in the one that was killed.
    start = time.monotonic()
    while True:
        client = bench.client('127.0.0.1', port, '--size', '1M', '-n', '4', name='second')
        if client.wait(10) == 0:
            break
        expect('busy' in client.errors and time.monotonic() - start < 5,
               f'{client.story()}\n{server.story()}')
        time.sleep(0.2)
    client = bench.client('127.0.0.1', port, '--size', '1M', '-n', '4', name='third')
    expect(client.wait(10) == 0, f'{client.story()}\n{server.story()}')
    interrupt_and_time(server)
