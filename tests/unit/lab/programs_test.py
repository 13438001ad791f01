# SPDX-License-Identifier: Apache-2.0
"""Which build tree a lab takes its programs from, and where a command in a lab finds them."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'scripts'))
sys.dont_write_bytecode = True
from lab import programs  # noqa: E402
from lab.errors import LabError  # noqa: E402

WAN, PERF = 'apps/wan/longhaul-wan', 'apps/perf/longhaul-perf'


class Trees(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-lab-test-')
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.number = 0
        for patch in (mock.patch.object(programs, 'ROOT', self.root),
                      mock.patch.dict('os.environ', {'PATH': str(self.root / 'bin')}, clear=True)):
            patch.start()
            self.addCleanup(patch.stop)

    def program(self, path, says='longhaul-wan 1'):
        """Newer than all before it."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{says}"\n')
        path.chmod(0o755)
        self.number += 1
        os.utime(path, (self.number, self.number))
        return path

    def sanitize(self, tree):
        folder = self.root / tree / 'meson-info'
        folder.mkdir()
        (folder / 'intro-buildoptions.json').write_text(json.dumps(
            [{'name': 'b_sanitize', 'value': 'thread'}]))

    def test_a_tree_with_both_programs_goes_before_a_newer_one(self):
        both = self.program(f'build/{WAN}')
        self.program(f'build/{PERF}')
        self.program(f'build-perf/{WAN}')
        self.assertEqual(both, programs.find_emulator())

    def test_of_two_alike_the_newer_one_is_taken(self):
        self.program(f'build-b/{WAN}')
        newer = self.program(f'build-a/{WAN}')
        self.assertEqual(newer, programs.find_emulator())

    def test_a_tree_with_a_sanitizer_comes_last(self):
        sanitized = self.program(f'build-tsan/{WAN}')
        self.program(f'build-tsan/{PERF}')
        self.sanitize('build-tsan')
        self.assertEqual(sanitized, programs.find_emulator())
        installed = self.program('bin/longhaul-wan')
        self.assertEqual(installed, programs.find_emulator())
        plain = self.program(f'build/{WAN}')
        self.assertEqual(plain, programs.find_emulator())
        self.assertEqual(sanitized, programs.find_emulator(sanitized))

    def test_a_command_finds_the_programs_of_the_emulators_tree_first(self):
        self.program(f'build/{WAN}')
        self.program(f'build/{PERF}')
        emulator = self.program(f'build-perf/{WAN}')
        self.assertEqual([str(self.root / folder) for folder in
                          ('build-perf/apps/wan', 'bin', 'build/apps/wan', 'build/apps/perf')],
                         programs.search_path(emulator).split(':'))
        self.assertEqual('/bin', programs.search_path(Path('/bin/x')).split(':')[1])

    def test_what_is_missing_comes_with_how_to_build_it(self):
        with self.assertRaisesRegex(LabError, 'none is no program; name longhaul-wan: .*ninja'):
            programs.find_emulator(self.root / 'none')
        with self.assertRaisesRegex(LabError, 'longhaul-wan is not built: scripts/quickstart.*ninja'
                                              '.*--emulator'):
            programs.find_emulator()

    def test_another_program_is_not_taken_for_the_emulator(self):
        for says in ('ls (GNU coreutils) 9.1', 'longhaul-wanderer 1', ''):
            other = self.program('other', says)
            with self.assertRaisesRegex(LabError, 'other is not longhaul-wan; .*quickstart'):
                programs.find_emulator(other)


if __name__ == '__main__':
    unittest.main()
