# SPDX-License-Identifier: Apache-2.0
"""Strangers whose words want to rule a terminal or forge a line of a log."""

import socket
import struct
import threading

from authority import Authority
from bad_input import told_off
from harness import case, expect, free_port, wait_until
from keys import refused

# A colour, a line of their own, the 8-bit form of ESC [ raw and as UTF-8, and half a character.
HOSTILE = (b'\x1b[31mno\x1b[0m\nlonghaul-perf: error: run this\r\n\x9b31m \xc2\x9b32m \xe2\x80\xae '
           b'caf\xc3')
VERSION = 0x4c480002
CLOSE_FRAME, ACCEPT, REFUSED = 4, 3, 3


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def refusal(initial, number, reason):
    """What a server that is none may answer to a client's first packet."""
    source, attempt = struct.unpack('>IQ', initial[9:21])
    body = struct.pack('>HBB', REFUSED, 0, len(reason)) + reason
    frames = struct.pack('>BH', CLOSE_FRAME, len(body)) + body
    header = struct.pack('>BIIIQIH', 0x80 | ACCEPT << 4, VERSION, source, 1, attempt, number, 0)
    return header + struct.pack('>I', crc32c(header + frames)) + frames


class Refuser:
    """Answers every datagram with a refusal, until it is left."""

    def __init__(self, reason):
        self.reason = reason
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.left = threading.Event()
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        number = 0
        while not self.left.is_set():
            try:
                initial, client = self.socket.recvfrom(2048)
            except TimeoutError:
                continue
            self.socket.sendto(refusal(initial, number, self.reason), client)
            number += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.left.set()
        self.thread.join()
        self.socket.close()


def plain(process):
    """Nothing a terminal obeys but the ends of lines, and valid UTF-8."""
    for path in (process.out_path, process.err_path):
        text = path.read_bytes().decode()
        for character in text:
            code = ord(character)
            bad = code < 32 and character != '\n' or 127 <= code < 160 or code in (0x2028, 0x202e)
            expect(not bad, f'{path.name} has U+{code:04X}\n{text!r}')


@case
def refusal_of_a_stranger_is_printed_plainly(bench):
    """With a key as well: its handshake has proven nothing yet."""
    security = {'key': bench.security, 'none': ('--security', 'none')}
    for name, words in security.items():
        for form in ('', '-v', '-J', '--json-stream'):
            with Refuser(HOSTILE) as stranger:
                client = bench.client('127.0.0.1', stranger.port, *filter(None, [form]),
                                      name=f'{name}{form}', security=words)
                expect(client.wait(15) == 1, client.story())
            expect('?[31mno?[0m?longhaul-perf: error: run this??' in client.everything,
                   client.story())
            plain(client)
            lines = client.everything.splitlines()
            expect(not any(line.startswith('longhaul-perf: error: run') for line in lines),
                   client.story())


@case
def refusal_of_a_stranger_is_bounded(bench):
    with Refuser(b'\n' * 255) as stranger:
        client = bench.client('127.0.0.1', stranger.port)
        told_off(client, '?' * 100)
    plain(client)
    expect(len(client.errors) < 1000, client.story())


@case
def names_in_a_certificate_cannot_forge_a_line_of_the_log(bench):
    """One our authority has signed, for a name with line ends in it."""
    root = Authority(bench.folder, 'root')
    forger = root.issue('forger', listed=b'x.example\r\nlonghaul: all is well \x1b[32m')
    trust = ('--ca', root.own.pem)
    server, _, _ = refused(bench, root.issue('server.example').flags(
        *trust, '--peer-name', 'client.example'), forger.flags(*trust), 'certificate')
    wait_until(lambda: 'x.example' in server.errors, 5, 'the name in the log')
    plain(server)
    expect(not any(line.startswith('longhaul: all is well')
                   for line in server.errors.splitlines()), server.story())
    # The client tells of the name of a server in the same way.
    server, client, _ = refused(
        bench, forger.flags(*trust), root.issue('client.example').flags(
            *trust, '--peer-name', 'server.example'), 'x.example??longhaul', by_server=False)
    plain(client)
    plain(server)
