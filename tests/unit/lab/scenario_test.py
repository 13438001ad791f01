# SPDX-License-Identifier: Apache-2.0
"""The emulator's file: made from effects, read from a user, and what is said about it."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'scripts'))
sys.dont_write_bytecode = True
from lab import scenario, topology  # noqa: E402
from lab.effects import LinkEffects, effects_by_link  # noqa: E402
from lab.errors import LabError  # noqa: E402

TWO_PATHS = topology.TOPOLOGIES['two-paths']
EFFECTS = {'east-west-1': LinkEffects(),
           'east-west-2': LinkEffects('rate=1G,delay=25ms', 'loss=1%', '', ('1s:both:down=2s',))}


class Made(unittest.TestCase):
    def test_links_have_names_interfaces_and_what_they_do(self):
        first, second = scenario.made(TWO_PATHS, EFFECTS)['links']
        self.assertEqual({'name': 'east-west-1', 'a': 'w0', 'b': 'w1'}, first)
        self.assertEqual({'name': 'east-west-2', 'a': 'w2', 'b': 'w3',
                          'both': {'rate': '1G', 'delay': '25ms'}, 'forward': {'loss': '1%'},
                          'schedule': [{'at': '1s', 'direction': 'both',
                                        'effects': {'down': '2s'}}]}, second)

    def test_effects_are_read_back_as_they_were(self):
        self.assertEqual(EFFECTS, scenario.effects(scenario.made(TWO_PATHS, EFFECTS)))
        given = {'links': [{'name': 'x', 'both': {'loss': 0.01, 'ecn': True, 'rate': '1G'}}]}
        self.assertEqual({'x': LinkEffects('loss=0.01,ecn=true,rate=1G')}, scenario.effects(given))

    def test_a_change_that_is_none_is_refused(self):
        for text in ('10s', '10s:both', ':both:down=2s', '10s:both:down'):
            with self.assertRaisesRegex(LabError, 'TIME:DIRECTION:EFFECTS|is no effect'):
                scenario.made(TWO_PATHS, effects_by_link(TWO_PATHS, LinkEffects(at=(text,))))


class Read(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-lab-test-')
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / 'given.json'

    def read(self, text):
        self.path.write_text(text)
        return scenario.read(TWO_PATHS, self.path)

    def test_the_interfaces_of_the_lab_are_put_in(self):
        made = self.read('{"seed": 7, "links": [{"name": "east-west-2", "both": {"rate": "1G"}}, '
                         '{"name": "east-west-1"}]}')
        self.assertEqual({'seed': 7, 'links': [
            {'name': 'east-west-2', 'a': 'w2', 'b': 'w3', 'both': {'rate': '1G'}},
            {'name': 'east-west-1', 'a': 'w0', 'b': 'w1'}]}, made)

    def test_a_mark_of_the_encoding_is_no_mistake(self):
        self.path.write_bytes(b'\xef\xbb\xbf{"links": [{"name": "east-west"}]}')
        made = scenario.read(topology.TOPOLOGIES['two-regions'], self.path)
        self.assertEqual({'links': [{'name': 'east-west', 'a': 'w0', 'b': 'w1'}]}, made)

    def test_only_a_regular_file_is_read(self):
        os.mkfifo(self.path)
        for path in (self.path, self.path.parent, '/dev/zero'):
            with self.assertRaisesRegex(LabError, f'scenario {path} is no regular file'):
                scenario.read(TWO_PATHS, path)

    def test_what_cannot_be_placed_is_refused(self):
        for text, words in (('{', 'is no JSON'), ('[]', 'has no "links"'),
                            ('{"links": [1]}', 'has no "links"'),
                            ('{"links": [{}]}', 'has no "name"'),
                            ('{"links": [{"name": "x"}]}', 'given.json.*no link "x"; it has east'),
                            ('{"links": [{"name": "east-west-1"}, {"name": "east-west-1"}]}',
                             'twice'),
                            ('{"links": []}', 'says nothing of east-west-1, east-west-2'),
                            ('{"links": [{"name": "east-west-1"}]}',
                             'says nothing of east-west-2: describe every link of two-paths')):
            with self.assertRaisesRegex(LabError, words):
                self.read(text)
        with self.assertRaisesRegex(LabError, 'No such file'):
            scenario.read(TWO_PATHS, self.path.parent / 'none')


class Retold(unittest.TestCase):
    def retold(self, words, given):
        return scenario.retold(words, Path('/run/x/scenario.json'),
                               scenario.made(TWO_PATHS, EFFECTS), given)

    def test_links_are_named_and_so_is_the_users_file(self):
        said = 'error: /run/x/scenario.json: link 2, schedule entry 1 has an unknown key "x"'
        self.assertEqual('error: s.json: link east-west-2, schedule entry 1 has an unknown key "x"',
                         self.retold(said, 's.json'))
        self.assertEqual('error: link east-west-2, schedule entry 1 has an unknown key "x"',
                         self.retold(said, None))
        self.assertEqual('error: east-west-1: both: rate',
                         self.retold('error: /run/x/scenario.json: east-west-1: both: rate', None))
        self.assertEqual('link 3 fails', self.retold('link 3 fails', None))


if __name__ == '__main__':
    unittest.main()
