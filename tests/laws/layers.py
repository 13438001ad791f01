# SPDX-License-Identifier: Apache-2.0
"""The layer law on includes: arrows point down only. usage: layers.py SOURCE_ROOT"""

import re
import sys
from pathlib import Path

import tree

# Folder -> what it may include besides itself. 'vocabulary' is include/longhaul without the faces
# (endpoint, connection, longhaul), 'public' is all of it.
ALLOWED = {
    'include/longhaul': {'public'},
    'lib/base': {'vocabulary'},
    'lib/wire': {'vocabulary', 'lib/base'},
    'lib/crypto': {'vocabulary', 'lib/base', 'lib/wire'},
    'lib/recovery': {'vocabulary', 'lib/base', 'lib/wire'},
    'congestion': {'vocabulary', 'lib/base'},
    'fec': {'vocabulary', 'lib/base'},
    'lib/path': {'vocabulary', 'lib/base', 'lib/wire', 'lib/crypto', 'lib/recovery', 'congestion'},
    'lib/transfer': {'vocabulary', 'lib/base', 'lib/wire', 'lib/crypto', 'lib/recovery', 'fec'},
    'lib/connection': {'vocabulary', 'lib/base', 'lib/wire', 'lib/crypto', 'lib/recovery',
                       'lib/path', 'lib/transfer', 'congestion', 'fec'},
    'lib/endpoint': {'vocabulary', 'lib/base', 'lib/wire', 'lib/crypto', 'lib/recovery',
                     'lib/path', 'lib/transfer', 'lib/connection', 'congestion', 'fec'},
    'lib/netmodel': {'vocabulary', 'lib/base'},
    'lib/io': {'vocabulary', 'lib/base', 'lib/netmodel'},
    'lib/runtime': {'vocabulary', 'lib/base', 'lib/wire', 'lib/crypto', 'lib/endpoint',
                    'lib/connection', 'lib/netmodel', 'lib/io', 'congestion', 'fec'},
    'lib/api': {'public', 'lib/base', 'lib/crypto', 'lib/endpoint', 'lib/netmodel', 'lib/io',
                'lib/runtime', 'congestion', 'fec'},
    'apps/common': {'public'},
    'apps/wan': {'public', 'lib/netmodel', 'apps/common'},
    'apps': {'public', 'apps/common'},
}
# Benchmarks and tests look at the parts themselves.
FREE = ('perf', 'tests')
CORE = ('lib/wire', 'lib/crypto', 'lib/recovery', 'lib/path', 'lib/transfer', 'lib/connection',
        'lib/endpoint')
FACES = ('longhaul/endpoint.hpp', 'longhaul/connection.hpp', 'longhaul/longhaul.hpp')
# The widest class of the core: whoever includes it couples to all of a connection.
NARROW = {'lib/connection/connection.hpp':
          ('lib/connection', 'lib/endpoint', 'lib/runtime', 'tests/unit/connection')}
# Seeded numbers tell whoever sees one all the others, and the core's numbers get seen.
GUESSABLE = 'lib/base/random.hpp'
# System headers that belong to one place.
ONLY_IN = (
    (re.compile(r'rte_\w+\.h$'), ('lib/io/dpdk',), 'DPDK'),
    (re.compile(r'liburing(\.h|/)'), ('lib/io/kernel',), 'liburing'),
)
# Headers that bring a clock, a socket or a thread into a core that must have none.
SYSTEM = re.compile(r'(thread|mutex|shared_mutex|condition_variable|future|semaphore|stop_token'
                    r'|latch|barrier|pthread\.h|time\.h|ctime|poll\.h|netdb\.h|fcntl\.h|unistd\.h'
                    r'|(sys|netinet|net|arpa|linux)/.*)$')
# Turning addresses into text and back is arithmetic, although it lives among the sockets.
ADDRESS_TEXT = {'lib/base': ('arpa/inet.h', 'netinet/in.h')}
SANS_IO = CORE + ('congestion', 'fec', 'lib/base', 'lib/netmodel')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The row of ALLOWED (or FREE) a project path belongs to; None if there is none."""
    parts = Path(path).parts
    for depth in (2, 1):
        name = '/'.join(parts[:depth])
        if len(parts) > depth and (name in ALLOWED or name in FREE):
            return name
    return None


def target_of(included):
    """What an include names: a row of ALLOWED, 'public', 'vocabulary', or None for outside."""
    if included.startswith('longhaul/') or included.startswith('include/longhaul/'):
        return 'public' if included.removeprefix('include/') in FACES else 'vocabulary'
    if included.split('/')[0] in ('lib', 'congestion', 'fec', 'apps', 'perf', 'tests'):
        return folder_of(included) or '/'.join(Path(included).parts[:2])
    return None


def check_project_include(path, number, folder, included):
    target = target_of(included)
    if target is None:
        return None
    for narrow, places in NARROW.items():
        if included == narrow and not any(path.startswith(place + '/') for place in places):
            return tree.Finding(path, number,
                                f'{included} is included outside {", ".join(places)}',
                                'depend on the one duty you need, not on the whole connection')
    if included == GUESSABLE and folder in CORE:
        return tree.Finding(path, number, f'{folder} includes {included}, whose numbers tell those '
                            'that follow', 'draw from a base::RandomSource: crypto::SecretRandom')
    if folder in FREE or target == folder:
        return None
    allowed = ALLOWED[folder]
    if target in allowed or (target == 'vocabulary' and 'public' in allowed):
        return None
    if folder in CORE and target == 'lib/io':
        remedy = 'the core is sans-IO: take packets and time as arguments; lib/runtime joins both'
    elif folder == 'lib/io' and target in CORE:
        remedy = 'a backend moves packets and never sees the protocol; lib/runtime joins both'
    elif folder in ('congestion', 'fec'):
        remedy = 'a policy sees lib/base and vocabulary headers only: pass an event record instead'
    elif folder.startswith('apps'):
        remedy = 'programs use include/longhaul only; what they miss belongs there'
    else:
        remedy = (f'{folder} may include {", ".join(sorted(allowed))}; move the code up, or what '
                  'it needs down')
    what = f'the face {included}' if target == 'public' else target
    return tree.Finding(path, number, f'{folder} includes {what}', remedy)


def check_system_include(path, number, folder, included):
    for pattern, places, name in ONLY_IN:
        if pattern.match(included) and not any(path.startswith(p + '/') for p in places):
            return tree.Finding(path, number, f"{name}'s header <{included}> outside {places[0]}",
                                f'{name} stays inside {places[0]}; talk to it through lib/io')
    harmless = included in ADDRESS_TEXT.get(folder, ())
    if folder in SANS_IO and SYSTEM.match(included) and not harmless:
        return tree.Finding(path, number, f'{folder} includes <{included}>',
                            'no clock, socket or thread here: take time and packets as arguments')
    return None


def check_file(root, path):
    findings = []
    name = path.as_posix()
    folder = folder_of(name)
    if folder is None:
        return [tree.Finding(name, 1, 'this folder has no row in the layer table',
                             'add one to ALLOWED in tests/laws/layers.py: what may it include?')]
    for number, line in enumerate(tree.lines_of(root, path), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, included = match.groups()
        if kind == '"' and included.startswith('../'):
            findings.append(tree.Finding(name, number, f'relative include {included}',
                                         'include from the project root: "lib/…/x.hpp"'))
            continue
        if kind == '"' and target_of(included) is None and folder not in FREE:
            findings.append(tree.Finding(name, number, f'"{included}" names no project folder',
                                         'quotes are for "lib/…" and "longhaul/…", <> for others'))
            continue
        finding = (check_project_include(name, number, folder, included) or
                   check_system_include(name, number, folder, included))
        if finding:
            findings.append(finding)
    return findings


def check(root):
    paths = tree.cpp_files(root)
    return [finding for path in paths for finding in check_file(root, path)], len(paths)


if __name__ == '__main__':
    tree.report('layer law', *check(Path(sys.argv[1])))
