# SPDX-License-Identifier: Apache-2.0
"""Programs of the first release go on working: nothing its header declared has gone or changed, the
library exports what the header of today declares and nothing else, and first_release.c runs.
usage: abi_test.py LIBRARY"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import abi

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = Path()


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-abi-')
        self.addCleanup(folder.cleanup)
        self.scratch = Path(folder.name)


class Today(Scratch):
    then = abi.Interface.read(HERE / 'abi-1')
    now = abi.Interface.read(ROOT / 'include')

    def test_headers_were_understood(self):
        for interface in (self.then, self.now):
            self.assertGreaterEqual(len(interface.functions), 56)
            self.assertGreaterEqual(len(interface.enumerators), 72)
            self.assertGreaterEqual(len(interface.structs), 13)

    def test_nothing_has_gone_or_changed_since_the_first_release(self):
        self.assertEqual([], abi.changed(self.then, self.now, self.scratch))

    def test_the_library_exports_the_header_and_nothing_else(self):
        self.assertEqual([], abi.shown(self.now, LIBRARY))

    def test_the_library_still_exports_the_first_release(self):
        names = {name for name, *_ in abi.exported(LIBRARY)[0]}
        self.assertEqual(set(), set(self.then.functions) - names)

    def test_c_can_do_all_that_cpp_can(self):
        self.assertEqual([], abi.missing_in_c(self.now, ROOT / 'include'))
        self.assertEqual([], abi.missing_fields(self.now, ROOT / 'include'))

    def test_a_field_or_method_that_only_cpp_has_is_caught(self):
        shutil.copytree(ROOT / 'include/longhaul', self.scratch / 'longhaul')
        for name, after, added in (
                ('config.hpp', '  std::string controller;\n',
                 '  std::optional<Duration> patience;\n'),
                ('transfer.hpp', '  Status status() const noexcept;\n',
                 '  Result<void> hurry() const;\n')):
            path = self.scratch / 'longhaul' / name
            self.assertIn(after, path.read_text())
            path.write_text(path.read_text().replace(after, after + added, 1))
        self.assertEqual(['Transfer::hurry has no longhaul_transfer_hurry'],
                         abi.missing_in_c(self.now, self.scratch))
        self.assertEqual(['EndpointConfig::patience has no member in longhaul_endpoint_config'],
                         abi.missing_fields(self.now, self.scratch))

    def test_every_struct_says_its_size_first(self):
        for name, members in self.now.structs.items():
            self.assertEqual('struct_size', members[0], name)

    def test_a_program_of_the_first_release_runs(self):
        program = self.scratch / 'first_release'
        complaints = abi.compile_c(
            (HERE / 'first_release.c').read_text(), HERE / 'abi-1', self.scratch,
            [str(LIBRARY), f'-Wl,-rpath,{LIBRARY.parent}', '-o', str(program)])
        self.assertEqual('', complaints)
        result = subprocess.run([str(program)], check=False, text=True, timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(0, result.returncode, result.stdout)


class Breaches(Scratch):
    """A header that took something away is caught."""

    def breach(self, name, old, new, words):
        shutil.copytree(HERE / 'abi-1/longhaul', self.scratch / 'longhaul')
        path = self.scratch / 'longhaul' / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))
        findings = abi.changed(abi.Interface.read(HERE / 'abi-1'), abi.Interface.read(self.scratch),
                               self.scratch)
        self.assertIn(words, '\n'.join(findings))

    def test_a_changed_number(self):
        self.breach('longhaul_types.h', 'LONGHAUL_CLOSED = 11', 'LONGHAUL_CLOSED = 12',
                    'was "LONGHAUL_CLOSED 11", is "LONGHAUL_CLOSED 12"')

    def test_a_number_that_has_gone(self):
        self.breach('longhaul_types.h', '  LONGHAUL_BEST_EFFORT = 2', '', 'LONGHAUL_BEST_EFFORT')

    def test_a_function_that_has_gone(self):
        self.breach('longhaul.h', 'longhaul_transfer_cancel', 'longhaul_transfer_stop',
                    'function gone: longhaul_transfer_cancel')

    def test_a_changed_signature(self):
        self.breach('longhaul.h', 'longhaul_endpoint_run_once(longhaul_endpoint* endpoint, int*',
                    'longhaul_endpoint_run_once(longhaul_endpoint* endpoint, long*',
                    'a signature changed')

    def test_a_member_that_moved(self):
        self.breach('longhaul_types.h', '  uint64_t cookie;',
                    '  uint64_t added;\n  uint64_t cookie;', 'longhaul_completion.cookie at')

    def test_a_member_of_another_size(self):
        self.breach('longhaul_types.h', 'char controller[32];', 'char controller[16];',
                    'longhaul_connection_stats.controller')

    def test_a_symbol_the_library_does_not_have(self):
        header = (HERE / 'abi-1/longhaul/longhaul.h').read_text()
        folder = self.scratch / 'longhaul'
        folder.mkdir()
        (folder / 'longhaul.h').write_text(header.replace('longhaul_version(', 'longhaul_word('))
        findings = abi.shown(abi.Interface.read(self.scratch), LIBRARY)
        self.assertIn('declared but not exported: longhaul_word', findings)
        self.assertIn('exported but not declared: longhaul_version', findings)


if __name__ == '__main__':
    if any(shutil.which(tool) is None for tool in ('gcc', 'nm', 'c++filt')):
        print('SKIP: no gcc or binutils (scripts/install-deps test installs them)')
        sys.exit(77)
    LIBRARY = Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1])
