# SPDX-License-Identifier: Apache-2.0
"""Who is compared: names, programs, and what each is told."""

from dataclasses import dataclass

import cells
import limits

# More than a round trip with a full queue and jitter: what Longhaul sizes its tables for.
RTT_MAX = 4


@dataclass(frozen=True)
class Peer:
    name: str
    label: str
    program: str            # compare-PROGRAM
    words: tuple = ()       # the same at both ends
    security: str = ''      # Longhaul: psk, none
    knows_rate: bool = False
    package: str = ''       # Debian package its program is built with

    def arguments(self, cell, key):
        """Options of both ends on the link `cell`."""
        words = list(self.words)
        if self.program == 'longhaul':
            words += ['--rtt-max-ms', RTT_MAX * cell.rtt_ms, '--mtu', cells.MTU]
            words += ['--security', 'none'] if self.security == 'none' else ['--key', key]
        if self.knows_rate:
            words += ['--rate', limits.operator_rate(cell.rate_bps, cells.MTU)]
        return list(map(str, words))


def _tcp(controller, connections):
    return Peer(f'tcp-{controller}-{connections}', f'TCP {controller} x{connections}', 'tcp',
                ('--controller', controller, '--connections', connections))


PEERS = (
    Peer('longhaul-psk', 'Longhaul, rate given', 'longhaul', security='psk', knows_rate=True),
    Peer('longhaul-none', 'Longhaul, rate given, no security', 'longhaul', security='none',
         knows_rate=True),
    Peer('longhaul-cubic', 'Longhaul, no rate (cubic)', 'longhaul', security='psk'),
    *(_tcp(controller, connections) for controller in ('bbr', 'cubic')
      for connections in (1, 8, 16)),
    Peer('srt', 'SRT file mode', 'srt', package='libsrt-openssl-dev'),
    Peer('udt', 'UDT', 'udt', package='libudt-dev'),
)
