# SPDX-License-Identifier: Apache-2.0
"""What the line sees and what it may do: DSCP of each class, and strangers sending garbage."""

import os
import re
import socket
import struct
import subprocess
import sys
import time

from harness import case, expect, free_port, inside, readable, wait_until

ETH_P_ALL, ETH_P_IP = 3, 0x0800
CS6, AF11 = 48, 10


def captured_dscp(sock, seconds, port):
    """Counts of (source address, DSCP, large?) of the UDP datagrams of a port."""
    seen, deadline = {}, time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not readable(sock, 0.05):
            continue
        frame = sock.recv(65536)
        if len(frame) < 42 or struct.unpack_from('!H', frame, 12)[0] != ETH_P_IP or frame[23] != 17:
            continue
        head = 14 + (frame[14] & 15) * 4
        if port not in struct.unpack_from('!HH', frame, head):
            continue
        key = (socket.inet_ntoa(frame[26:30]), frame[15] >> 2, len(frame) > 1000)
        seen[key] = seen.get(key, 0) + 1
    return seen


@case
def classes_are_marked_on_the_wire_both_ways(bench):
    """Bulk data leaves as AF11, ACKs come back as control (CS6)."""
    net, port = bench.namespaces(1500), free_port()
    with inside(net.client_name):
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sniffer.bind(('c0', 0))
    with sniffer:
        server = bench.server(port, prefix=net.server)
        client = bench.client(net.server4, port, '--size', '1M', '-t', '2', '-b', '50M',
                              prefix=net.client)
        seen = captured_dscp(sniffer, 2, port)
    bench.finish(server, client)
    data, back = {}, {}
    for (source, dscp, large), count in seen.items():
        if source == net.client4 and large:
            data[dscp] = data.get(dscp, 0) + count
        elif source == net.server4:
            back[dscp] = back.get(dscp, 0) + count
    print(f'data by DSCP: {data}; from the receiver: {back}')
    # The rest is MTU probes and the program's own few messages.
    expect(data.get(AF11, 0) > 0.9 * sum(data.values()), f'data is not AF11: {seen}')
    expect(back.get(CS6, 0) > 0.9 * sum(back.values()), f'ACKs are not CS6: {seen}')


GARBAGE = '''
import os, random, socket, sys, time
host, port, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(1)
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(8)]
start, sent = time.monotonic(), 0
while True:
    due = int((time.monotonic() - start) * rate)
    while sent < due:
        size = draw.choice((0, 1, 7, 28, 64, 300, 1200, 1400))
        # Half of it looks like a packet that opens a connection: the type bits are all drawn.
        try:
            socks[sent % 8].sendto(draw.randbytes(size), (host, port))
        except OSError:
            pass
        sent += 1
    time.sleep(0.0005)
'''


SPOOFED = '''
import random, socket, struct, sys, time
to, name, rate = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(2)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
start, sent = time.monotonic(), 0
while True:
    while sent < int((time.monotonic() - start) * rate):
        body = draw.randbytes(draw.choice((1, 11, 15, 32, 64, 300, 1200)))
        # Without a checksum, as UDP over IPv4 allows.
        raw.sendto(struct.pack('!HHHH', name, to, 8 + len(body), 0) + body, ('127.0.0.1', 0))
        sent += 1
    time.sleep(0.0005)
'''


def goodput(bench, name, garbage):
    """Goodput of 4 s at 300 Mbit/s, with 10,000 garbage datagrams/s at the server or without."""
    port = free_port()
    server = bench.server(port, name=f'server-{name}')
    noise = None
    if garbage:
        noise = subprocess.Popen([sys.executable, '-c', GARBAGE, '127.0.0.1', str(port), '10000'])
    try:
        client = bench.client('127.0.0.1', port, '-J', '-t', '4', '--size', '4M', '-b', '300M',
                              name=f'client-{name}')
        bench.finish(server, client, 30)
    finally:
        if noise:
            noise.kill()
            noise.wait()
    end = client.json()
    end = end.get('end', end)
    expect(end['digest_ok'] is True, f'digest_ok is not true: {end}')
    return end['goodput_mbps']


@case
def garbage_at_the_server_hurts_nobody(bench):
    """Correctness fails the test; the ratio is a wall-clock figure and only reported."""
    quiet, noisy = goodput(bench, 'quiet', False), goodput(bench, 'noisy', True)
    ratio = noisy / quiet
    verdict = 'ok' if ratio >= 0.95 else 'WARNING: below 0.95'
    print(f'goodput with garbage {noisy:.0f} Mbit/s, without {quiet:.0f}: ratio {ratio:.3f} '
          f'({verdict}; {os.cpu_count()} cores)')


@case
def garbage_on_the_ports_of_a_test_hurts_nobody(bench):
    """Both ports of an established connection, from strangers and in the peer's own name."""
    port = free_port()
    server = bench.server(port)
    client = bench.client('127.0.0.1', port, '-J', '--bidir', '-t', '4', '--size', '1M', '-b',
                          '200M', '-P', '8')
    wait_until(lambda: 'Connected to' in server.output, 10, 'data')
    own = int(re.search(r'Connected to 127\.0\.0\.1:(\d+)', server.output)[1])
    noise = [subprocess.Popen([sys.executable, '-c', GARBAGE, '127.0.0.1', str(at), '5000'])
             for at in (own, port)]
    if os.geteuid() == 0:
        noise += [subprocess.Popen([sys.executable, '-c', SPOOFED, str(at), str(name), '5000'])
                  for at, name in ((own, port), (port, own))]
    else:
        print('not in the name of the peer: that needs root')
    try:
        bench.finish(server, client, 30)
    finally:
        for process in noise:
            process.kill()
            process.wait()
    report = client.json()
    for end in ('end', 'end_bidir_reverse'):
        expect(report[end]['digest_ok'] and report[end]['bytes'] > 10 << 20, report[end])


VERSION = 0x4c480002


def version_negotiation(datagram):
    """The answer to an initial of another version: (destination, attempt, versions)."""
    form, version, destination, _, attempt, count = struct.unpack_from('!BIIIQB', datagram)
    expect(form >> 4 == 8 and version == 0, f'no version negotiation: {datagram[:32].hex()}')
    return destination, attempt, struct.unpack_from(f'!{count}I', datagram, 22)


@case
def server_answers_another_version_with_its_own(bench):
    port = free_port()
    server = bench.server(port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.connect(('127.0.0.1', port))
        for version in (0x4c480003, 1, 0xffffffff):
            initial = struct.pack('!BIIIQIH', 0x90, version, 0, 4711, 99, 0, 0)
            stranger.send(initial.ljust(1200, b'\0'))
            expect(readable(stranger, 2), f'no answer to version {version:#x}')
            answer = stranger.recv(2048)
            expect(version_negotiation(answer) == (4711, 99, (VERSION,)), answer.hex())
            expect(len(answer) < 100, 'the answer amplifies')
        # What could not have been answered by a version negotiation is answered by nothing.
        stranger.send(struct.pack('!BIIIQB', 0x80, 0, 1, 2, 3, 1) + struct.pack('!I', 7))
        expect(not readable(stranger, 0.3), 'an answer to a version negotiation')
    client = bench.client('127.0.0.1', port, '--size', '1M', '-n', '4')
    bench.finish(server, client)


@case
def client_names_the_version_of_another_server(bench):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(('127.0.0.1', 0))
        client = bench.client('127.0.0.1', other.getsockname()[1])
        expect(readable(other, 5), client.story())
        # With a key one such packet, which anybody may send, is not believed.
        while client.running():
            if not readable(other, 0.1):
                continue
            initial, who = other.recvfrom(2048)
            _, version, _, source, attempt = struct.unpack_from('!BIIIQ', initial)
            expect(version == VERSION, f'version {version:#x}')
            other.sendto(struct.pack('!BIIIQBI', 0x80, 0, source, 0, attempt, 1, 0x4c480009), who)
        expect(client.wait(3) == 1, client.story())
    expect('0x4c480009' in client.errors and 'same release' in client.errors, client.story())


@case
def garbage_at_an_idle_server_keeps_it_idle(bench):
    """Strangers cost no memory, and the next client is served."""
    port = free_port()
    server = bench.server(port)
    noise = subprocess.Popen([sys.executable, '-c', GARBAGE, '127.0.0.1', str(port), '10000'])
    try:
        time.sleep(1)
        before = resident_kib(server)
        time.sleep(2)
        after = resident_kib(server)
        client = bench.client('127.0.0.1', port, '--size', '1M', '-n', '4')
        bench.finish(server, client, 20)
    finally:
        noise.kill()
        noise.wait()
    expect(after - before < 4096, f'memory grew from {before} to {after} KiB under garbage')


def resident_kib(process):
    with open(f'/proc/{process.popen.pid}/status', encoding='ascii') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmRSS'))
