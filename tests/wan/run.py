# SPDX-License-Identifier: Apache-2.0
"""Runs one case of the emulator. usage: run.py CASE LONGHAUL-WAN PROBE, or run.py --list.
Exit status: 0 passed, 1 failed, 77 skipped for want of the capability it names."""

import signal
import sys
import time
from pathlib import Path

import world
from world import harness

import interfaces  # noqa: F401  (cases register themselves)
import refusals   # noqa: F401
import truth      # noqa: F401


def main():
    if sys.argv[1:] == ['--list']:
        print('\n'.join(harness.CASES))
        return 0
    name, wan, probe = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f'{name}: terminated'))
    start = time.monotonic()
    try:
        with world.World(wan, probe) as lab:
            harness.CASES[name](lab)
    except harness.Skip as missing:
        print(f'SKIP: {name} needs {missing}')
        return 77
    except harness.Failure as failure:
        print(f'FAILED: {name}: {failure}')
        return 1
    print(f'passed: {name} in {time.monotonic() - start:.1f} s')
    return 0


if __name__ == '__main__':
    sys.exit(main())
