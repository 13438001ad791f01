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
from wan_line import LINE, RATE, deliver, over_line, random_tensors, seed_of_case

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, UDP = 3, 0x0800, 0x86dd, 17
# Of Linux, without a name in Python.
SO_RCVBUFFORCE, SOL_PACKET, PACKET_STATISTICS = 33, 263, 6
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


def slowly(family):
    """A tenth of the line, so that a transfer of 24 MiB lasts two seconds."""
    return ('-b', '95M') if family == 4 else ('-b', '94M')


def tensors_of_case(bench):
    """A file of random tensors, and the seed of it and of the line."""
    seed = seed_of_case()
    return random_tensors(bench.folder / 'random.safetensors', seed), seed


@case
def line_that_is_gone_for_2_s(bench):
    """The outage begins while data flows, and both ends are told to wait longer than it lasts."""
    source, seed = tensors_of_case(bench)
    effects = LinkEffects(LINE, at=('1500ms:both:down=2s',))

    def use(made, family):
        start = time.monotonic()
        with under_way(bench, made, source, family, *PATIENT, rate=slowly(family)) as ends:
            arrives(bench, source, *ends)
        took = time.monotonic() - start
        print(f'IPv{family}: {took:.2f} s')
        expect(took > 3, f'over before the line was back: {took:.2f} s')

    over_line(bench, effects, seed, use, ('down_dropped',))


@case
def line_whose_mtu_shrinks_under_way(bench):
    """A black hole that opens after the search for the MTU has found 1500."""
    source, seed = tensors_of_case(bench)
    effects = LinkEffects(LINE, at=('1800ms:both:mtu=1400',))

    def use(made, family):
        with under_way(bench, made, source, family, rate=slowly(family)) as ends:
            arrives(bench, source, *ends)

    for counters in over_line(bench, effects, seed, use, ('too_big',)):
        # Data, and not just probes.
        expect(counters['forward']['too_big'] > 50, f'no data met the hole: {counters}')


@case
def line_to_a_receiver_that_is_stopped(bench):
    """Stopped for a second in full flow: what it did not read comes again."""
    source, seed = tensors_of_case(bench)

    def use(made, family):
        with under_way(bench, made, source, family, *PATIENT) as (server, client, output):
            server.signal(signal.SIGSTOP)
            time.sleep(1)
            expect(client.running() and not output.exists(), 'over before the stop')
            server.signal(signal.SIGCONT)
            arrives(bench, source, server, client, output)

    over_line(bench, LINE, seed, use)


@case
def line_whose_other_end_is_killed(bench):
    """Either end learns that the other one has gone, after the peer timeout, and no part of a file
    stays."""
    source, seed = tensors_of_case(bench)

    def use(made, family):
        with under_way(bench, made, source, family,
                       rate=slowly(family)) as (server, client, output):
            dead, left = (server, client) if family == 4 else (client, server)
            dead.popen.kill()
            start = time.monotonic()
            code = left.wait(6, f'learn that the {dead.name} has gone')
            print(f'the {dead.name} was given up after {time.monotonic() - start:.2f} s')
            expect(0 < code < 128, left.story())
            expect(re.search(r'lost|no longer|heard', left.everything), left.story())
            expect(not output.exists(), 'a part of a file was left')

    over_line(bench, LINE, seed, use)


def sniffer(namespace, device):
    """Keeps all that passes a device, both ways, until it is asked."""
    with inside(namespace):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK,
                             socket.htons(ETH_P_ALL))
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
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
    _, dropped = struct.unpack('II', sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    expect(dropped == 0, f'the capture lacks {dropped} packets')


def check_classes(kept, sender, receiver):
    """Data is bulk, ACKs and heartbeats are control, the program's own messages critical; nothing
    is left without a class."""
    large = collections.Counter(dscp for source, dscp, _, size in kept
                                if source == sender and size > 1000)
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
    seen = {}

    def use(made, family):
        with contextlib.ExitStack() as stack:
            sniffers = [stack.enter_context(sniffer(made.namespace(region), device))
                        for region, device in (('east', 'to-west'), ('west', 'to-east'))]
            deliver(bench, made, source, family)
            time.sleep(0.1)  # the last ones are on their way
            seen[family] = [list(datagrams(sock)) for sock in sniffers]
        for kept in seen[family]:
            expect(len(kept) > 5000, f'only {len(kept)} packets')
            check_classes(kept, made.address('east', family), made.address('west', family))

    over_line(bench, LINE, 1, use)
    # Once the emulator has said that it lost none of its own accord.
    for both in seen.values():
        at_east, at_west = map(collections.Counter, both)
        expect(at_east == at_west, 'marks changed on the line: '
               f'{at_east - at_west} became {at_west - at_east}')
