# SPDX-License-Identifier: Apache-2.0
"""Regions and the links between them, as data, and the names and addresses that follow from it.

    two-regions   east ──────── west

    two-paths     east ════════ west        two links that share nothing

    triangle      east ──────── west
                     ╲          ╱
                       south                each pair has its own link
"""

import re
from dataclasses import dataclass

from .errors import LabError

NAME = re.compile(r'[a-z][a-z0-9]{0,23}')


@dataclass(frozen=True)
class Link:
    """`forward` is what goes from the first end to the second."""

    name: str
    ends: tuple
    number: int

    def other(self, region):
        return self.ends[1 - self.ends.index(region)]

    def interface(self, region):
        """Of this link, inside a region's namespace."""
        middle = re.search(r'-\d+$', self.name)
        return f'to-{self.other(region)}{middle.group() if middle else ""}'

    def emulator_interface(self, region):
        """The other end of that, where the emulator is."""
        return f'w{2 * (self.number - 1) + self.ends.index(region)}'

    @property
    def emulator_ends(self):
        return tuple(self.emulator_interface(region) for region in self.ends)


@dataclass(frozen=True)
class Topology:
    """A region has one address of each family that all others reach it by, over the first link they
    share, and one on each of its links."""

    name: str
    regions: tuple
    links: tuple

    def region_number(self, region):
        if region not in self.regions:
            raise LabError(f'{self.name} has no region "{region}"; it has '
                           f'{", ".join(self.regions)}')
        return self.regions.index(region) + 1

    def link(self, name):
        for link in self.links:
            if link.name == name:
                return link
        raise LabError(f'{self.name} has no link "{name}"; it has '
                       f'{", ".join(link.name for link in self.links)}')

    def links_of(self, region):
        return [link for link in self.links if region in link.ends]

    def address(self, region, family=4, link=None):
        """Of a region, or of its end of one link."""
        number = self.region_number(region)
        net = self.link(link).number if link else 0
        if link and region not in self.link(link).ends:
            raise LabError(f'link {link} does not end in {region}')
        if family == 6:
            return f'fd77:{net}::{number}' if net else f'fd77::{number}'
        return f'10.77.{net}.{number}'

    def mac(self, region, link):
        return f'02:4c:48:00:{link.number:02x}:{self.region_number(region):02x}'

    def hosts(self):
        """(name, address) of all that is to be found by name: `west`, and `west.east-west` for its
        end of one link."""
        found = []
        for region in self.regions:
            found += [(region, self.address(region, family)) for family in (4, 6)]
            found += [(f'{region}.{link.name}', self.address(region, family, link.name))
                      for link in self.links_of(region) for family in (4, 6)]
        return found

    def environment(self, lab_name, region):
        """What a command in a region is told."""
        told = {'LONGHAUL_LAB': lab_name, 'LAB_REGION': region}
        for name, address in self.hosts():
            variable = re.sub(r'\W', '_', name).upper()
            told[f'LAB_{variable}_IPV{6 if ":" in address else 4}'] = address
        return told


def _topology(name, regions, *links):
    return Topology(name, regions, tuple(Link(link, ends, number)
                                         for number, (link, *ends) in enumerate(links, 1)
                                         for ends in [tuple(ends)]))


TOPOLOGIES = {topology.name: topology for topology in (
    _topology('two-regions', ('east', 'west'), ('east-west', 'east', 'west')),
    _topology('two-paths', ('east', 'west'),
              ('east-west-1', 'east', 'west'), ('east-west-2', 'east', 'west')),
    _topology('triangle', ('east', 'west', 'south'), ('east-west', 'east', 'west'),
              ('west-south', 'west', 'south'), ('south-east', 'south', 'east')),
)}


def topology_named(name):
    if name not in TOPOLOGIES:
        raise LabError(f'no topology "{name}"; there are {", ".join(TOPOLOGIES)}')
    return TOPOLOGIES[name]


def check_name(name):
    if not NAME.fullmatch(name):
        raise LabError(f'"{name}" cannot name a lab: a small letter, then up to 23 small letters '
                       'and digits')
    return name


def namespace(lab_name, place):
    """Of a region, or of the emulator (`wan`)."""
    return f'lhlab-{lab_name}-{place}'
