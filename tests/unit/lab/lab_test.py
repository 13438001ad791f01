# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/lab that need neither root nor an emulator: names, addresses, effects, the
command line, what is told of a lab, and a child that is not what it should be."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'scripts'))
sys.dont_write_bytecode = True
from lab import called, command_line, default_queue, effects, emulator, lab  # noqa: E402
from lab import network, options, processes, state, status, topology  # noqa: E402
from lab.effects import LinkEffects  # noqa: E402
from lab.errors import LabError  # noqa: E402

TRIANGLE = topology.TOPOLOGIES['triangle']
TWO_PATHS = topology.TOPOLOGIES['two-paths']


class Topologies(unittest.TestCase):
    def test_no_interface_or_address_is_used_twice(self):
        for each in topology.TOPOLOGIES.values():
            for region in each.regions:
                inside = [link.interface(region) for link in each.links_of(region)]
                self.assertEqual(len(inside), len(set(inside)))
                # What the kernel allows.
                self.assertTrue(all(len(name) < 16 for name in inside), inside)
            outside = [end for link in each.links for end in link.emulator_ends]
            self.assertEqual(outside, [f'w{number}' for number in range(2 * len(each.links))])
            addresses = [address for _, address in each.hosts()]
            self.assertEqual(len(addresses), len(set(addresses)))

    def test_each_pair_of_a_triangle_has_its_own_link(self):
        pairs = {frozenset(link.ends) for link in TRIANGLE.links}
        self.assertEqual(3, len(pairs))
        self.assertEqual('to-south', TRIANGLE.link('south-east').interface('east'))

    def test_two_paths_join_the_same_regions(self):
        self.assertEqual({('east', 'west')}, {link.ends for link in TWO_PATHS.links})
        self.assertEqual('to-west-2', TWO_PATHS.link('east-west-2').interface('east'))
        self.assertEqual('10.77.2.2', TWO_PATHS.address('west', 4, 'east-west-2'))
        self.assertEqual('fd77:2::2', TWO_PATHS.address('west', 6, 'east-west-2'))

    def test_a_command_is_told_where_it_is_and_where_the_others_are(self):
        told = TWO_PATHS.environment('mine', 'east')
        self.assertEqual(('mine', 'east'), (told['LONGHAUL_LAB'], told['LAB_REGION']))
        self.assertEqual('10.77.0.2', told['LAB_WEST_IPV4'])
        self.assertEqual('fd77::2', told['LAB_WEST_IPV6'])
        self.assertEqual('10.77.2.2', told['LAB_WEST_EAST_WEST_2_IPV4'])

    def test_what_does_not_exist_is_named_beside_what_does(self):
        for ask, words in ((lambda: topology.topology_named('star'), 'no topology "star".*angle'),
                           (lambda: TRIANGLE.address('north'), 'no region "north".*east, west'),
                           (lambda: TRIANGLE.link('east-north'), 'no link "east-north".*east-west'),
                           (lambda: TRIANGLE.address('east', 4, 'west-south'), 'does not end in')):
            with self.assertRaisesRegex(LabError, words):
                ask()

    def test_a_name_must_not_be_a_prefix_of_another_one_with_a_dash(self):
        for name in ('a-b', '', 'A', '1a', 'a' * 25, '../x'):
            with self.assertRaisesRegex(LabError, 'cannot name a lab'):
                topology.check_name(name)
        self.assertEqual('p12n1', topology.check_name('p12n1'))


class Effects(unittest.TestCase):
    def test_later_ones_override_key_by_key(self):
        self.assertEqual('rate=2G,delay=5ms,loss=1%',
                         effects.merge('rate=1G,delay=5ms', 'rate=2G,loss=1%'))

    def test_what_is_no_pair_is_refused(self):
        for text in ('rate', 'rate=', '=1G', 'rate=1G,loss'):
            with self.assertRaisesRegex(LabError, 'is no effect: KEY=VALUE'):
                effects.merge(text)

    def test_options_before_the_first_link_are_for_all(self):
        links = effects.effects_of_options(TWO_PATHS, [
            ('rate', '2G'), ('link', 'east-west-2'), ('delay', '60ms'), ('forward', 'loss=1%'),
            ('at', '1s:both:down=2s')])
        self.assertEqual('rate=2G,delay=25ms', links['east-west-1'].both)
        self.assertEqual((), links['east-west-1'].at)
        self.assertEqual(LinkEffects('rate=2G,delay=60ms', 'loss=1%', '',
                                     ('1s:both:down=2s',)), links['east-west-2'])
        self.assertEqual(['--both', 'rate=2G,delay=60ms', '--forward', 'loss=1%', '--at',
                          '1s:both:down=2s'], links['east-west-2'].words())

    def test_effects_by_link_leave_the_others_alone(self):
        links = effects.effects_by_link(TWO_PATHS, {'east-west-2': 'rate=1G'})
        self.assertEqual([], links['east-west-1'].words())
        self.assertEqual(['--both', 'rate=1G'], links['east-west-2'].words())
        with self.assertRaisesRegex(LabError, 'no link "east-west"'):
            effects.effects_by_link(TWO_PATHS, {'east-west': 'rate=1G'})


class Queues(unittest.TestCase):
    def filled(self, both, forward='', backward='', *at):
        return default_queue.fill(LinkEffects(both, forward, backward, at))

    def test_what_fits_rate_and_delay(self):
        for both, queue in (('rate=1G,delay=25ms', ',queue=1bdp'),
                            ('rate=1G,delay=0', ',queue=256K'),
                            ('rate=1G,delay=0.0ms', ',queue=256K'),
                            ('rate=1G', ',queue=256K'),
                            ('rate=unlimited,delay=25ms', ''),
                            ('loss=1%', ''),
                            ('rate=1G,delay=0,queue=1bdp', '')):
            self.assertEqual(LinkEffects(both + queue), self.filled(both))

    def test_each_direction_has_its_own(self):
        self.assertEqual(LinkEffects('rate=1G,delay=25ms', 'rate=unlimited', 'queue=1bdp'),
                         self.filled('rate=1G,delay=25ms', 'rate=unlimited'))
        self.assertEqual(LinkEffects('rate=1G,delay=25ms', 'queue=64K', 'queue=1bdp'),
                         self.filled('rate=1G,delay=25ms', 'queue=64K'))

    def test_a_schedule_may_take_rate_and_delay_away(self):
        filled = self.filled('rate=1G,delay=25ms', '', 'queue=64K', '3s:both:rate=2G,loss=1%',
                             '2000ms:both:rate=unlimited', '4s:forward:delay=0',
                             '5s:both:queue=1M', '6s:both:rate=unlimited')
        self.assertEqual(LinkEffects('rate=1G,delay=25ms', 'queue=1bdp', 'queue=64K', (
            '2000ms:forward:rate=unlimited,queue=unlimited', '2000ms:backward:rate=unlimited',
            '3s:forward:rate=2G,loss=1%,queue=1bdp', '3s:backward:rate=2G,loss=1%',
            '4s:forward:delay=0,queue=256K', '5s:both:queue=1M', '6s:both:rate=unlimited')), filled)
        self.assertEqual(('1s:both:down=2s', '2s:both:delay=0,queue=256K'), self.filled(
            'rate=1G,delay=25ms', '', '', '2s:both:delay=0', '1s:both:down=2s').at)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-lab-test-')
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Children(InFolder):
    """A shell script in the emulator's place."""

    def child(self, script):
        path = self.folder / 'program'
        path.write_text(f'#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n{script}\n')
        path.chmod(0o755)
        found = emulator.Emulator(self.folder, path)
        self.addCleanup(found.stop, 0)
        return found

    def test_one_that_is_ready_runs_until_it_is_told_to_end(self):
        child = self.child('trap "echo bye; exit 0" TERM; echo $$ >"$2"; while :; do sleep 0.01; '
                           'done')
        child.start([], [], lasting=False)
        self.assertTrue(child.running())
        child.stop()
        self.assertFalse(child.running())
        self.assertEqual('bye', child.last_words())

    def test_one_that_refuses_is_quoted(self):
        with self.assertRaisesRegex(LabError, 'longhaul-wan: no such key'):
            self.child('echo longhaul-wan: no such key >&2; exit 1').start([], [], lasting=False)

    def test_one_that_says_nothing_is_told_of_too(self):
        with self.assertRaisesRegex(LabError, 'ended with status 3 and said nothing'):
            self.child('exit 3').start([], [], lasting=False)

    def test_counters_that_were_not_written_are_not_made_up(self):
        child = self.child('echo $$ >"$2"; exec sleep 60')
        child.start([], [], lasting=False)
        with self.assertRaisesRegex(LabError, 'has written no counters'):
            child.report()

    def test_a_stranger_with_the_same_id_is_left_alone(self):
        child = subprocess.Popen(['sleep', '60'])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        pid, start = processes.identity(child.pid)
        processes.end([(pid, start - 1)], 0.1)
        self.assertIsNone(child.poll())
        self.assertEqual([], processes.end([(pid, start)], 5))
        self.assertEqual(-signal.SIGTERM, child.wait())

    def test_one_that_does_not_listen_is_killed(self):
        child = subprocess.Popen(['sh', '-c', 'trap "" TERM; echo; while :; do sleep 1; done'],
                                 stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        child.stdout.readline()
        start = time.monotonic()
        self.assertEqual(1, len(processes.end([processes.identity(child.pid)], 0.2)))
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(-signal.SIGKILL, child.wait())


class CommandLine(unittest.TestCase):
    def refused(self, *words):
        """The one line said."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), mock.patch('signal.signal'):
            self.assertEqual(1, command_line.main(list(words)))
        line = said.getvalue()
        self.assertEqual(1, line.count('\n'), line)
        return line

    def test_errors_are_one_line(self):
        self.assertIn('no topology "star"', self.refused('up', 'star'))
        self.assertIn('is no effect', self.refused('up', '--both', 'rate'))
        self.assertIn('no link "east-north"', self.refused('up', '--link', 'east-north'))
        self.assertIn('--mtu 100', self.refused('up', '--mtu', '100'))
        self.assertIn('exclude each other', self.refused('up', '--scenario', 'x', '--loss', '1%'))
        self.assertIn('cannot name a lab', self.refused('up', '--name', 'a-b'))

    def test_an_empty_name_is_none(self):
        with mock.patch('os.geteuid', return_value=0), mock.patch('shutil.which'):
            for words in (['up'], ['run', 'east', 'true'], ['status'], ['down']):
                self.assertIn('"" cannot name a lab',
                              self.refused(words[0], '--name', '', *words[1:]))

    def test_words_without_a_place_come_with_what_may_be_meant(self):
        for words, says in (('status x', 'wan-lab status --name x'),
                            ('down x', 'wan-lab down --name x'),
                            ('up x', 'no topology "x"; .*--name'),
                            ('up two-regions triangle', 'one topology at a time'),
                            ('up triangle x', 'no topology "x"'),
                            ('up --fast', '--fast is no option here: .*wan-lab up --help')):
            self.assertRegex(self.refused(*words.split()), says)

    def test_values_that_argparse_takes_for_something_else(self):
        for words, says in (('--delay -25ms', '--delay -25ms is negative'),
                            ('--delay=-25ms', '--delay -25ms is negative'),
                            ('--seed -1', '--seed -1 is negative'),
                            ('--loss 5 %', 'without the space, --loss 5%'),
                            ('--rate 1 G --delay 25 ms', 'without the space, --rate 1G')):
            self.assertIn(says, self.refused('up', *words.split()))
        told = options.parsed(['run', 'east', 'x', '--delay', '-25', '--loss', '5', 's'])
        self.assertEqual(['x', '--delay', '-25', '--loss', '5', 's'], told.words)

    def test_help_is_no_wider_than_a_terminal(self):
        for words in ([], ['up'], ['run'], ['status'], ['down']):
            said = io.StringIO()
            with contextlib.redirect_stdout(said), self.assertRaises(SystemExit), \
                    mock.patch('sys.argv', ['scripts/wan-lab']), mock.patch('signal.signal'):
                command_line.main([*words, '--help'])
            self.assertEqual([], [line for line in said.getvalue().splitlines() if len(line) > 100])

    def test_a_lab_in_the_place_of_a_region(self):
        with mock.patch.object(state, 'names', return_value=['mine']), \
                mock.patch('os.geteuid', return_value=0), mock.patch('shutil.which'):
            self.assertIn('"mine" is a lab and no region: ', self.refused('run', 'mine', 'true'))

    def test_a_remedy_can_be_pasted(self):
        for called_as, sudo, says in (('scripts/wan-lab', '', 'scripts/wan-lab'),
                                      ('wan-lab', '', './wan-lab'),
                                      ('/a b/wan-lab', '', "'/a b/wan-lab'"),
                                      ('./wan-lab', './wan-lab up', 'sudo ./wan-lab'),
                                      ('./wan-lab', '/bin/bash', './wan-lab'),
                                      ('lab_test.py', '', str(called.TOOL))):
            with mock.patch('sys.argv', [called_as]), \
                    mock.patch.dict('os.environ', {'SUDO_COMMAND': sudo}):
                self.assertEqual(f'{says} down --name mine', called.down('mine'))
                self.assertEqual(f'{says} down', called.down('default'))

    def test_without_root_nothing_is_tried(self):
        with mock.patch('os.geteuid', return_value=1000):
            for words in (['up'], ['run', 'east', 'true'], ['status'], ['down']):
                self.assertIn('need root: run it with sudo', self.refused(*words))

    def test_a_missing_tool_comes_with_its_package(self):
        with mock.patch('shutil.which', return_value=None), \
                mock.patch('os.geteuid', return_value=0):
            self.assertIn('ip is missing: apt-get install iproute2', self.refused('status'))


class States(InFolder):
    def setUp(self):
        super().setUp()
        patch = mock.patch.object(state, 'ROOT', self.folder / 'labs')
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_name_is_taken_once(self):
        state.claim('mine', {'maker': (1, 2)})
        with self.assertRaisesRegex(LabError, 'named "mine" exists: .*wan-lab down --name mine'):
            state.claim('mine', {'maker': (3, 4)})
        self.assertEqual((1, 2), state.maker('mine'))
        state.forget('mine')
        self.assertEqual([], state.names())
        state.claim('mine', {})

    def test_what_is_no_lab_is_not_among_them(self):
        state.claim('mine', {})
        (state.ROOT / 'stray').touch()
        (state.ROOT / 'Not a name').mkdir()
        # Of a process that was killed while it claimed a name: no number is that high.
        (state.ROOT / '.late.99999999').mkdir()
        self.assertEqual(['mine'], state.names())
        state.forget('mine')
        self.assertEqual({'stray', 'Not a name'}, {path.name for path in state.ROOT.iterdir()})

    def test_one_that_is_told_wrongly_is_broken_and_no_orphan(self):
        made = lab.Lab(name='mine', lasting=True)
        for key, value in (('topology', []), ('since', 'long'), ('effects', {}), ('emulator', [1]),
                           ('maker', 'nobody'), ('owner', [1]), ('owner', 'x')):
            state.claim('mine', {**made._told(), key: value})
            if key != 'owner':
                with self.assertRaisesRegex(LabError, 'what the lab "mine" is: remove it with'):
                    lab.load('mine')
            self.assertEqual([], state.orphans())
            state.forget('mine')

    def test_one_that_cannot_be_removed_does_not_keep_the_others(self):
        for name in ('a', 'b', 'c'):
            state.claim(name, {})
        forget = state.forget

        def refuse(name):
            if name == 'b':
                raise LabError('b is stuck')
            forget(name)
        said, complained = io.StringIO(), io.StringIO()
        with mock.patch.object(network, 'need_tools'), mock.patch.object(
                network, 'exists', return_value=False), mock.patch.object(
                state, 'forget', refuse), contextlib.redirect_stdout(
                said), contextlib.redirect_stderr(complained):
            self.assertEqual(1, command_line.do_down(options.parsed(['down', '--all'])))
        self.assertEqual(('lab a removed\nlab c removed\n', 'wan-lab: b is stuck\n'),
                         (said.getvalue(), complained.getvalue()))

    def test_who_lost_the_name_neither_writes_nor_removes(self):
        first = lab.Lab(name='mine', lasting=True)
        first.maker = (1, 2)
        state.claim('mine', {'maker': (3, 4)})
        with self.assertRaisesRegex(LabError, 'lab "mine" was removed while it was made'):
            state.save('mine', first._told())
        with mock.patch.object(first.network, 'remove') as remove:
            self.assertEqual(0, first.down())
        remove.assert_not_called()
        self.assertEqual((3, 4), state.maker('mine'))

    def test_one_that_is_not_there_is_named_beside_those_that_are(self):
        with self.assertRaisesRegex(LabError, 'no lab named "a"; ".*wan-lab up --name a" makes'):
            lab.load('a')
        state.folder('b').mkdir(parents=True)
        with self.assertRaisesRegex(LabError, 'no lab named "a"; there are b: .*--name'):
            lab.load('a')
        with self.assertRaisesRegex(LabError, '"b" was not completed: ".*wan-lab down --name b"'):
            lab.load('b')

    def test_labs_of_a_process_that_ended_are_orphans(self):
        child = subprocess.Popen(['sleep', '60'])
        identity = processes.identity(child.pid)
        child.kill()
        child.wait()
        for name, owner in (('gone', identity), ('here', processes.identity(1)), ('free', None)):
            state.claim(name, {'owner': owner})
        self.assertEqual(['gone'], state.orphans())

    def test_a_lab_is_read_as_it_was_written(self):
        made = lab.Lab('two-paths', {'east-west-2': LinkEffects('rate=1G', at=('1s:both:loss=1',))},
                       name='mine', lasting=True)
        made.maker = processes.identity(1)
        state.claim('mine', made._told())
        read = lab.load('mine')
        self.assertEqual((made.topology, made.effects, made.lasting, made.mtu, made.maker),
                         (read.topology, read.effects, read.lasting, read.mtu, read.maker))
        self.assertFalse(read.running())


class Status(unittest.TestCase):
    def test_times_are_for_people(self):
        self.assertEqual(['0 s', '59 s', '1 min 1 s', '2 h 0 min'],
                         [status.spent(seconds) for seconds in (0.4, 59, 61, 7200)])

    def test_interfaces_of_the_emulator_are_told_as_those_of_the_regions(self):
        def told(text):
            return status.in_lab_words(text, TWO_PATHS, 'mine')
        self.assertRegex(told('at the other end of w2: ethtool -K IFACE tx off'),
                         '^.*wan-lab run --name mine east ethtool -K to-west-2 tx off$')
        self.assertEqual('error: the other end of to-east-1 in west has gone',
                         told('error: interface w1 has gone'))

    def told(self, running, scenario=None):
        return '\n'.join(status.lines({
            'name': 'mine', 'topology': 'two-regions', 'mtu': 1500, 'up_seconds': 65,
            'scenario': scenario, 'remedy': 'start again: so',
            'emulator': {'running': running, 'binary': '/x/longhaul-wan', 'pid': 7,
                         'last_words': 'out of memory', 'sender_faults': [],
                         'fate': 'killed, or crashed',
                         'was_bottleneck': ['east-west forward: 3 packets dropped']},
            'regions': {'east': {'namespace': 'lhlab-mine-east', 'exists': running,
                                 'ipv4': '10.77.0.1', 'ipv6': 'fd77::1', 'processes': 2}},
            'links': [{'name': 'east-west', 'ends': ['east', 'west'],
                       'interfaces': ['to-west', 'to-east'], 'effects': '--both loss=1%',
                       'counters': {'forward': {'offered': 1000, 'lost': 10, 'corrupted': 0,
                                                 'late_max_ns': 1234567},
                                    'backward': {'offered': 0}}}]}))

    def test_a_living_lab(self):
        told = self.told(True)
        for words in ('lab mine: two-regions, up for 1 min 5 s', 'running, process 7',
                      '2 processes', 'not the line, was the bottleneck: east-west forward: 3',
                      'east to west: offered 1,000, lost 10, late_max 1.235 ms\n',
                      'west to east: nothing yet', '--both loss=1%'):
            self.assertIn(words, told)

    def test_a_scenario_is_named(self):
        self.assertNotIn('scenario', self.told(True))
        self.assertIn('\n  scenario: /x/s.json\n', self.told(True, '/x/s.json'))

    def test_a_dead_one_says_its_last_words_and_what_to_do(self):
        told = self.told(False)
        for words in ('DEAD (killed, or crashed), so nothing passes; start again: so',
                      'out of memory', ' GONE; start again: so'):
            self.assertIn(words, told)


class AtOnce(InFolder):
    """Unrelated labs made and removed in the same moments: each takes away the common folders."""

    def setUp(self):
        super().setUp()
        for module, name in ((state, 'ROOT'), (network, 'HOSTS')):
            patch = mock.patch.object(module, name, self.folder / name)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.object(network, 'exists', return_value=False)
        patch.start()
        self.addCleanup(patch.stop)

    def in_four_processes(self, make_and_remove):
        def child(name):
            try:
                deadline = time.monotonic() + 1
                while time.monotonic() < deadline:
                    make_and_remove(name)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)

        children = []
        for name in 'abcd':
            children.append(os.fork())
            if not children[-1]:
                child(name)
        self.assertEqual([0] * 4, [os.waitpid(pid, 0)[1] for pid in children])

    def test_names_are_claimed(self):
        def once(name):
            state.claim(name, {'maker': (1, 2)})
            state.names()
            state.forget(name)
        self.in_four_processes(once)

    def test_hosts_are_written(self):
        def once(name):
            made = network.Network(TWO_PATHS, name, 1500)
            made._write_hosts()
            made.remove()
        self.in_four_processes(once)


class Networks(unittest.TestCase):
    def test_what_does_not_end_is_named(self):
        made = network.Network(TWO_PATHS, 'a', 1500)
        with mock.patch.object(made, 'inhabitants', return_value={'lhlab-a-east': [(7, 1)]}), \
                mock.patch.object(processes, 'end') as end, \
                mock.patch.object(network, 'ENDING_SECONDS', 0.01):
            with self.assertRaisesRegex(LabError, r'end it \(process 7\), then ".*down --name a"'):
                made.remove()
        self.assertEqual([3, 0], [call.args[1] for call in end.call_args_list[:2]])

    def test_who_is_killed_and_says_nothing_is_told_of(self):
        killed = subprocess.CompletedProcess([], -15, '', '')
        with mock.patch.object(subprocess, 'run', return_value=killed):
            with self.assertRaisesRegex(LabError, 'ip -n a link add: ended by signal 15'):
                network._batch('a', ['link add'])
            with self.assertRaisesRegex(LabError, 'ip link: ended by signal 15'):
                network._run('ip', 'link')

    def test_namespaces_are_told_before_they_are_made(self):
        self.assertEqual(['lhlab-a-east', 'lhlab-a-west', 'lhlab-a-wan'],
                         network.namespaces(TWO_PATHS, 'a'))


if __name__ == '__main__':
    unittest.main()
