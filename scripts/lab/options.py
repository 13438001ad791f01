# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/wan-lab, its help, and mistakes that argparse has no words for."""

import argparse
import re

from . import default_queue
from .called import DEFAULT_NAME, tool
from .effects import USUAL
from .errors import LabError
from .topology import TOPOLOGIES

# Effects that have an option of their own at `up`, for both directions.
SHORT = {'rate': 'bits a second on the wire, such as 1G',
         'delay': 'one way, such as 25ms: the round trip is twice that',
         'jitter': 'up to so much more delay for each packet',
         'loss': 'share of packets lost, such as 1%% or 1e-3',
         'queue': 'bytes that may wait at the bottleneck, such as 64K or 1bdp'}
DESCRIPTION = '''Regions on this machine (network namespaces) joined by wide-area lines that
longhaul-wan emulates: rate, delay, loss, bursts, reordering, outages.'''
EPILOG = '''a worked example, as root:
  {tool} up --delay 25ms --loss 0.1%       # east and west, 50 ms apart
  {tool} run west longhaul-perf --generate-key a.key
  {tool} run west longhaul-perf -s --key a.key &
  {tool} run east longhaul-perf -c west --key a.key -b 900M
  {tool} status                            # what the line did to the packets
  {tool} down                              # ends what still runs, removes everything

A command run in a region knows all regions by name (east, west), and by variables: $LAB_WEST_IPV4,
$LAB_WEST_IPV6, and $LAB_WEST_EAST_WEST_2_IPV4 (west.east-west-2) for the end of one link; in
quotes, so that your own shell does not fill them in:
  {tool} run east sh -c 'ping -c 3 $LAB_WEST_IPV6'
longhaul-perf and longhaul-wan are found without their path, first where the lab's emulator is from.

"{tool} up --help" says what a line can do.'''
UP_EPILOG = '''topologies:
  two-regions  east and west, joined by link east-west
  two-paths    east and west, joined by links east-west-1 and east-west-2 that share nothing; the
               second is used by its addresses (west.east-west-2)
  triangle     east, west and south, each pair with its own link: east-west, west-south, south-east

EFFECTS are KEY=VALUE[,KEY=VALUE...] as longhaul-wan reads them (longhaul-wan --help has them all).
Forward is from the region named first in a link to the one named second. Unless told otherwise a
line has {usual},queue={product}; without a delay the queue is {bytes}, without a rate
(unlimited) nothing waits. What stands before the first --link is for all links:

  {tool} up two-paths --rate 1G --link east-west-2 --delay 60ms --forward loss=1%
  {tool} up --both burst_loss=1e-3,burst_length=50 --at 10s:both:down=2s

A scenario is the emulator's own file, with every link of the topology by its name here, without "a"
and "b". What it does not say of a link is not there: no {usual},queue={product}.
{{"seed": 7, "links": [{{"name": "east-west", "both": {{"rate": "1G", "delay": "25ms"}}}}]}}'''

NEGATIVE = re.compile(r'-\d.*')
NUMBER = re.compile(r'[\d.]+')
UNIT = re.compile(r'%|[kKMGT]|us|ms|s|bdp')


class InOrder(argparse.Action):
    """Options whose order means something."""

    def __call__(self, parser, namespace, value, option_string=None):
        word = self.option_strings[0].lstrip('-')
        namespace.effects = [*(namespace.effects or []), (word, value)]


def parsed(words):
    """Refuses with LabError what a person is to read in one line."""
    if words[:1] == ['up']:
        _check_values(words)
    arguments, left = _parser().parse_known_args(words)
    _check_left(arguments, left)
    return arguments


def _parser():
    top = argparse.ArgumentParser(
        prog=tool(), formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG.format(tool=tool()))
    commands = top.add_subparsers(dest='command', required=True, metavar='COMMAND')
    _add_up(commands)
    run = commands.add_parser('run', help='run a command in a region, in the place of this one')
    _add_name(run)
    run.add_argument('region', metavar='REGION')
    run.add_argument('words', metavar='CMD', nargs=argparse.REMAINDER)
    status = commands.add_parser('status', help='labs, links, effects, counters; 1 if an emulator '
                                 'is dead')
    _add_name(status, default=None)
    status.add_argument('--json', action='store_true', help='as one JSON document')
    down = commands.add_parser('down', help='end what runs inside and remove the lab')
    _add_name(down)
    down.add_argument('--all', action='store_true', help='every lab there is')
    return top


def _add_name(command, default=DEFAULT_NAME):
    command.add_argument('--name', default=default, metavar='NAME', help='of the lab'
                         + (f' ({default})' if default else ' (all)'))


def _add_up(commands):
    up = commands.add_parser('up', help='make a lab; returns when packets pass',
                             formatter_class=argparse.RawDescriptionHelpFormatter,
                             description='Makes a lab and returns when packets pass.',
                             epilog=UP_EPILOG.format(
                                 tool=tool(), usual=USUAL, product=default_queue.PRODUCT,
                                 bytes=default_queue.WITHOUT_DELAY))
    up.add_argument('topology', nargs='?', default='two-regions', metavar='TOPOLOGY',
                    help=f'{", ".join(TOPOLOGIES)} (two-regions)')
    _add_name(up)
    for option, text in SHORT.items():
        up.add_argument(f'--{option}', action=InOrder, dest='effects', metavar='X', help=text)
    for option, metavar, text in (
            ('both', 'EFFECTS', 'both directions'),
            ('forward', 'EFFECTS', 'one direction, on top of --both'),
            ('backward', 'EFFECTS', 'the other'),
            ('at', 'TIME:DIRECTION:EFFECTS', 'a change later on, such as 10s:both:down=2s'),
            ('link', 'LINK', 'what follows is for this link only')):
        up.add_argument(f'--{option}', action=InOrder, dest='effects', metavar=metavar, help=text)
    up.add_argument('--scenario', metavar='FILE', help='effects and their schedule from a file')
    up.add_argument('--mtu', type=int, default=1500, help='of every interface (1500)')
    up.add_argument('--seed', type=int, metavar='N',
                    help='of everything random on the lines (1, or what the scenario says)')
    up.add_argument('--emulator', metavar='FILE', help='longhaul-wan (the newest built '
                    'here, of a tree with longhaul-perf too and without sanitizer)')


def _check_values(words):
    """To argparse a negative value is an unknown option, and a unit of its own a topology."""
    apart = [part for word in words
             for part in (word.split('=', 1) if word.startswith('--') else [word])]
    for option, value, unit in zip(apart, apart[1:], [*apart[2:], '']):
        if not option.startswith('--'):
            continue
        if NEGATIVE.fullmatch(value):
            raise LabError(f'{option} {value} is negative; leave the minus out')
        if NUMBER.fullmatch(value) and UNIT.fullmatch(unit):
            raise LabError(f'{option} {value} {unit}: write it without the space, '
                           f'{option} {value}{unit}')


def _check_left(arguments, left):
    """Words that have no place."""
    command = f'{tool()} {arguments.command}'
    if option := next((word for word in left if word.startswith('-')), None):
        raise LabError(f'{option} is no option here: {command} --help')
    if arguments.command == 'up':
        given = [arguments.topology, *left]
        if strange := next((word for word in given if word not in TOPOLOGIES), None):
            raise LabError(f'no topology "{strange}"; there are {", ".join(TOPOLOGIES)}; a lab is '
                           'named with --name')
        if left:
            raise LabError(f'{" ".join(given)}: one topology at a time; labs with different --name '
                           'can be up at once')
    elif left:
        raise LabError(f'"{left[0]}" means nothing here; a lab is named with --name: '
                       f'{command} --name {left[0]}')
