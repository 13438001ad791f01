# SPDX-License-Identifier: Apache-2.0
"""What each link of a lab does to packets: EFFECTS as longhaul-wan reads them, put together from
several places. Which keys and values make sense the emulator alone decides, and says."""

from dataclasses import dataclass, field

from .errors import LabError

WAYS = ('forward', 'backward')
DIRECTIONS = ('both', *WAYS)
# 1 Gbit/s and a round trip of 50 ms.
USUAL = 'rate=1G,delay=25ms'


def parse(text):
    """`rate=1G,delay=25ms` as a dictionary, in its order."""
    found = {}
    for part in filter(None, text.split(',')):
        key, equals, value = part.partition('=')
        if not equals or not key.strip() or not value.strip():
            raise LabError(f'"{part}" is no effect: KEY=VALUE[,KEY=VALUE…] such as {USUAL}')
        found[key.strip()] = value.strip()
    return found


def parse_change(text):
    """`10s:both:down=2s` as its time, direction and EFFECTS."""
    parts = text.split(':', 2)
    if len(parts) < 3 or not all(parts):
        raise LabError(f'"{text}" is no change: TIME:DIRECTION:EFFECTS such as 10s:both:down=2s')
    return tuple(parts)


def render(effects):
    return ','.join(f'{key}={value}' for key, value in effects.items())


def merge(*texts):
    """Later ones override key by key."""
    merged = {}
    for text in texts:
        merged.update(parse(text))
    return render(merged)


@dataclass(frozen=True)
class LinkEffects:
    """`both` for both directions and `forward` and `backward` on top of it, as EFFECTS; `at` has
    changes as TIME:DIRECTION:EFFECTS."""

    both: str = ''
    forward: str = ''
    backward: str = ''
    at: tuple = field(default_factory=tuple)

    def plus(self, direction, text):
        """These effects with more on top; `direction` may be `at`."""
        if direction == 'at':
            parse(parse_change(text)[2])
            return LinkEffects(self.both, self.forward, self.backward, (*self.at, text))
        values = {name: getattr(self, name) for name in DIRECTIONS}
        values[direction] = merge(values[direction], text)
        return LinkEffects(**values, at=self.at)

    def under(self, text):
        """These on top of others for both directions."""
        return LinkEffects(merge(text, self.both), self.forward, self.backward, self.at)

    def words(self):
        """As on a command line."""
        words = [word for direction in DIRECTIONS if getattr(self, direction)
                 for word in (f'--{direction}', getattr(self, direction))]
        return words + [word for change in self.at for word in ('--at', change)]


def effects_by_link(topology, effects):
    """`effects` may be EFFECTS for both directions of every link, LinkEffects for every link, or a
    dictionary of either by the name of the link."""
    def of_one(value):
        return value if isinstance(value, LinkEffects) else LinkEffects(both=merge(value))

    if isinstance(effects, dict):
        known = {topology.link(name).name: of_one(value) for name, value in effects.items()}
        return {link.name: known.get(link.name, LinkEffects()) for link in topology.links}
    return {link.name: of_one(effects) for link in topology.links}


def effects_of_options(topology, options, usual=USUAL):
    """From (option, value) in the order of the command line. What comes before the first `link`
    concerns every link, on top of the usual ones."""
    links = {link.name: LinkEffects(both=usual) for link in topology.links}
    chosen = list(links)
    for option, value in options:
        if option == 'link':
            chosen = [topology.link(value).name]
            continue
        direction, text = (option, value) if option in (*DIRECTIONS, 'at') else (
            'both', f'{option}={value}')
        for name in chosen:
            links[name] = links[name].plus(direction, text)
    return links
