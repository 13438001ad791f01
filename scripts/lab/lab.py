# SPDX-License-Identifier: Apache-2.0
"""A lab: regions as namespaces, and the lines between them as longhaul-wan emulates them."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time

from . import effects as line_effects
from . import called, emulator, network, processes, programs, state
from . import scenario as scenarios
from .errors import LabError, written_in
from .topology import TOPOLOGIES, check_name, namespace, topology_named

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_numbers = itertools.count(1)


class Lab:
    """
        with Lab('two-regions', 'rate=1G,delay=25ms') as lab:
            server = lab.popen('west', ['longhaul-perf', '-s', …])
            lab.run('east', ['longhaul-perf', '-c', lab.address('west'), …])
            lost = lab.finish()['east-west']['forward']['lost']

    `effects` are EFFECTS for both directions of every link, LinkEffects, or a dictionary of either
    by link; `scenario` is a file in their place. A lab goes with the process that made it; one that
    is `lasting` stays until it is removed by its name, unless an exception leaves its `with`."""

    def __init__(self, topology='two-regions', effects='', *, name=None, mtu=1500, seed=None,
                 binary=None, scenario=None, lasting=False):
        self.topology = topology_named(topology)
        self.name = check_name(f'p{os.getpid()}n{next(_numbers)}' if name is None else name)
        self.mtu, self.seed, self.lasting = mtu, seed, lasting
        self.scenario, self._document = scenario, None
        self.effects = line_effects.effects_by_link(self.topology, effects)
        self.folder = state.folder(self.name)
        self.binary = binary
        self.since = self.maker = None
        self.emulator = None
        self.network = network.Network(self.topology, self.name, mtu)

    def __enter__(self):
        return self.up()

    def __exit__(self, kind, *error):
        if kind or not self.lasting:
            self.down()

    # Made and removed.

    def up(self):
        """Makes it all; returns when packets pass. If anything fails nothing is left behind."""
        network.need_tools()
        if self.scenario:
            self._document = scenarios.read(self.topology, self.scenario)
        self.binary = programs.find_emulator(self.binary)
        for orphan in state.orphans():
            with contextlib.suppress(LabError):
                remove(orphan)
        self.maker = processes.identity(os.getpid())
        with written_in(state.ROOT):
            state.claim(self.name, self._told())
        try:
            self.network.check_free()
        except BaseException:
            # What is there somebody else has made, and may be using.
            state.forget(self.name)
            raise
        try:
            self.network.make()
            with written_in(state.ROOT):
                self._start()
        except BaseException:
            self.down()
            raise
        return self

    def _start(self):
        self.emulator = emulator.Emulator(self.folder, self.binary)
        document = self._document or scenarios.made(self.topology, self.effects)
        path = self.folder / 'scenario.json'
        path.write_text(json.dumps(document, indent=1), encoding='utf-8')
        seed = [] if self.seed is None else ['--seed', self.seed]
        try:
            self.emulator.start(self.prefix(network.WAN), ['--scenario', path, *seed], self.lasting)
        except LabError as error:
            raise LabError(scenarios.retold(str(error), path, document, self.scenario)) from None
        self.effects = scenarios.effects(document)
        self.since = time.time()
        state.save(self.name, self._told())

    def _told(self):
        return {
            'maker': self.maker, 'topology': self.topology.name, 'mtu': self.mtu, 'seed': self.seed,
            'binary': self.binary and str(self.binary), 'since': self.since,
            'scenario': os.path.abspath(self.scenario) if self.scenario else None,
            'effects': {name: vars(value) for name, value in self.effects.items()},
            'owner': None if self.lasting else self.maker,
            'emulator': self.emulator and self.emulator.who}

    def down(self):
        """Ends what runs inside, removes what was made; returns how many processes had to end.
        Leaves alone another lab that has got the name meanwhile."""
        with uninterrupted():
            if self.emulator:
                self.emulator.stop()
            if state.maker(self.name) not in (None, self.maker):
                return 0
            ended = self.network.remove()
            state.forget(self.name)
        return ended

    def end_maker(self):
        """A `wan-lab up` that is still at it: what it makes after the removal nobody would remove,
        or it would be taken for that of the next lab of the name."""
        if self.lasting and self.since is None and self.maker != processes.identity(os.getpid()):
            processes.end([self.maker] if self.maker else [], 3)

    # Used.

    def namespace(self, place):
        """Of a region, or of the emulator (`wan`)."""
        return namespace(self.name, place)

    def prefix(self, place):
        """Words that make a command run there."""
        return ['ip', 'netns', 'exec', self.namespace(place)]

    def address(self, region, family=4, link=None):
        return self.topology.address(region, family, link)

    def environment(self, region):
        """For a command in a region: the addresses, and where the project's programs are."""
        self.topology.region_number(region)
        return {**os.environ, **self.topology.environment(self.name, region),
                'PATH': programs.search_path(self.binary)}

    def run(self, region, command, **how):
        """As subprocess.run."""
        return subprocess.run(self._inside(region, command), env=self.environment(region),
                              check=how.pop('check', False), **how)

    def popen(self, region, command, **how):
        """As subprocess.Popen."""
        return subprocess.Popen(self._inside(region, command), env=self.environment(region), **how)

    def execute(self, region, command):
        """In the place of this process."""
        environment = self.environment(region)
        if not shutil.which(command[0], path=environment['PATH']):
            how = (f'; {programs.HOW_TO_BUILD}' if command[0] in programs.NAMES
                   else '; name it by its path')
            raise LabError(f'{command[0]} is no program that is found here{how}')
        words = self._inside(region, command)
        os.execvpe(words[0], words, environment)

    def _inside(self, region, command):
        self.topology.region_number(region)
        if not network.exists(self.namespace(region)):
            raise LabError(f'namespace {self.namespace(region)} of {region} is gone; '
                           f'{self.again()}')
        return [*self.prefix(region), *map(str, command)]

    # Watched.

    def running(self):
        return self.emulator is not None and self.emulator.running()

    def again(self):
        """The remedy for one that is broken."""
        return f'start again: {called.down(self.name)}, then up as before'

    def report(self):
        """All that the emulator has told, at most a second old; `bottleneck` says whether the line
        was that, or the emulator."""
        return self.emulator.report()

    def counters(self):
        """{link: {'forward': {name: count}, 'backward': …}}, at most a second old."""
        return {link['name']: link for link in self.report()['links']}

    def finish(self):
        """Ends the emulator, and with it the line; its counters. Namespaces stay."""
        if not self.running():
            raise LabError(f'longhaul-wan ended too early: {self.emulator.last_words()}')
        self.emulator.stop()
        return self.counters()

    def change(self, effects):
        """Another line between the same regions, with counters from zero."""
        self.emulator.stop()
        self.scenario, self._document = None, None
        self.effects = line_effects.effects_by_link(self.topology, effects)
        self._start()


def load(name):
    """A lab that exists, to use it or to remove it."""
    document = state.load(check_name(name))
    if document is None:
        raise LabError(f'the lab "{name}" was not completed: "{called.down(name)}"')
    try:
        return _restored(name, document)
    except (LabError, AttributeError, KeyError, TypeError, ValueError):
        raise state.broken(name) from None


def _restored(name, document):
    lab = Lab(document['topology'], '', name=name, mtu=document['mtu'], seed=document['seed'],
              binary=document['binary'], scenario=document['scenario'],
              lasting=document['owner'] is None)
    lab.since = document['since'] and float(document['since'])
    lab.maker = processes.read(document.get('maker'))
    told = {link.name: document['effects'][link.name] for link in lab.topology.links}
    lab.effects = {link: line_effects.LinkEffects(**{**value, 'at': tuple(value['at'])})
                   for link, value in told.items()}
    lab.emulator = emulator.Emulator(lab.folder, lab.binary, processes.read(document['emulator']))
    return lab


def remove(name):
    """A lab by its name, however much of it is there; returns how many processes had to end."""
    check_name(name)
    try:
        lab = load(name)
    except LabError:
        lab = None
    if lab:
        lab.end_maker()
        return lab.down()
    # What it says of itself is broken, or /run was emptied.
    left = [topology for topology in TOPOLOGIES.values()
            if any(map(network.exists, network.namespaces(topology, name)))]
    if not left and name not in state.names():
        state.load(name)
    ended = sum(network.Network(topology, name, 0).remove() for topology in left)
    state.forget(name)
    return ended


def leave_on_signals():
    """Ctrl-C, SIGTERM and a closed terminal end through the clean-up."""
    def interrupt(*_):
        raise KeyboardInterrupt
    for number in ENDING:
        signal.signal(number, interrupt)


@contextlib.contextmanager
def uninterrupted():
    """Who asks a second time for the end waits until all is removed."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
