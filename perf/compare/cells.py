# SPDX-License-Identifier: Apache-2.0
"""The links on which the peers are compared."""

import sys
from dataclasses import dataclass
from pathlib import Path

import limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'scripts'))
from lab import LinkEffects  # noqa: E402

RATE_BPS = 1_000_000_000
MTU = 1500
RTTS_MS = (10, 50, 100)
LOSSES = ('0', '1e-4', '1e-3', '1e-2', '2e-2')


@dataclass(frozen=True)
class Cell:
    """One link. Loss, bursts and policing are in the direction of the data, jitter in both."""

    name: str
    label: str
    rtt_ms: int
    loss: float = 0            # share of packets that do not arrive, for T*
    both: str = ''             # EFFECTS on top of rate, delay and queue
    forward: str = ''
    rate_bps: int = RATE_BPS   # what the path carries

    @property
    def one_way(self):
        return self.rtt_ms / 2000

    def effects(self):
        usual = f'rate={RATE_BPS},delay={self.rtt_ms * 500}us,queue=1bdp'
        return LinkEffects(both=','.join(filter(None, (usual, self.both))), forward=self.forward)

    def answer_limit(self, size):
        return limits.answer_limit(size, self.rate_bps, self.one_way, self.loss, MTU)

    def goodput_limit(self):
        return limits.goodput_limit(self.rate_bps, self.loss, MTU)

    def buffer(self):
        return limits.windows(self.rate_bps, self.rtt_ms / 1000)


def _random_loss(rtt_ms, loss):
    return Cell(f'rtt{rtt_ms}-loss{loss}', f'{rtt_ms} ms, loss {loss}', rtt_ms, float(loss),
                forward=f'loss={float(loss):.6f}' if float(loss) else '')


def full():
    # A policer that drops what exceeds half the line, as leased capacity on a faster port is.
    policed = RATE_BPS // 2
    return [*(_random_loss(rtt, loss) for rtt in RTTS_MS for loss in LOSSES),
            Cell('rtt50-bursts', '50 ms, bursts of 50 packets, 1e-3 of all', 50, 1e-3,
                 forward='burst_loss=0.001,burst_length=50'),
            Cell('rtt50-jitter', '50 ms, 5 ms jitter that reorders', 50,
                 both='jitter=5ms,jitter_reorders=true'),
            Cell('rtt50-policer', '50 ms, policed to 500 Mbit/s', 50, rate_bps=policed,
                 forward=f'policer_rate={policed},policer_burst={policed // 8 // 100}')]


QUICK = ('rtt50-loss0', 'rtt50-loss1e-3')
