# SPDX-License-Identifier: Apache-2.0
"""Runs one end-to-end case. usage: run.py CASE LONGHAUL-PERF [ENGINE], or
run.py --list [engines|alone].
Exit status: 0 passed, 1 failed, 77 skipped for want of the capability it names."""

import signal
import sys
import time
from pathlib import Path

import harness
import bad_clients    # noqa: F401  (cases register themselves)
import bad_input      # noqa: F401
import certificates   # noqa: F401
import endings        # noqa: F401
import iperf_flags    # noqa: F401
import keys           # noqa: F401
import lab_tool       # noqa: F401
import processes      # noqa: F401
import secrecy        # noqa: F401
import strangers      # noqa: F401
import transfers      # noqa: F401
import wan_events     # noqa: F401
import wan_line       # noqa: F401
import wire_view      # noqa: F401

# What an engine could break: moving data in every way, ending early, what the line sees. How
# options and files are refused is the same whatever moves the datagrams.
ENGINE_CASES = {name for name, function in harness.CASES.items()
                if function.__module__ in ('transfers', 'endings', 'wire_view', 'wan_line',
                                           'wan_events')}
# What fills the line or the cores, or counts what reaches them, has the machine for itself. And a
# lab removes what others have left, whoever made that.
ALONE_CASES = {name for name, function in harness.CASES.items()
               if function.__module__ in ('transfers', 'wire_view', 'wan_line', 'wan_events',
                                          'strangers', 'bad_clients', 'lab_tool')}
LISTS = {'engines': ENGINE_CASES, 'alone': ALONE_CASES}


def main():
    if sys.argv[1] == '--list':
        chosen = LISTS[sys.argv[2]] if len(sys.argv) > 2 else harness.CASES
        print('\n'.join(name for name in harness.CASES if name in chosen))
        return 0
    name, binary = sys.argv[1], Path(sys.argv[2]).resolve()
    engine = sys.argv[3] if len(sys.argv) > 3 else None
    # meson ends a slow test by SIGTERM: leave through the clean-up all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f'{name}: terminated'))
    start = time.monotonic()
    try:
        with harness.Bench(binary, Path(__file__).resolve().parents[2], engine) as bench:
            harness.CASES[name](bench)
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
