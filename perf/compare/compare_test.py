# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the comparison, against figures worked out by hand."""

import json
import tempfile
import unittest
from pathlib import Path

import limits
import picture
import store
import tables

GBIT = 1_000_000_000
MESSAGE = 16 << 20


class Limits(unittest.TestCase):
    def test_a_message_takes_its_packets_and_the_way(self):
        # 16 MiB are 11,619 packets of 1444 bytes; each is 1538 bytes = 12.304 µs on the wire.
        self.assertAlmostEqual(0.025 + 11_619 * 12.304e-6,
                               limits.completion_limit(MESSAGE, GBIT, 0.025, 0))

    def test_loss_takes_its_share_of_the_line_and_not_of_the_way(self):
        self.assertAlmostEqual(0.025 + 11_619 * 12.304e-6 / 0.98,
                               limits.completion_limit(MESSAGE, GBIT, 0.025, 0.02))

    def test_the_answer_takes_the_way_back(self):
        self.assertAlmostEqual(0.025, limits.answer_limit(MESSAGE, GBIT, 0.025, 0)
                               - limits.completion_limit(MESSAGE, GBIT, 0.025, 0))

    def test_goodput_is_what_is_left_of_full_packets(self):
        self.assertAlmostEqual(GBIT * 1444 / 1538 * 0.99, limits.goodput_limit(GBIT, 0.01), 3)

    def test_an_operator_counts_udp_payload_and_leaves_two_percent(self):
        self.assertEqual(int(0.98 * GBIT * 1472 / 1538), limits.operator_rate(GBIT))

    def test_windows_are_four_bandwidth_delay_products(self):
        self.assertEqual(25_000_000, limits.windows(GBIT, 0.05))


class Percentiles(unittest.TestCase):
    def test_nearest_rank_is_a_value_that_occurred(self):
        values = list(range(25, 0, -1))
        self.assertEqual([13, 23, 25], [limits.percentile(values, p) for p in (0.5, 0.9, 1.0)])

    def test_one_value_is_every_percentile(self):
        self.assertEqual([7, 7], [limits.percentile([7], p) for p in (0.0, 0.9)])

    def test_no_value_has_no_percentile(self):
        self.assertRaises(ValueError, limits.percentile, [], 0.5)


class Completions(unittest.TestCase):
    def test_times_stand_as_multiples_of_the_limit(self):
        found = tables.completion([{'completions_ms': [100, 200], 'unfinished_ms': None},
                                   {'completions_ms': [150], 'unfinished_ms': None}], 100)
        self.assertEqual('1.50 / 2.00 / 2.00', found.text())

    def test_a_message_given_up_is_a_lower_bound_where_it_counts(self):
        found = tables.completion([{'completions_ms': [100, 200], 'unfinished_ms': 5000}], 100)
        self.assertEqual('2.00 / >50.00 / >50.00', found.text())

    def test_without_a_message_there_is_nothing_to_say(self):
        self.assertIsNone(tables.completion([{'completions_ms': [], 'unfinished_ms': None}], 100))


class Resuming(unittest.TestCase):
    def resume(self, old, new):
        with tempfile.TemporaryDirectory(prefix='longhaul-compare-') as folder:
            path = Path(folder) / 'result.json'
            path.write_text(json.dumps(old), encoding='utf-8')
            return store.resume(path, new)

    def test_the_same_sources_and_settings_go_on_whatever_the_commit(self):
        same = {'commit': 'a', 'modified': False, 'sources': {'lib': '1'},
                'settings': {'rounds': 3}}
        self.assertEqual([1], self.resume({**same, 'runs': [1]}, {**same, 'commit': 'b'})['runs'])

    def test_anything_else_is_refused_by_name(self):
        same = {'modified': False, 'sources': {'lib': '1'}, 'settings': {'rounds': 3}}
        for key, value, name in (('sources', {'lib': '2'}, 'version of "lib"'),
                                 ('settings', {'rounds': 1}, 'setting "rounds"')):
            with self.assertRaisesRegex(store.Refused, f'another {name}'):
                self.resume(same, {**same, key: value})

    def test_uncommitted_changes_cannot_be_compared(self):
        changed = {'modified': True, 'sources': {}, 'settings': {}}
        self.assertRaisesRegex(store.Refused, 'uncommitted', self.resume, changed, changed)


class Picture(unittest.TestCase):
    def test_a_line_a_peer_and_an_arrow_where_a_message_was_given_up(self):
        document = {
            'commit': 'a' * 40, 'settings': {'message_bytes': MESSAGE},
            'cells': [{'name': f'rtt50-loss{loss}', 'answer_limit_ms': 100} for loss in (0, 1)],
            'peers': {f'p{number}': {'label': f'peer {number}'} for number in range(11)},
            'runs': [{'mode': 'message', 'cell': f'rtt50-loss{loss}', 'peer': f'p{number}',
                      'completions_ms': [100 + number], 'unfinished_ms': None if loss == 0 else 9e4}
                     for loss in (0, 1) for number in range(11)]}
        with tempfile.TemporaryDirectory(prefix='longhaul-compare-') as folder:
            result, drawn = Path(folder) / 'result.json', Path(folder) / 'picture.svg'
            store.write(result, document)
            outcome = picture.draw_apart(result, drawn)
            if outcome is None:
                self.skipTest('python3-matplotlib (scripts/install-deps compare installs it)')
            self.assertTrue(outcome)
            self.assertEqual(11, drawn.read_text(encoding='utf-8').count('<!-- peer '))


if __name__ == '__main__':
    unittest.main()
