# SPDX-License-Identifier: Apache-2.0
"""What a lab is and how it fares, as lines for a person or as plain data."""

import os
import re
import time

from . import called, network
from .errors import LabError


def spent(seconds):
    """`3 min 20 s`"""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, 'h'), (minutes, 'min'), (seconds, 's')]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return ' '.join(f'{count} {unit}' for count, unit in parts[:2])


def counted(key, count):
    """`lost 1,000`, `late_max 1.5 ms`"""
    if key.endswith('_ns'):
        return f'{key.removesuffix("_ns")} {count / 1e6:,.3f} ms'
    return f'{key} {count:,}'


def in_lab_words(text, topology, name):
    """What the emulator says of its interfaces, for those who know only the ends in the regions."""
    for link in topology.links:
        for region in link.ends:
            near, far = link.emulator_interface(region), link.interface(region)
            text = text.replace(f'at the other end of {near}: ethtool -K IFACE',
                                f'{called.on(name, "run")} {region} ethtool -K {far}')
            text = re.sub(rf'\binterface {near}\b', f'the other end of {far} in {region}', text)
    return text


def describe(lab):
    """Plain data of one lab."""
    topology = lab.topology
    inside = lab.network.inhabitants()
    try:
        counters, report = lab.counters(), lab.report()
    except LabError:
        counters, report = {}, {}

    def told(text):
        return in_lab_words(text, topology, lab.name)
    return {
        'name': lab.name, 'topology': topology.name, 'mtu': lab.mtu,
        'scenario': lab.scenario and os.path.abspath(lab.scenario),
        'up_seconds': lab.since and round(time.time() - lab.since, 1),
        'emulator': {'running': lab.running(), 'binary': str(lab.binary),
                     'pid': lab.emulator.who and lab.emulator.who[0],
                     'fate': None if lab.running() else lab.emulator.fate(),
                     'last_words': told(lab.emulator.last_words()),
                     'was_bottleneck': report.get('bottleneck_reasons', []),
                     'sender_faults': list(map(told, report.get('sender_faults', [])))},
        'remedy': lab.again(),
        'regions': {region: {'namespace': lab.namespace(region),
                             'exists': network.exists(lab.namespace(region)),
                             'ipv4': lab.address(region, 4), 'ipv6': lab.address(region, 6),
                             'processes': len(inside.get(lab.namespace(region), []))}
                    for region in topology.regions},
        'links': [{'name': link.name, 'ends': list(link.ends),
                   'interfaces': [link.interface(region) for region in link.ends],
                   'effects': ' '.join(lab.effects[link.name].words()) or 'none',
                   'counters': counters.get(link.name)} for link in topology.links]}


def lines(told):
    """For a person; counters that are zero are left out."""
    since = f', up for {spent(told["up_seconds"])}' if told['up_seconds'] else ''
    yield f'lab {told["name"]}: {told["topology"]}{since}, MTU {told["mtu"]}'
    emulator = told['emulator']
    if emulator['running']:
        yield f'  emulator: running, process {emulator["pid"]} ({emulator["binary"]})'
    else:
        yield (f'  emulator: DEAD ({emulator["fate"]}), so nothing passes; {told["remedy"]}')
        yield f'            its last words: {emulator["last_words"] or "none"}'
    for reason in emulator['was_bottleneck']:
        yield f'    it, not the line, was the bottleneck: {reason}'
    for fault in emulator['sender_faults']:
        yield f'    {fault}'
    for name, region in told['regions'].items():
        count = region['processes']
        yield (f'  {name}: {region["ipv4"]} {region["ipv6"]}, namespace {region["namespace"]}'
               + ('' if region['exists'] else f' GONE; {told["remedy"]}')
               + (f', {count} process{"es" if count > 1 else ""}' if count else ''))
    if told['scenario']:
        yield f'  scenario: {told["scenario"]}'
    for link in told['links']:
        one, other = link['ends']
        yield (f'  link {link["name"]} ({one} {link["interfaces"][0]}, {other} '
               f'{link["interfaces"][1]}): {link["effects"]}')
        for direction, way in (('forward', f'{one} to {other}'), ('backward', f'{other} to {one}')):
            counters = (link['counters'] or {}).get(direction)
            if counters is not None:
                some = [counted(key, count) for key, count in counters.items() if count]
                yield f'    {way}: {", ".join(some) or "nothing yet"}'
