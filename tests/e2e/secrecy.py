# SPDX-License-Identifier: Apache-2.0
"""What may show a secret, and does not: everything printed, memory, the line."""

import re
import secrets
import select
import socket
import time

from bad_input import told_off
from harness import case, expect, free_port, inside, wait_until, write_safetensors
from keys import make_key
from wire_view import ETH_P_ALL

SMALL = ('--size', '1M', '-n', '4')


def digits_of(key):
    return re.search(r'longhaul-psk-1 \S+ ([0-9a-f]{64})', key.read_text())[1]


def forms(digits):
    """A key as text in both cases, and as bytes."""
    return (digits.encode(), digits.upper().encode(), bytes.fromhex(digits))


@case
def no_output_shows_a_key(bench):
    """Not the log at its most talkative, nor reports, errors, transcripts and files."""
    key, wrong = make_key(bench, 'key', '--key-name', 'lab'), make_key(bench, 'wrong')
    for name, format_words in (('text', ()), ('json', ('-J',)), ('stream', ('--json-stream',))):
        port = free_port()
        server = bench.lasting_server(port, '-v', *format_words, name=f'server-{name}',
                                      security=('--key', key))
        client = bench.client('127.0.0.1', port, '-v', '--get-server-output', *format_words, *SMALL,
                              name=f'client-{name}', security=('--key', key))
        expect(client.wait(20) == 0, f'{client.story()}\n{server.story()}')
        told_off(bench.client('127.0.0.1', port, '-v', *format_words, *SMALL, name=f'wrong-{name}',
                              security=('--key', wrong)))
    port, log = free_port(), bench.folder / 'log'
    server = bench.server(port, '--logfile', log, name='server-log', security=('--key', key))
    client = bench.client('127.0.0.1', port, *SMALL, name='client-log', security=('--key', key))
    bench.finish(server, client)
    half = digits_of(key)[:40]
    broken = bench.folder / 'broken'
    broken.touch(mode=0o600)
    broken.write_text(f'longhaul-psk-1 lab {half}\n')
    told_off(bench.client('127.0.0.1', port, name='broken', security=('--key', broken)))
    bench.stop_all()
    looked = 0
    for path in bench.folder.iterdir():
        if path in (key, wrong, broken) or not path.is_file():
            continue
        content = path.read_bytes()
        looked += len(content)
        for secret in (*forms(digits_of(key)), *forms(digits_of(wrong)), *forms(half)):
            expect(secret not in content, f'{path.name} shows a key')
    expect(looked > 5000, f'only {looked} bytes were printed')


def memory_has(process, words):
    """Which of the words stand in the writable memory of a process."""
    found = set()
    with open(f'/proc/{process.popen.pid}/maps', encoding='utf-8') as maps, \
            open(f'/proc/{process.popen.pid}/mem', 'rb', buffering=0) as memory:
        for line in maps:
            begin, end, rights = re.match(r'(\w+)-(\w+) (\S+)', line).groups()
            if not rights.startswith('rw'):
                continue
            try:
                memory.seek(int(begin, 16))
                content = memory.read(int(end, 16) - int(begin, 16))
            except (OSError, ValueError, OverflowError):
                continue
            found |= {word for word in words if word in content}
    return found


@case
def text_of_a_key_does_not_stay_in_memory(bench):
    """The core works with its bytes; what was read from the file and parsed is wiped."""
    key = make_key(bench, 'key')
    reset_key = bench.folder / 'reset.key'
    reset_key.touch(mode=0o600)
    reset_key.write_bytes(secrets.token_bytes(32))
    port = free_port()
    server = bench.server(port, '--reset-key', reset_key, security=('--key', key))
    client = bench.client('127.0.0.1', port, '-t', '20', '--size', '1M', '-b', '50M',
                          security=('--key', key))
    wait_until(lambda: 'Interval' in client.output, 10, 'data')
    digits = digits_of(key).encode()
    for process in (server, client):
        expect(memory_has(process, [str(key).encode()]), 'the memory was not read')
        expect(not memory_has(process, [digits, digits[:32], digits[32:]]),
               f'the memory of {process.name} has the text of the key')
    secret = reset_key.read_bytes()
    expect(memory_has(server, [str(reset_key).encode()]), 'the memory was not read')
    expect(not memory_has(server, [secret, secret[:16], secret[16:]]),
           'the memory of the server has the reset key')


def captured(sniffer, seconds, client):
    """All that crossed until the client ended."""
    content, deadline = [], time.monotonic() + seconds
    while client.running() and time.monotonic() < deadline:
        while select.select([sniffer], [], [], 0.05)[0]:
            content.append(sniffer.recv(65536))
    return b''.join(content)


@case
def no_byte_of_a_tensor_can_be_read_on_the_line(bench):
    """Neither data nor names; without security both can, or the test would prove nothing."""
    net, key = bench.namespaces(1500), make_key(bench, 'key')
    source = bench.folder / 'named.safetensors'
    write_safetensors(source, [('very.secret.weights', 'U8', (200000,))])
    marks = (b'very.secret.weights', bytes((i * 131 + i // 251) & 255 for i in range(4096, 4160)))
    for name, security in (('sealed', ('--key', key)), ('open', ('--security', 'none'))):
        port = free_port()
        with inside(net.client_name):
            sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            sniffer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            sniffer.bind(('c0', 0))
        with sniffer:
            server = bench.server(port, '--output', bench.folder / f'{name}.out',
                                  prefix=net.server, name=f'server-{name}', security=security)
            client = bench.client(net.server4, port, '--file', source, '-b', '20M',
                                  prefix=net.client, name=f'client-{name}', security=security)
            content = captured(sniffer, 20, client)
        bench.finish(server, client)
        seen = [mark in content for mark in marks]
        expect(seen == [name == 'open'] * len(marks), f'{name}: {seen} in {len(content)} bytes')
