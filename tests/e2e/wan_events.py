# SPDX-License-Identifier: Apache-2.0
"""What happens to a transfer on its way over an emulated line: the line goes and comes back, a peer
stops or dies. And that every packet of it, both ways, says which class it is of."""

import collections
import contextlib
import re
import signal
import socket
import struct
import time

from lab import LinkEffects

from harness import case, digest_ok, expect, free_port, inside, same_bytes, wait_until
from wan_line import LINE, RATE, check_line, deliver, nonzero, random_tensors, seed_of_case

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, UDP = 3, 0x0800, 0x86dd, 17
PACKET_STATISTICS = 6
CS6, AF41, AF11 = 48, 34, 10
PATIENT = ('--peer-timeout', '8')


@contextlib.contextmanager
def under_way(bench, made, source, family, *options, rate=None):
    """A file on its way from east to west, once data flows; server, client and where it goes."""
    port, output = free_port(), bench.folder / 'received.safetensors'
    server = bench.server(port, '--output', output, *options, prefix=made.prefix('west'))
    client = bench.client(made.address('west', family), port, '--file', source,
                          *(rate or RATE[family]), *options, prefix=made.prefix('east'))
    wait_until(lambda: 'Interval' in client.output, 10, 'data')
    yield server, client, output
    output.unlink(missing_ok=True)


def arrives(bench, source, server, client, output):
    bench.finish(server, client, 40)
    same_bytes(source, output)
    digest_ok(server)
    digest_ok(client)


def longest_of(family):
    """A tenth of the line, so that a transfer of 24 MiB lasts two seconds."""
    return ('-b', '95M') if family == 4 else ('-b', '94M')


@case
def line_that_is_gone_for_2_s(bench):
    """The outage begins while data flows, and both ends are told to wait longer than it lasts."""
    seed = seed_of_case()
    source = random_tensors(bench.folder / 'random.safetensors', seed)
    for family in (4, 6):
        effects = LinkEffects(LINE, at=('1500ms:both:down=2s',))
        with bench.lab('two-regions', effects, seed=seed) as made:
            start = time.monotonic()
            with under_way(bench, made, source, family, *PATIENT,
                           rate=longest_of(family)) as (server, client, output):
                arrives(bench, source, server, client, output)
            took = time.monotonic() - start
            counters = made.finish()['east-west']
        print(f'IPv{family}: {took:.2f} s')
        check_line(counters, ('down_dropped',))
        expect(took > 3.5, f'over before the line was back: {took:.2f} s')


@case
def line_to_a_receiver_that_is_stopped(bench):
    """Stopped for a second in full flow: its socket overflows, and everything arrives."""
    seed = seed_of_case()
    source = random_tensors(bench.folder / 'random.safetensors', seed)
    for family in (4, 6):
        with bench.lab('two-regions', LINE, seed=seed) as made:
            with under_way(bench, made, source, family, *PATIENT) as (server, client, output):
                server.signal(signal.SIGSTOP)
                time.sleep(1)
                expect(client.running() and not output.exists(), 'over before the stop')
                server.signal(signal.SIGCONT)
                arrives(bench, source, server, client, output)
            counters = made.finish()['east-west']
        check_line(counters, ())


@case
def line_whose_other_end_is_killed(bench):
    """Either end learns that the other one has gone, after the peer timeout, and no part of a file
    stays."""
    seed = seed_of_case()
    source = random_tensors(bench.folder / 'random.safetensors', seed)
    for family, victim in ((4, 'server'), (6, 'client')):
        with bench.lab('two-regions', LINE, seed=seed) as made:
            with under_way(bench, made, source, family,
                           rate=longest_of(family)) as (server, client, output):
                dead, left = (server, client) if victim == 'server' else (client, server)
                dead.popen.kill()
                start = time.monotonic()
                code = left.wait(6, f'learn that the {victim} has gone')
                print(f'the {victim} was given up after {time.monotonic() - start:.2f} s')
                expect(0 < code < 128, left.story())
                expect(re.search(r'lost|no longer|heard', left.everything), left.story())
                expect(not output.exists(), 'a part of a file was left')
            check_line(made.finish()['east-west'], ())


def sniffer(namespace, device):
    """Keeps all that passes a device, both ways, until it is asked."""
    with inside(namespace):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK,
                             socket.htons(ETH_P_ALL))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE, 256 << 20)
        sock.bind((device, 0))
    return sock


def datagrams(sock):
    """(source address, DSCP, ECN, bytes) of every UDP datagram kept."""
    with contextlib.suppress(BlockingIOError):
        while True:
            frame = sock.recv(65536)
            kind = struct.unpack_from('!H', frame, 12)[0]
            if kind == ETH_P_IP and frame[23] == UDP:
                source, marks, head = frame[26:30], frame[15], 14 + (frame[14] & 15) * 4
            elif kind == ETH_P_IPV6 and frame[20] == UDP:
                source, head = frame[22:38], 54
                marks = struct.unpack_from('!H', frame, 14)[0] >> 4 & 255
            else:
                continue
            family = socket.AF_INET if kind == ETH_P_IP else socket.AF_INET6
            yield socket.inet_ntop(family, source), marks >> 2, marks & 3, len(frame) - head - 8
    _, dropped = struct.unpack('II', sock.getsockopt(socket.SOL_PACKET, PACKET_STATISTICS, 8))
    expect(dropped == 0, f'the capture lacks {dropped} packets')


def check_classes(kept, sender, receiver):
    """Data is bulk, ACKs and heartbeats are control, the program's own messages critical; nothing
    is left without a class."""
    large = collections.Counter(dscp for source, dscp, _, size in kept
                                if source == sender and size > 1300)
    back = collections.Counter(dscp for source, dscp, _, _ in kept if source == receiver)
    strange = [packet for packet in kept if packet[1] not in (CS6, AF41, AF11)]
    print(f'  data by DSCP {dict(large)}, from the receiver {dict(back)}')
    expect(not strange, f'of no class: {strange[:5]} and so on, {len(strange)} in all')
    # The rest is probes for the path's MTU.
    expect(large[AF11] > 0.98 * sum(large.values()), f'data is not AF11: {large}')
    expect(AF11 not in back and back[CS6] > 0.8 * sum(back.values()), f'ACKs are not CS6: {back}')


@case
def line_sees_the_class_of_every_packet(bench):
    """Captured where packets leave each region and where they enter it: the same marks, both ways,
    and those of ECN beside them."""
    source = bench.sample(megabytes=8)
    for family in (4, 6):
        with bench.lab('two-regions', LINE) as made, contextlib.ExitStack() as stack:
            sniffers = [stack.enter_context(sniffer(made.namespace(region), device))
                        for region, device in (('east', 'to-west'), ('west', 'to-east'))]
            deliver(bench, made, source, family)
            time.sleep(0.1)  # the last ones are on their way
            counters = made.finish()['east-west']
            seen = [list(datagrams(sock)) for sock in sniffers]
        print(f'IPv{family}: {nonzero(counters["forward"])}')
        ends = made.address('east', family), made.address('west', family)
        for kept in seen:
            expect(len(kept) > 5000, f'only {len(kept)} packets')
            check_classes(kept, *ends)
        at_east, at_west = map(collections.Counter, seen)
        expect(at_east == at_west, 'marks changed on the line: '
               f'{at_east - at_west} became {at_west - at_east}')
