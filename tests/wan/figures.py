# SPDX-License-Identifier: Apache-2.0
"""What the truth cases measure: each function runs one probe over one line and returns figures with
the model's value and the interval they have to be in."""

import math

from world import percentile

MS = 1_000_000


def row(name, value, model, low, high, unit):
    """A figure beside what the model says, with the limits it has to keep."""
    return {'name': name, 'value': value, 'model': model, 'low': low, 'high': high, 'unit': unit,
            'holds': low <= value <= high}


def near(name, value, model, tolerance, unit):
    return row(name, value, model, model - tolerance, model + tolerance, unit)


def binomial(name, hits, count, share):
    """99.9 % interval of a share."""
    margin = 3.29 * math.sqrt(share * (1 - share) / count)
    return near(name, hits / count, share, margin, 'share')


def clean(emulator):
    """The emulator was not the bottleneck: otherwise no figure says anything of the line."""
    dropped = sum(emulator.counters['links'][0][way][what] for way in ('forward', 'backward')
                  for what in ('kernel_dropped', 'buffer_dropped', 'send_failed'))
    dropped += emulator.counters['host_backlog_dropped']
    return row('packets the emulator dropped', dropped, 0, 0, 0, 'packets')


def gaps(numbers, count):
    """Lengths of the runs of numbers that did not come."""
    lengths, last = [], -1
    for number in [*sorted(set(numbers)), count]:
        if number > last + 1:
            lengths.append(number - last - 1)
        last = number
    return lengths


def delay(world, family=4):
    """25 ms and 1 Gbit/s, at a tenth of the rate."""
    with world.emulator('--both', 'rate=1G,delay=25ms') as emulator:
        probe = world.probe(16_000, 1472 if family == 4 else 1452, 125_000, family)
    model = 25 + probe.wire_bytes * 8 / 1e6
    return [near('delay p50', percentile(probe.delays, 0.5) / MS, model, 0.1, 'ms'),
            near('delay p99', percentile(probe.delays, 0.99) / MS, model, 1, 'ms'),
            row('least delay', min(probe.delays) / MS, model, model, model + 1, 'ms'),
            row('packets', len(probe.numbers), 16_000, 16_000, 16_000, 'packets'), clean(emulator)]


def jitter(world, reorders):
    """0 to 4 ms on top of 10 ms, uniform when packets may overtake."""
    words = f'delay=10ms,jitter=4ms,jitter_reorders={str(reorders).lower()}'
    with world.emulator('--forward', words) as emulator:
        probe = world.probe(20_000, 200, 100_000)
    counted = emulator.counters['links'][0]['forward']['reordered']
    overtaken = sum(1 for a, b in zip(probe.numbers, probe.numbers[1:]) if b < a)
    # In order, a packet waits for the latest before it, so that few have the least delay.
    least = 10.2 if reorders else 14
    rows = [row('least delay', min(probe.delays) / MS, 10, 10, least, 'ms'),
            near('delay p99', percentile(probe.delays, 0.99) / MS, 14 - 0.04, 1, 'ms'),
            row('packets', len(probe.numbers), 20_000, 20_000, 20_000, 'packets'), clean(emulator)]
    if not reorders:
        return [*rows, row('packets out of order', overtaken, 0, 0, 0, 'packets'),
                row('reordered by the model', counted, 0, 0, 0, 'packets')]
    return [*rows, near('delay p50', percentile(probe.delays, 0.5) / MS, 12, 0.1 + 0.03, 'ms'),
            near('delay p25', percentile(probe.delays, 0.25) / MS, 11, 0.1 + 0.03, 'ms'),
            row('packets out of order', overtaken, counted, 1, counted, 'packets')]


def loss(world, share):
    count = 150_000
    with world.emulator('--seed', '7', '--forward', f'delay=5ms,loss={share}') as emulator:
        probe = world.probe(count, 100, 18_000)
    lost = count - len(set(probe.numbers))
    counted = emulator.counters['links'][0]['forward']['lost']
    return [binomial(f'loss {share}', lost, count, share),
            row('lost as counted', lost, counted, counted, counted, 'packets'), clean(emulator)]


def bursts(world):
    """Bursts of 10 packets that lose 4 % of all."""
    count, share, mean = 150_000, 0.04, 10
    words = f'delay=5ms,burst_loss={share},burst_length={mean}'
    with world.emulator('--seed', '7', '--forward', words) as emulator:
        probe = world.probe(count, 100, 18_000)
    lengths = gaps(probe.numbers, count)
    lost = sum(lengths)
    # Packets of a burst fall together: the share varies as that of count / mean trials, twice.
    margin = 3.29 * math.sqrt(share * (1 - share) / count * (2 * mean - 1))
    return [near('mean burst', lost / len(lengths), mean, mean * 0.1, 'packets'),
            near('loss in bursts', lost / count, share, margin, 'share'), clean(emulator)]


def queue(world):
    """Twice the rate into a queue of 250 KB."""
    bits, queue_bytes, count = 100e6, 250_000, 24_000
    with world.emulator('--forward', f'rate=100M,delay=5ms,queue={queue_bytes}') as emulator:
        probe = world.probe(count, 1472, int(1538 * 8 / 2 / bits * 1e9))
    counted = emulator.counters['links'][0]['forward']
    longest = (percentile(probe.delays, 0.9) / 1e9 - 5e-3) * bits / 8 - probe.wire_bytes
    dropped = count - len(probe.numbers)
    return [near('queue in bytes', longest, queue_bytes, queue_bytes * 0.1, 'bytes'),
            row('most bytes that waited', counted['queue_bytes_max'], queue_bytes,
                queue_bytes - probe.wire_bytes, queue_bytes, 'bytes'),
            near('packets dropped', dropped, counted['queue_dropped'],
                 counted['offered'] - count, 'packets'), clean(emulator)]


def rate(world, text, bits):
    """A full line, told by the arrivals. The first quarter builds a queue, so that the line stays
    full when the sender is held up."""
    count = int(1.6 * bits / 8 / 1538)
    with world.emulator('--forward', f'rate={text},delay=5ms') as emulator:
        probe = world.probe(count, 1472, int(1538 * 8 / 1.4 / bits * 1e9))
    arrivals = probe.arrivals[len(probe.arrivals) // 4:]
    measured = (len(arrivals) - 1) * probe.wire_bytes * 8 / (arrivals[-1] - arrivals[0]) * 1e3
    return [near(f'rate {text}', measured, bits / 1e6, bits / 1e6 * 0.005, 'Mbit/s'),
            row('packets', len(probe.arrivals), count, count, count, 'packets'), clean(emulator)]


def policer(world):
    """100 Mbit/s through a token bucket of 20 Mbit/s and 100 KB."""
    bits, burst, count = 20e6, 100_000, 24_000
    words = 'delay=5ms,policer_rate=20M,policer_burst=100000'
    with world.emulator('--forward', words) as emulator:
        probe = world.probe(count, 1472, int(1538 * 8 / 100e6 * 1e9))
    passed = len(probe.numbers) * probe.wire_bytes
    model = burst + bits / 8 * probe.seconds
    first = gaps(probe.numbers, count)
    alone = min(set(range(count)) - set(probe.numbers)) if first else count
    at_once = burst / (1 - bits / 100e6) / probe.wire_bytes
    return [near('bytes the policer lets through', passed, model, model * 0.005, 'bytes'),
            near('packets before the first drop', alone, at_once, at_once * 0.1, 'packets'),
            near('delay p50', percentile(probe.delays, 0.5) / MS, 5, 0.1, 'ms'), clean(emulator)]


def marks(world, family):
    """RED with ECN at twice the rate: what is ECN-capable is marked, the queue alone drops it."""
    words = 'rate=50M,delay=5ms,queue=400000,red_min=50000,red_max=150000,ecn=true'
    with world.emulator('--forward', words) as emulator:
        probe = world.probe(8_000, 1440, 120_000, family, tos=2)
    counted = emulator.counters['links'][0]['forward']
    marked = sum(1 for ecn in probe.ecn if ecn == 3)
    return [row('packets with CE', marked, counted['ecn_marked'], counted['ecn_marked'],
                counted['ecn_marked'], 'packets'),
            row('marked at all', marked, len(probe.ecn), 1, len(probe.ecn), 'packets'),
            # The kernel says a word of its own now and then, which is not ECN-capable.
            row('RED drops', counted['red_dropped'], 0, 0, counted['offered'] - 8_000,
                'packets'), clean(emulator)]


def damage(world):
    """Corrupted packets fail their checksum or arrive elsewhere; twins have one number."""
    count = 50_000
    words = 'delay=5ms,corrupt=2%,duplicate=3%'
    with world.emulator('--seed', '9', '--forward', words) as emulator:
        probe = world.probe(count, 400, 20_000)
    counted = emulator.counters['links'][0]['forward']
    missing = count - len(set(probe.numbers))
    twins = len(probe.numbers) - len(set(probe.numbers))
    # Two flips may cancel in a checksum of 16-bit sums.
    return [binomial('corrupted', counted['corrupted'], count, 0.02),
            binomial('duplicated', counted['duplicated'], count, 0.03),
            row('missing', missing, counted['corrupted'], counted['corrupted'] * 0.98,
                counted['corrupted'], 'packets'),
            near('twins that came', twins, counted['duplicated'] * 0.98,
                 counted['duplicated'] * 0.02, 'packets'), clean(emulator)]


OUTAGE = [(1, 'forward', 'down for 500 ms'), (1.5, 'forward', 'up again'),
          (2, 'forward', 'delay=20ms')]


def outage(world):
    """Half a second of nothing, one way only, and a slower line from then on."""
    with world.emulator('--both', 'delay=5ms', '--at', '1s:forward:down=500ms',
                        '--at', '2s:forward:delay=20ms') as emulator:
        probe = world.probe(30_000, 100, 100_000, idle_ms=1000)
        back = world.probe(2_000, 100, 100_000, backward=True)
    told = [(event['seconds'], event['direction'], event['what'])
            for event in emulator.counters['events']]
    lines = [f'[{at:7.1f} s] w0-w1 {way}: {what}' in emulator.errors for at, way, what in told]
    longest = max(gaps(probe.numbers, 30_000)) * 0.1
    return [near('outage', longest, 500, 5, 'ms'),
            near('delay before', percentile(probe.delays[:2000], 0.5) / MS, 5, 0.1, 'ms'),
            near('delay after the change', percentile(probe.delays[-2000:], 0.5) / MS, 20, 0.1,
                 'ms'),
            near('delay the other way', percentile(back.delays, 0.5) / MS, 5, 0.1, 'ms'),
            row('other way', len(back.numbers), 2000, 2000, 2000, 'packets'),
            row('events told', int(told == OUTAGE and all(lines)), 1, 1, 1, ''), clean(emulator)]


def black_hole(world):
    with world.emulator('--forward', 'delay=5ms,mtu=1400') as emulator:
        small = world.probe(200, 1372, 100_000)
        large = world.probe(200, 1372, 100_000, backward=True)
        gone = world.probe(200, 1373, 100_000, idle_ms=200, family=4)
    counted = emulator.counters['links'][0]['forward']['too_big']
    return [row('packets that fit', len(small.numbers), 200, 200, 200, 'packets'),
            row('packets the other way', len(large.numbers), 200, 200, 200, 'packets'),
            row('packets too large', len(gone.numbers), 0, 0, 0, 'packets'),
            row('vanished as counted', counted, 200, 200, 200, 'packets'), clean(emulator)]


def capacity(world, bits, seconds=2.0):
    """Packets of 1500 bytes one way, all of which have to arrive. `bits` are on the wire."""
    count = int(seconds * bits / 8 / 1538)
    with world.emulator('--forward', 'delay=5ms') as emulator:
        probe = world.probe(count, 1472, int(1538 * 8 / bits * 1e9))
    forward = emulator.counters['links'][0]['forward']
    offered = probe.sent * probe.wire_bytes * 8 / probe.seconds / 1e6
    return [row('offered', offered, bits / 1e6, bits / 1e6 * 0.98, bits / 1e6 * 1.02, 'Mbit/s'),
            row('packets that arrived', len(probe.numbers), count, count, count, 'packets'),
            row('sent over 1 ms late', forward['late_over_1ms'], 0, 0, count / 100, 'packets'),
            row('processor share', emulator.counters['cpu_seconds'] / probe.seconds, 1, 0, 1,
                'cores'), clean(emulator)]
