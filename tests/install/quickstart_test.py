# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends scripts/quickstart with one line, whenever it comes, and leaves nothing behind. In a
tree of its own, where building is pretended. usage: quickstart_test.py SOURCE_ROOT"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path()
# Seconds after it can be interrupted at all: before the first child, while packages are looked for,
# in the set-up, in the build.
MOMENTS = (0, 0.03, 0.1, 0.25, 0.6, 1.2, 3)
# Takes its time, as meson and ninja do, and says so on a SIGINT that reaches it.
SLOW = '''#!/usr/bin/env python3
import pathlib, sys, time
if sys.argv[1] == 'setup':
    pathlib.Path('build-release').mkdir()
    pathlib.Path('build-release/build.ninja').touch()
    time.sleep(1)
else:
    time.sleep(60)
'''


def children_of(group):
    """Processes that are left of a process group."""
    found = []
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = stat.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != 'Z':
            found.append(stat.parent.name)
    return found


def wait_for_trap(process):
    """Until bash has read the first lines of the script, a signal simply ends it."""
    deadline = time.monotonic() + 10
    while True:
        status = Path(f'/proc/{process.pid}/status').read_text()
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith('SigCgt'))
        if int(caught, 16) >> (signal.SIGINT - 1) & 1:
            return
        assert time.monotonic() < deadline, 'it never sets a trap'
        time.sleep(0.001)


class Interrupted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-quickstart-test-')
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(SOURCE / 'scripts', self.root / 'scripts')
        # Packages are another test's; looking for them takes a moment all the same.
        install = self.root / 'scripts/install-deps'
        install.write_text('#!/bin/sh\nsleep 0.3\n')
        tools = self.root / 'tools'
        tools.mkdir()
        for name in ('meson', 'ninja'):
            (tools / name).write_text(SLOW)
            (tools / name).chmod(0o755)
        self.temporary = self.root / 'tmp'
        self.temporary.mkdir()
        self.environment = dict(os.environ, PATH=f'{tools}:{os.environ["PATH"]}',
                                TMPDIR=str(self.temporary))

    def interrupt(self, moment, whole_group):
        script = subprocess.Popen([self.root / 'scripts/quickstart'], env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, start_new_session=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        try:
            wait_for_trap(script)
            time.sleep(moment)
            started = time.monotonic()
            (os.killpg if whole_group else os.kill)(script.pid, signal.SIGINT)
            _, errors = script.communicate(timeout=10)
            self.assertLess(time.monotonic() - started, 5)
            self.assertEqual(errors, 'quickstart: interrupted\n')
            self.assertEqual(script.returncode, 130)
            self.assertEqual(children_of(script.pid), [])
            self.assertEqual(list(self.temporary.iterdir()), [])
        finally:
            if script.poll() is None:
                os.killpg(script.pid, signal.SIGKILL)
                script.communicate()
            shutil.rmtree(self.root / 'build-release', ignore_errors=True)

    def test_at_any_moment(self):
        for moment in MOMENTS:
            for whole_group in (True, False):
                with self.subTest(moment=moment, whole_group=whole_group):
                    self.interrupt(moment, whole_group)


if __name__ == '__main__':
    SOURCE = Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1])
