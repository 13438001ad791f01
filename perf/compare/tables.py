# SPDX-License-Identifier: Apache-2.0
"""What the runs of a result file say, cell by cell and peer by peer, and as rows of tables."""

import statistics
from dataclasses import dataclass

import limits

OURS = 'longhaul-psk'
# Marks behind a figure.
EMULATOR = '†'   # the emulator, not the link or the peer, was the bottleneck
MISSING = '–'


@dataclass(frozen=True)
class Completion:
    """Of messages, as multiples of T* + D."""

    count: int
    values: dict          # p50, p90, max
    bounded: tuple = ()   # which of them are lower bounds: a message was given up

    def text(self):
        parts = [f'{">" if name in self.bounded else ""}{value:.2f}'
                 for name, value in self.values.items()]
        return ' / '.join(parts)


def _runs(document, cell, peer, mode):
    return [run for run in document['runs']
            if (run['cell'], run['peer'], run['mode']) == (cell, peer, mode)]


def completion(runs, limit_ms):
    """Of the messages of all runs; None if none was even begun. One given up counts with the age
    it had: what it would have taken is more."""
    times = [ms for run in runs for ms in run.get('completions_ms', ())]
    given_up = [run['unfinished_ms'] for run in runs if run.get('unfinished_ms') is not None]
    times += given_up
    if not times:
        return None
    values = {'p50': limits.percentile(times, 0.5), 'p90': limits.percentile(times, 0.9),
              'max': max(times)}
    bounded = tuple(name for name, value in values.items()
                    if given_up and value >= min(given_up))
    return Completion(len(times), {name: value / limit_ms for name, value in values.items()},
                      bounded)


def completion_of(document, cell, peer):
    return completion(_runs(document, cell['name'], peer, 'message'), cell['answer_limit_ms'])


def _marked(text, runs):
    slow = any(run['emulator']['bottleneck'] for run in runs)
    return f'{text} {EMULATOR}' if slow else text


def _failure(runs):
    """Of runs none of which gave a figure."""
    return 'hung' if any('hung' in run.get('failure', '') for run in runs) else 'failed'


def completion_text(document, cell, peer):
    runs = _runs(document, cell['name'], peer, 'message')
    if not runs:
        return MISSING
    found = completion_of(document, cell, peer)
    if found is None:
        return _failure(runs)
    asked = document['settings']['messages']
    count = '' if found.count >= asked else f' ({found.count})'
    return _marked(found.text() + count, runs)


def _streams(document, cell, peer):
    runs = _runs(document, cell['name'], peer, 'stream')
    return runs, [run for run in runs if 'failure' not in run]


def goodput_share(document, cell, peer):
    """Median over the runs, as a share of what the link carries; None without any."""
    good = _streams(document, cell, peer)[1]
    if not good:
        return None
    return statistics.median(run['goodput_bps'] for run in good) / cell['goodput_limit_bps']


def goodput_text(document, cell, peer):
    runs, good = _streams(document, cell, peer)
    if not runs:
        return MISSING
    if not good:
        return _failure(runs)
    failed = f' ({len(runs) - len(good)} of {len(runs)} failed)' if len(good) < len(runs) else ''
    return _marked(f'{goodput_share(document, cell, peer):.3f}' + failed, runs)


def cpu_text(document, cell, peer):
    """Seconds a gigabyte: sender, receiver, and the whole machine with the emulator."""
    good = [run for run in _streams(document, cell, peer)[1] if 'cpu_s_per_gb' in run]
    if not good:
        return MISSING

    def median(side):
        values = [run['cpu_s_per_gb'][side] for run in good]
        known = [value for value in values if value is not None]
        return f'{statistics.median(known):.2f}' if known else MISSING

    return ' / '.join(median(side) for side in ('sender', 'receiver', 'machine'))


QUANTITIES = {'completion': completion_text, 'goodput': goodput_text, 'cpu': cpu_text}


def of(document):
    """{quantity: rows}, a row a cell, a column a peer: what scripts/readme-tables reads."""
    return {quantity: [{'cell': cell['label'],
                        **{peer: text(document, cell, peer) for peer in document['peers']}}
                       for cell in document['cells']]
            for quantity, text in QUANTITIES.items()}


def versions(document):
    """A row a peer: what it was and how it was set."""
    rows = []
    for peer, told in document['peers'].items():
        about = next((run['about'] for run in document['runs']
                      if run['peer'] == peer and 'about' in run), None)
        settings = ', '.join(f'{key} {value}' for key, value in about['settings'].items()
                             if value != '') if about else ''
        rows.append({'peer': told['label'], 'version': about['version'] if about else MISSING,
                     'settings': settings})
    return rows


def comparable(document):
    """Longhaul with a given rate and somebody else were measured on one link."""
    return any(completion_of(document, cell, OURS) and
               any(completion_of(document, cell, peer) for peer in _others(document, OURS))
               for cell in document['cells'])


def worse(document):
    """Where Longhaul with a given rate does worse than somebody, in words. Differences below a
    twentieth say nothing on one machine."""
    lines = []
    for cell in document['cells']:
        lines += (_worse_completion(document, cell, OURS) + _worse_goodput(document, cell, OURS)
                  + _worse_cpu(document, cell, OURS))
    return [{'cell': cell, 'what': what} for cell, what in lines]


def _others(document, ours):
    return [peer for peer in document['peers'] if not peer.startswith('longhaul')
            and ours in document['peers']]


def _worse_completion(document, cell, ours):
    found = {peer: completion_of(document, cell, peer)
             for peer in [ours, *_others(document, ours)]}
    mine = found.pop(ours, None)
    if mine is None:
        return []
    lines = []
    for name in ('p50', 'p90', 'max'):
        better = {peer: one for peer, one in found.items() if one and name not in one.bounded
                  and one.values[name] * 1.05 < mine.values[name]}
        if better:
            best = min(better, key=lambda peer: better[peer].values[name])
            lines.append((cell['label'],
                          f'completion {name}: {mine.values[name]:.2f}, '
                          f'{document["peers"][best]["label"]} {better[best].values[name]:.2f}'))
    return lines


def _worse_goodput(document, cell, ours):
    mine = goodput_share(document, cell, ours)
    shares = {peer: goodput_share(document, cell, peer) for peer in _others(document, ours)}
    known = {peer: share for peer, share in shares.items() if share is not None}
    if mine is None or not known:
        return []
    best = max(known, key=known.get)
    if known[best] < mine * 1.05:
        return []
    return [(cell['label'], f'goodput: {mine:.3f}, {document["peers"][best]["label"]} '
             f'{known[best]:.3f}')]


def machine_cpu(document, cell, peer):
    """Seconds a gigabyte of the whole machine, median over the runs; None without any."""
    known = [run['cpu_s_per_gb']['machine'] for run in _streams(document, cell, peer)[1]
             if 'cpu_s_per_gb' in run]
    return statistics.median(known) if known else None


def _worse_cpu(document, cell, ours):
    mine = machine_cpu(document, cell, ours)
    costs = {peer: machine_cpu(document, cell, peer) for peer in _others(document, ours)}
    known = {peer: cost for peer, cost in costs.items() if cost is not None}
    if mine is None or not known:
        return []
    best = min(known, key=known.get)
    if mine < known[best] * 1.05:
        return []
    return [(cell['label'], f'CPU seconds a GB of the machine: {mine:.1f}, '
             f'{document["peers"][best]["label"]} {known[best]:.1f}')]
