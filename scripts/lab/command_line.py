# SPDX-License-Identifier: Apache-2.0
"""scripts/wan-lab for people: up, run, status, down."""

import contextlib
import json
import signal
import sys

from . import default_queue, network, state
from .called import DEFAULT_NAME, down, on, tool
from .effects import effects_of_options
from .errors import LabError
from .lab import ENDING, Lab, leave_on_signals, load, remove
from .options import parsed
from .status import describe, lines
from .topology import TOPOLOGIES, topology_named


def do_up(arguments):
    topology = topology_named(arguments.topology)
    if arguments.scenario and arguments.effects:
        raise LabError('--scenario and effects on the command line exclude each other: put them '
                       'all in one place')
    if not 1280 <= arguments.mtu <= 65535:
        raise LabError(f'--mtu {arguments.mtu}: from 1280, which IPv6 needs, to 65535')
    effects = {link: default_queue.fill(asked) for link, asked in
               effects_of_options(topology, arguments.effects or []).items()}
    with Lab(topology.name, effects, name=arguments.name, mtu=arguments.mtu, seed=arguments.seed,
             binary=arguments.emulator, scenario=arguments.scenario, lasting=True) as lab:
        # It is up, so that an interrupt comes too late: nobody is told that it was not made.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        say_ready(lab)


def say_ready(lab):
    for line in lines(describe(lab)):
        print(line)
    first, second = lab.topology.regions[:2]
    print(f'ready. Try: {on(lab.name, "run")} {first} ping -c 3 {second}; '
          f'remove it with: {down(lab.name)}', flush=True)


def do_run(arguments):
    network.need_tools()
    words = arguments.words[1:] if arguments.words[:1] == ['--'] else arguments.words
    check_region(arguments)
    if not words:
        raise LabError(f'what is to run in {arguments.region}? '
                       f'{on(arguments.name, "run")} {arguments.region} CMD...')
    lab = load(arguments.name)
    if not lab.running() and network.exists(lab.namespace(arguments.region)):
        print(f'wan-lab: the emulator of "{lab.name}" is dead ({lab.emulator.fate()}), so nothing '
              f'passes; {lab.again()}', file=sys.stderr)
    lab.execute(arguments.region, words)


def check_region(arguments):
    """Who names a lab in its place means --name."""
    known = {region for topology in TOPOLOGIES.values() for region in topology.regions}
    if (arguments.name == DEFAULT_NAME and arguments.region not in known
            and arguments.region in state.names()):
        raise LabError(f'"{arguments.region}" is a lab and no region: '
                       f'{on(arguments.region, "run")} REGION CMD...')


def do_status(arguments):
    network.need_tools()
    labs = list(all_labs()) if arguments.name is None else [load(arguments.name)]
    told = [describe(lab) for lab in labs]
    if arguments.json:
        print(json.dumps(told, indent=1))
    elif not told:
        print(f'no lab is up; "{tool()} up" makes one')
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
    leave_on_signals()
    do = {'up': do_up, 'run': do_run, 'status': do_status, 'down': do_down}
    try:
        arguments = parsed(sys.argv[1:] if words is None else words)
        return do[arguments.command](arguments) or 0
    except LabError as error:
        print(f'wan-lab: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('wan-lab: interrupted', file=sys.stderr)
        return 130
