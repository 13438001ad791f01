# SPDX-License-Identifier: Apache-2.0
"""scripts/wan-lab for people: up, run, status, down."""

import argparse
import contextlib
import json
import signal
import sys

from . import network, state
from .effects import USUAL, effects_of_options
from .errors import LabError
from .lab import ENDING, Lab, leave_on_signals, load, remove
from .status import describe, lines
from .topology import TOPOLOGIES, topology_named

DEFAULT_NAME = 'default'
# Effects that have an option of their own at `up`, for both directions.
SHORT = {'rate': 'bits a second on the wire, such as 1G',
         'delay': 'one way, such as 25ms: the round trip is twice that',
         'jitter': 'up to so much more delay for each packet',
         'loss': 'share of packets lost, such as 1%% or 1e-3',
         'queue': 'bytes that may wait at the bottleneck, or 1bdp'}
EPILOG = '''a worked example, as root:
  scripts/wan-lab up --delay 25ms --loss 0.1%       # east and west, 50 ms apart
  scripts/wan-lab run west longhaul-perf --generate-key a.key
  scripts/wan-lab run west longhaul-perf -s --key a.key &
  scripts/wan-lab run east longhaul-perf -c west --key a.key -b 900M
  scripts/wan-lab status                            # what the line did to the packets
  scripts/wan-lab down                              # ends what still runs, removes everything

A command run in a region knows all regions by name (east, west), and by variables: $LAB_WEST_IPV4,
$LAB_WEST_IPV6, and $LAB_WEST_EAST_WEST_2_IPV4 (west.east-west-2) for the end of one link; in
quotes, so that your own shell does not fill them in:
  scripts/wan-lab run east sh -c 'ping -c 3 $LAB_WEST_IPV6'
longhaul-perf and longhaul-wan are found without their path, first where the lab's emulator is from.

"scripts/wan-lab up --help" says what a line can do.'''
UP_EPILOG = f'''topologies:
  two-regions  east and west, joined by link east-west
  two-paths    east and west, joined by links east-west-1 and east-west-2 that share nothing; the
               second is used by its addresses (west.east-west-2)
  triangle     east, west and south, each pair with its own link: east-west, west-south, south-east

EFFECTS are KEY=VALUE[,KEY=VALUE...] as longhaul-wan reads them (longhaul-wan --help has them all).
Forward is from the region named first in a link to the one named second. Unless told otherwise a
line has {USUAL}. What stands before the first --link is for all links:

  scripts/wan-lab up two-paths --rate 1G --link east-west-2 --delay 60ms --forward loss=1%
  scripts/wan-lab up --both burst_loss=1e-3,burst_length=50 --at 10s:both:down=2s

A scenario is the emulator's own file, with every link of the topology by its name here, without "a"
and "b". What it does not say of a link is not there: no {USUAL}.
{{"seed": 7, "links": [{{"name": "east-west", "both": {{"rate": "1G", "delay": "25ms"}}}}]}}'''


class InOrder(argparse.Action):
    """Options whose order means something."""

    def __call__(self, parser, namespace, value, option_string=None):
        word = self.option_strings[0].lstrip('-')
        namespace.effects = [*(namespace.effects or []), (word, value)]


def parser():
    top = argparse.ArgumentParser(
        prog='wan-lab', formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG,
        description='Regions on this machine (network namespaces) joined by wide-area lines that '
        'longhaul-wan emulates: rate, delay, loss, bursts, reordering, outages.')
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
                             epilog=UP_EPILOG)
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


def do_up(arguments):
    topology = topology_named(arguments.topology)
    if arguments.scenario and arguments.effects:
        raise LabError('--scenario and effects on the command line exclude each other: put them '
                       'all in one place')
    if not 1280 <= arguments.mtu <= 65535:
        raise LabError(f'--mtu {arguments.mtu}: from 1280, which IPv6 needs, to 65535')
    effects = effects_of_options(topology, arguments.effects or [])
    with Lab(topology.name, effects, name=arguments.name, mtu=arguments.mtu, seed=arguments.seed,
             binary=arguments.emulator, scenario=arguments.scenario, lasting=True) as lab:
        # It is up, so that an interrupt comes too late: nobody is told that it was not made.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        say_ready(lab)


def say_ready(lab):
    option = '' if lab.name == DEFAULT_NAME else f' --name {lab.name}'
    for line in lines(describe(lab)):
        print(line)
    first, second = lab.topology.regions[:2]
    print(f'ready. Try: wan-lab run{option} {first} ping -c 3 {second}; '
          f'remove it with: wan-lab down{option}', flush=True)


def do_run(arguments):
    network.need_tools()
    words = arguments.words[1:] if arguments.words[:1] == ['--'] else arguments.words
    if not words:
        raise LabError(f'what is to run in {arguments.region}? wan-lab run REGION CMD...')
    lab = load(arguments.name)
    if not lab.running():
        print(f'wan-lab: the emulator of "{lab.name}" is dead, nothing passes: '
              f'{lab.emulator.last_words()}', file=sys.stderr)
    lab.execute(arguments.region, words)


def do_status(arguments):
    network.need_tools()
    labs = [load(arguments.name)] if arguments.name else list(all_labs())
    told = [describe(lab) for lab in labs]
    if arguments.json:
        print(json.dumps(told, indent=1))
    elif not told:
        print('no lab is up; "wan-lab up" makes one')
    else:
        print('\n'.join(line for one in told for line in lines(one)))
    return 0 if all(lab.running() for lab in labs) else 1


def all_labs():
    """One may be removed meanwhile."""
    for name in state.names():
        with contextlib.suppress(LabError):
            yield load(name)


def do_down(arguments):
    network.need_tools()
    for name in state.names() if arguments.all else [arguments.name]:
        ended = remove(name)
        inside = f', {ended} process{"es" if ended > 1 else ""} inside it ended' if ended else ''
        print(f'lab {name} removed{inside}')


def main(words=None):
    arguments = parser().parse_args(words)
    leave_on_signals()
    do = {'up': do_up, 'run': do_run, 'status': do_status, 'down': do_down}[arguments.command]
    try:
        return do(arguments) or 0
    except LabError as error:
        print(f'wan-lab: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('wan-lab: interrupted', file=sys.stderr)
        return 130
