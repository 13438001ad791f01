# SPDX-License-Identifier: Apache-2.0
"""Completion against loss, one line a peer, one panel a round trip, as SVG. The same result file
gives the same bytes. usage: picture.py RESULT.json PICTURE.svg"""

import re
import subprocess
import sys
from pathlib import Path

import store
import tables

# Debian's packages belong to Debian's interpreter, which need not be the first one of PATH.
INTERPRETERS = (sys.executable, '/usr/bin/python3')

PERCENTILE = 'p50'
COLOURS = [f'tab:{name}' for name in ('blue', 'orange', 'green', 'red', 'purple', 'brown', 'pink',
                                      'gray', 'olive', 'cyan')] + ['black']    # one a peer
CEILING = 40    # of the axis: what is slower stands at its upper edge


def draw_apart(result, path):
    """Draws in a process of its own. True if it did; None if no interpreter has matplotlib."""
    for interpreter in INTERPRETERS:
        command = [interpreter, '-B', '-c', 'import matplotlib']
        if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return subprocess.run([interpreter, '-B', __file__, result, path],
                                  check=False).returncode == 0
    return None


def draw(document, path):
    """False if the result has no cell of plain loss to draw."""
    import matplotlib
    matplotlib.use('svg')
    matplotlib.rcParams['svg.hashsalt'] = 'longhaul'
    from matplotlib import pyplot

    panels = _panels(document)
    if not panels:
        return False
    figure, axes = pyplot.subplots(1, len(panels), sharey=True, squeeze=False,
                                   figsize=(4.2 * len(panels) + 2, 4.6))
    for axis, (rtt_ms, cells) in zip(axes[0], sorted(panels.items())):
        axis.set_prop_cycle(color=COLOURS)
        for peer, told in document['peers'].items():
            _line(axis, document, peer, told['label'], cells)
        axis.set_title(f'round trip {rtt_ms} ms')
        axis.set_xticks(range(len(cells)), [cell['loss_text'] for cell in cells])
        axis.set_xlabel('share of packets lost')
        axis.set_yscale('log')
        axis.set_ylim(0.95, CEILING)
        ticks = [1, 1.5, 2, 3, 5, 10, 20, 40]
        axis.set_yticks(ticks, [f'{tick:g}' for tick in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel('completion of a message, median ÷ (T* + D)')
    axes[0][-1].legend(loc='center left', bbox_to_anchor=(1.02, 0.5), frameon=False)
    size = document['settings']['message_bytes'] / 2**20
    figure.suptitle(f'{size:g} MiB messages at 1 Gbit/s; 1 is the limit of the link '
                    f'(commit {document["commit"][:10]})')
    figure.savefig(path, bbox_inches='tight', metadata={'Date': None, 'Creator': 'perf/compare'})
    pyplot.close(figure)
    return True


def _panels(document):
    """Cells of plain loss by round trip, in their order."""
    panels = {}
    for cell in document['cells']:
        match = re.fullmatch(r'rtt(\d+)-loss(.+)', cell['name'])
        if match:
            panels.setdefault(int(match[1]), []).append({**cell, 'loss_text': match[2]})
    return panels


def _line(axis, document, peer, label, cells):
    points = []
    for at, cell in enumerate(cells):
        found = tables.completion_of(document, cell, peer)
        if found:
            points.append((at, min(found.values[PERCENTILE], CEILING),
                           PERCENTILE in found.bounded))
    ours = peer.startswith('longhaul')
    style = {'linewidth': 2.2 if ours else 1.1, 'marker': 'o' if ours else '.',
             'linestyle': '--' if 'cubic' in peer else '-'}
    line, = axis.plot([x for x, _, _ in points], [y for _, y, _ in points], label=label, **style)
    # Arrows where a message was given up, so that the truth lies higher.
    axis.plot([x for x, _, bounded in points if bounded],
              [y for _, y, bounded in points if bounded], '^', color=line.get_color())


if __name__ == '__main__':
    sys.exit(0 if draw(store.read(Path(sys.argv[1])), sys.argv[2]) else 1)
