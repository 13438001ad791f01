# SPDX-License-Identifier: Apache-2.0
"""The emulator's own file: made for a lab from its effects, or read from a user and filled in. It
is what makes the emulator call links by the lab's names."""

import json
import re
from pathlib import Path

from .effects import DIRECTIONS, LinkEffects, parse, parse_change, render
from .errors import LabError


def made(topology, effects):
    """A scenario for LinkEffects by link."""
    return {'links': [{'name': link.name, **_ends(link), **_entry(effects[link.name])}
                      for link in topology.links]}


def read(topology, path):
    """A user's, with the lab's interfaces put in; its links go by the lab's names of them. What
    else stands in it the emulator checks."""
    try:
        # A pipe may never say anything, and a device never end.
        if Path(path).exists() and not Path(path).is_file():
            raise LabError(f'scenario {path} is no regular file: write it to one')
        # Editors elsewhere put a mark in front, and the emulator takes it.
        document = json.loads(Path(path).read_text(encoding='utf-8-sig'))
        # It is to be written again, and that may go less deep than reading.
        json.dumps(document, indent=1)
    except OSError as error:
        raise LabError(f'scenario {path}: {error.strerror}') from None
    except RecursionError:
        raise LabError(f'scenario {path} is nested too deep: no scenario needs that') from None
    except ValueError as error:
        raise LabError(f'scenario {path} is no JSON: {error}') from None
    known = ', '.join(link.name for link in topology.links)
    links = document.get('links') if isinstance(document, dict) else None
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        raise LabError(f'scenario {path} has no "links": a list of objects, each with the "name" '
                       f'of a link: {known}')
    named = [link.get('name') for link in links]
    for link, name in zip(links, named):
        if not isinstance(name, str):
            raise LabError(f'scenario {path}: a link has no "name"; there are {known}')
        if name not in [each.name for each in topology.links]:
            raise LabError(f'scenario {path}: {topology.name} has no link "{name}"; it has {known}')
        if named.count(name) > 1:
            raise LabError(f'scenario {path} names link {name} twice')
        link.update(_ends(topology.link(name)))
    missing = [link.name for link in topology.links if link.name not in named]
    if missing:
        raise LabError(f'scenario {path} says nothing of {", ".join(missing)}: describe every link '
                       f'of {topology.name}; {{"name": "{missing[0]}"}} alone is a line without '
                       'any effect')
    return document


def effects(document):
    """LinkEffects by link of a scenario that the emulator has accepted."""
    return {link['name']: LinkEffects(
        *(_words(link.get(direction, {})) for direction in DIRECTIONS),
        tuple(f'{change["at"]}:{change["direction"]}:{_words(change.get("effects", {}))}'
              for change in link.get('schedule', []))) for link in document['links']}


def retold(words, path, document, given):
    """What the emulator says of the file at `path`, as said of what the user gave: his own file, or
    the command line."""
    words = words.replace(f'{path}: ', f'{given}: ' if given else '').replace(
        str(path), str(given or 'the scenario'))

    def name(found):
        links = document['links']
        number = int(found[1]) - 1
        return f'link {links[number]["name"]}' if number < len(links) else found[0]
    return re.sub(r'\blink (\d+)\b', name, words, count=1)


def _ends(link):
    return dict(zip('ab', link.emulator_ends))


def _entry(link):
    entry = {direction: parse(getattr(link, direction)) for direction in DIRECTIONS
             if getattr(link, direction)}
    if link.at:
        entry['schedule'] = [{'at': at, 'direction': direction, 'effects': parse(text)}
                             for at, direction, text in map(parse_change, link.at)]
    return entry


def _words(effects_of_one):
    return render({key: value if isinstance(value, str) else json.dumps(value)
                   for key, value in effects_of_one.items()})
