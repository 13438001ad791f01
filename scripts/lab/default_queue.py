# SPDX-License-Identifier: Apache-2.0
"""The queue of a line for which the user has named none: a bandwidth-delay product where there is
one. A schedule may take rate or delay away, and each direction has its own."""

import re

from .effects import WAYS, LinkEffects, merge, parse, parse_change

PRODUCT = '1bdp'
# Where nothing is on its way: some 170 whole packets.
WITHOUT_DELAY = '256K'
# Nothing waits for no rate; the emulator refuses any other length then.
WITHOUT_RATE = 'unlimited'
ZERO = re.compile(r'0*\.?0*(s|ms|us)?')
SECONDS = {'s': 1, 'ms': 1e-3, 'us': 1e-6}


def fitting(effects):
    if effects.get('rate', 'unlimited') == 'unlimited':
        return WITHOUT_RATE
    return WITHOUT_DELAY if ZERO.fullmatch(effects.get('delay', '0')) else PRODUCT


def fill(link):
    """LinkEffects with a queue wherever there is none."""
    lines = {way: parse(merge(link.both, getattr(link, way))) for way in WAYS}
    free = {way: effects for way, effects in lines.items() if 'queue' not in effects}
    filled = LinkEffects(link.both, link.forward, link.backward)
    queues = {way: fitting(effects) for way, effects in free.items()}
    for direction, queue in _together(queues, WAYS):
        if queue not in (None, WITHOUT_RATE):
            filled = filled.plus(direction, f'queue={queue}')
    for change in sorted(link.at, key=_moment):
        for told in _changed(free, *parse_change(change)):
            filled = filled.plus('at', told)
    return filled


def _changed(free, at, direction, text):
    """One change, with the queue that it makes necessary; as two if the directions differ."""
    effects = parse(text)
    ways = WAYS if direction == 'both' else (direction,)
    queues = {}
    for way in set(ways) & set(free):
        if 'queue' in effects:
            del free[way]
            continue
        before = fitting(free[way])
        free[way].update(effects)
        if fitting(free[way]) != before:
            queues[way] = fitting(free[way])
    return [f'{at}:{each}:{text}' + (f',queue={queue}' if queue else '')
            for each, queue in _together(queues, ways)]


def _together(queues, ways):
    """(direction, queue) for each of `ways`, or once for both if they are alike."""
    found = [(way, queues.get(way)) for way in ways]
    if len(found) == len(WAYS) and found[0][1] == found[1][1]:
        return [('both', found[0][1])]
    return found


def _moment(change):
    """Seconds; what is no time the emulator refuses."""
    found = re.fullmatch(r'([\d.]+)(s|ms|us)', parse_change(change)[0])
    try:
        return float(found[1]) * SECONDS[found[2]] if found else 0
    except ValueError:
        return 0
