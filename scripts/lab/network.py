# SPDX-License-Identifier: Apache-2.0
"""Namespaces, veth pairs, addresses and routes of a lab.

    lhlab-NAME-east                lhlab-NAME-wan               lhlab-NAME-west
      lo 10.77.0.1, fd77::1                                       lo 10.77.0.2, fd77::2
      to-west 10.77.1.1 ── veth ── w0  longhaul-wan  w1 ── veth ── to-east 10.77.1.2
"""

import functools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from . import called, processes
from .errors import LabError, Unavailable, written_in
from .shared_folder import inside, leave
from .topology import namespace

WAN = 'wan'
# What the emulator has to see is what a network card would send: whole, with its checksum.
OFFLOADS_OFF = [word for feature in ('tx', 'tso', 'gso', 'gro', 'tx-udp-segmentation')
                for word in (feature, 'off')]
# For those that are asked to end, and for all of them together with what they leave behind.
GRACE, ENDING_SECONDS = 3, 15
HOSTS = Path('/etc/netns')
LOCALHOST = '127.0.0.1 localhost\n::1 localhost\n'


def need_tools():
    if os.geteuid() != 0:
        raise Unavailable('network namespaces need root: run it with sudo')
    for tool, package in (('ip', 'iproute2'), ('ethtool', 'ethtool')):
        if not shutil.which(tool):
            raise Unavailable(f'{tool} is missing: apt-get install {package}')


def _run(*words, error=LabError):
    done = subprocess.run(list(map(str, words)), text=True, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise error(f'{" ".join(map(str, words))}: {_cause(done)}')
    return done.stdout


def _cause(done):
    """Who is killed says nothing: a removal ends what runs in a namespace."""
    return (done.stderr.strip() or (f'ended by signal {-done.returncode}' if done.returncode < 0
                                    else f'exit status {done.returncode}')).splitlines()[0]


def _batch(where, lines):
    """Many `ip` commands in one process. The first that fails is named."""
    done = subprocess.run(['ip', '-n', where, '-batch', '-'], text=True, check=False,
                          input='\n'.join(lines) + '\n', stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        at = re.search(r'^Command failed -:(\d+)', done.stderr, re.M)
        command = lines[int(at[1]) - 1] if at else lines[0]
        raise LabError(f'ip -n {where} {command}: {_cause(done)}')


def namespaces(topology, name):
    return [namespace(name, place) for place in (*topology.regions, WAN)]


def exists(where):
    return Path('/run/netns', where).exists()


class Network:
    """Makes and removes what a topology needs under a lab's name."""

    def __init__(self, topology, name, mtu):
        self.topology, self.name, self.mtu = topology, name, mtu

    def check_free(self):
        """Nothing of it is there yet."""
        for where in filter(exists, namespaces(self.topology, self.name)):
            raise LabError(f'namespace {where} exists: remove it with '
                           f'"{called.down(self.name)}", or choose another --name')

    def make(self):
        for where in namespaces(self.topology, self.name):
            _run('ip', 'netns', 'add', where, error=Unavailable)
        for link in self.topology.links:
            for region in link.ends:
                self._make_veth(link, region)
        for region in self.topology.regions:
            self._configure(region)
        with written_in(HOSTS):
            self._write_hosts()

    def _make_veth(self, link, region):
        wan, here = namespace(self.name, WAN), namespace(self.name, region)
        near, far = link.interface(region), link.emulator_interface(region)
        # No addresses of its own at the emulator's end, so that it says nothing by itself.
        _batch(wan, [
            f'link add {far} mtu {self.mtu} type veth peer name {near} mtu {self.mtu} '
            f'address {self.topology.mac(region, link)} netns {here}',
            f'link set {far} addrgenmode none', f'link set {far} up'])
        for where, device in ((wan, far), (here, near)):
            _run('ip', 'netns', 'exec', where, 'ethtool', '-K', device, *OFFLOADS_OFF)

    def _configure(self, region):
        """Neighbours are told, not asked for: what the line does to ARP is not the question."""
        topology = self.topology
        lines = ['link set lo up', f'addr add {topology.address(region, 4)}/32 dev lo',
                 f'addr add {topology.address(region, 6)}/128 dev lo nodad']
        reached = set()
        for link in topology.links_of(region):
            device, other = link.interface(region), link.other(region)
            lines += [f'link set {device} addrgenmode none', f'link set {device} up']
            for family, prefix in ((4, 24), (6, 64)):
                there = topology.address(other, family, link.name)
                lines += [
                    f'addr add {topology.address(region, family, link.name)}/{prefix} dev {device}'
                    + (' nodad' if family == 6 else ''),
                    f'neigh add {there} lladdr {topology.mac(other, link)} dev {device} '
                    'nud permanent']
                if other not in reached:
                    lines.append(f'route add {topology.address(other, family)} via {there} '
                                 f'dev {device} src {topology.address(region, family)}')
            reached.add(other)
        _batch(namespace(self.name, region), lines)

    def _write_hosts(self):
        """`ip netns exec` puts these in the place of /etc/hosts."""
        lines = [f'{address} {host}\n' for host, address in self.topology.hosts()]
        for region in self.topology.regions:
            folder = HOSTS / namespace(self.name, region)
            inside(HOSTS, functools.partial(folder.mkdir, exist_ok=True))
            (folder / 'hosts').write_text(LOCALHOST + ''.join(lines), encoding='ascii')

    def inhabitants(self):
        """Processes in the namespaces, by namespace, without the one that asks and those above."""
        own = set(processes.ancestors(os.getpid()))
        found = {}
        for where in filter(exists, namespaces(self.topology, self.name)):
            pids = map(int, subprocess.run(['ip', 'netns', 'pids', where], text=True, check=False,
                                           stdout=subprocess.PIPE).stdout.split())
            found[where] = [who for who in map(processes.identity, pids) if who
                            and who[0] not in own]
        return found

    def remove(self):
        """Whatever of it is there; returns how many processes had to end."""
        ended = self._end_inhabitants()
        for where in filter(exists, namespaces(self.topology, self.name)):
            try:
                _run('ip', 'netns', 'del', where)
            except LabError:
                # Somebody else may remove the same lab.
                if exists(where):
                    raise
        for region in self.topology.regions:
            shutil.rmtree(HOSTS / namespace(self.name, region), ignore_errors=True)
        leave(HOSTS)
        # An emulator that nobody remembers is not what a user has started.
        emulators = namespace(self.name, WAN)
        return sum(len(each) for where, each in ended.items() if where != emulators)

    def _end_inhabitants(self):
        """With what they start in their last moments, which is given none. By namespace."""
        ended, grace, deadline = {}, GRACE, time.monotonic() + ENDING_SECONDS
        while found := {where: each for where, each in self.inhabitants().items() if each}:
            if time.monotonic() > deadline:
                pids = ', '.join(str(who[0]) for each in found.values() for who in each[:5])
                raise LabError(f'what runs in lab "{self.name}" does not end, or starts again and '
                               f'again: end it (process {pids}), then "{called.down(self.name)}"')
            processes.end([who for each in found.values() for who in each], grace)
            for where, each in found.items():
                ended.setdefault(where, set()).update(each)
            grace = 0
        return ended
