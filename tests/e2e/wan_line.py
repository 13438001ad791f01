# SPDX-License-Identifier: Apache-2.0
"""Exact delivery over an emulated line of 1 Gbit/s and 50 ms round trip, whatever it does to
packets. A case sends a model's file and one of 64 random tensors over IPv4 and over IPv6, and
asks the emulator whether the line was what it should have been.

    longhaul-perf -c ── east ── veth ── longhaul-wan ── veth ── west ── longhaul-perf -s
"""

import json
import os
import random
import struct
from dataclasses import dataclass

from lab import LinkEffects

from harness import Failure, case, digest_ok, expect
from transfers import send_file

LINE = 'rate=1G,delay=25ms,queue=1bdp'
# UDP payload a second, in whole datagrams: 1500 bytes of IP take 1538 of the wire, and hold 1472 of
# IPv4's payload or 1452 of IPv6's.
RATE = {4: ('-b', '950M'), 6: ('-b', '940M')}
TENSORS = 64
TENSORS_BYTES = 24 << 20


@dataclass(frozen=True)
class Condition:
    """Effects on top of LINE; `shown` are the counters of the way data goes that prove it."""

    name: str
    effects: LinkEffects
    shown: tuple = ()


CONDITIONS = (
    Condition('without_trouble', LinkEffects()),
    Condition('with_loss_of_a_thousandth', LinkEffects('loss=0.1%'), ('lost',)),
    Condition('with_loss_of_a_hundredth', LinkEffects('loss=1%'), ('lost',)),
    Condition('with_bursts_of_50', LinkEffects('burst_loss=2%,burst_length=50'), ('lost',)),
    Condition('with_reordering_by_5_ms', LinkEffects('jitter=5ms,jitter_reorders=true'),
              ('reordered',)),
    Condition('with_corruption_of_a_fiftieth', LinkEffects('corrupt=2%'), ('corrupted',)),
    Condition('with_mtu_black_hole', LinkEffects('mtu=1400'), ('too_big',)),
    Condition('with_policer', LinkEffects(forward='policer_rate=900M,policer_burst=1000000'),
              ('policed',)),
)
# What no other condition than its own may show.
TROUBLE = ('too_big', 'policed', 'red_dropped', 'down_dropped', 'lost', 'corrupted', 'duplicated',
           'reordered', 'super_frames', 'no_checksum')
OVERWHELMED = ('kernel_dropped', 'buffer_dropped', 'send_failed')


def seed_of_case():
    """A new one each time, unless LONGHAUL_SEED says which; printed, so that it can be."""
    seed = int(os.environ.get('LONGHAUL_SEED') or random.SystemRandom().randrange(1 << 32))
    print(f'LONGHAUL_SEED={seed}')
    return seed


def random_sizes(draw):
    """Of 64 tensors: one byte, two odd ones, the rest of all magnitudes."""
    sizes = [1, 12345, 100003] + [int(2 ** draw.uniform(0, 22)) for _ in range(TENSORS - 3)]
    scale = (TENSORS_BYTES - sum(sizes[:3])) / sum(sizes[3:])
    sizes[3:] = [max(1, int(size * scale)) for size in sizes[3:]]
    draw.shuffle(sizes)
    return sizes


def random_tensors(path, seed):
    """A safetensors file of 64 tensors with random sizes and random bytes."""
    draw = random.Random(seed)
    header, offset = {}, 0
    for number, size in enumerate(random_sizes(draw)):
        header[f'random.{number}'] = {'dtype': 'U8', 'shape': [size],
                                      'data_offsets': [offset, offset + size]}
        offset += size
    words = json.dumps(header).encode()
    path.write_bytes(struct.pack('<Q', len(words)) + words + draw.randbytes(offset))
    return path


def over_line(bench, effects, seed, use, shown=()):
    """Calls `use(lab, family)` for IPv4 and for IPv6, each on a new line, and checks what that did;
    the counters of both."""
    return [over_line_once(bench, effects, seed, lambda made, family=family: use(made, family),
                           shown) for family in (4, 6)]


def over_line_once(bench, effects, seed, use, shown):
    """On a machine too busy for the emulator, which then loses packets of its own accord, once
    more, and a third time."""
    for _ in range(3):
        with bench.lab('two-regions', effects, seed=seed) as made:
            use(made)
            counters = made.finish()['east-west']
        forward, backward = counters['forward'], counters['backward']
        print(f'  forward {nonzero(forward)}; backward {nonzero(backward)}')
        if not any(direction[name] for direction in (forward, backward) for name in OVERWHELMED):
            check_line(counters, shown)
            return counters
        print('  the machine was too busy for the emulator: again')
    raise Failure(f'the emulator itself lost packets, three times: {counters}')


def check_line(counters, shown):
    """The line did what it was told and nothing else."""
    forward, backward = counters['forward'], counters['backward']
    for name in shown:
        expect(forward[name] > 0, f'the line shows no {name}: {counters}')
    for direction in (forward, backward):
        expect(direction['delivered'] > 0, f'nothing came out: {counters}')
        wrong = [name for name in TROUBLE if direction[name] and name not in shown]
        expect(not wrong, f'the line did what it was not told: {wrong}: {counters}')


def nonzero(counters):
    return ', '.join(f'{name} {count}' for name, count in counters.items() if count)


def deliver(bench, made, source, family):
    """A file from east to west, compared."""
    _, client = send_file(bench, source, host=made.address('west', family), client=RATE[family],
                          ends=(made.prefix('west'), made.prefix('east')), seconds=40)
    digest_ok(client)
    (bench.folder / 'received.safetensors').unlink()


def deliver_all(bench, condition):
    seed = seed_of_case()
    tensors = random_tensors(bench.folder / 'random.safetensors', seed)
    files = (bench.real_file(), tensors)
    effects = condition.effects.under(LINE)
    least = sum(source.stat().st_size for source in files)

    def use(made, family):
        for source in files:
            deliver(bench, made, source, family)

    for counters in over_line(bench, effects, seed, use, condition.shown):
        expect(counters['forward']['wire_bytes'] > least, f'{least} bytes did not pass: {counters}')


def register(condition):
    def over_the_line(bench):
        deliver_all(bench, condition)
    over_the_line.__name__ = f'line_{condition.name}'
    case(over_the_line)


for each in CONDITIONS:
    register(each)
