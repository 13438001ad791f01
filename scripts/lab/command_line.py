# SPDX-License-Identifier: Apache-2.0
"""scripts/wan-lab for people: up, run, status, down."""

import json
import os
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
    first, second = lab.topology.regions[:2]
    say(*lines(describe(lab)),
        f'ready. Try: {on(lab.name, "run")} {first} ping -c 3 {second}; '
        f'remove it with: {down(lab.name)}',
        unheard=f'; the lab is up all the same, remove it with: {down(lab.name)}')


def say(*told, unheard=''):
    """To a reader who may have gone, or a disk that may be full: what was done stays done."""
    try:
        print(*told, sep='\n', flush=True)
    except OSError as error:
        # What is left in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise LabError(f'standard output: {error.strerror}{unheard}') from None


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
    labs, broken = all_labs() if arguments.name is None else ([load(arguments.name)], [])
    told = [describe(lab) for lab in labs]
    if arguments.json:
        say(json.dumps(told, indent=1))
    elif told:
        say(*(line for one in told for line in lines(one)))
    elif not broken:
        say(f'no lab is up; "{tool()} up" makes one')
    for error in broken:
        complain(error)
    return 0 if all(lab.running() for lab in labs) and not broken else 1


def all_labs():
    """And what is wrong with those that cannot be told of. One may be removed meanwhile."""
    labs, broken = [], []
    for name in state.names():
        try:
            labs.append(load(name))
        except LabError as error:
            if name in state.names():
                broken.append(error)
    return labs, broken


def do_down(arguments):
    network.need_tools()
    removed, failed = [], False
    for name in state.names() if arguments.all else [arguments.name]:
        try:
            ended = remove(name)
        except LabError as error:
            complain(error)
            failed = True
            continue
        inside = f', {ended} process{"es" if ended > 1 else ""} inside it ended' if ended else ''
        removed.append(f'lab {name} removed{inside}')
    if removed:
        say(*removed)
    return 1 if failed else 0


def complain(error):
    print(f'wan-lab: {error}', file=sys.stderr)


def main(words=None):
    leave_on_signals()
    do = {'up': do_up, 'run': do_run, 'status': do_status, 'down': do_down}
    try:
        arguments = parsed(sys.argv[1:] if words is None else words)
        return do[arguments.command](arguments) or 0
    except LabError as error:
        complain(error)
        return 1
    except OSError as error:
        complain(f'{error.filename or "the system"}: {error.strerror}')
        return 1
    except KeyboardInterrupt:
        print('wan-lab: interrupted', file=sys.stderr)
        return 130
