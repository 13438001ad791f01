# SPDX-License-Identifier: Apache-2.0
"""Installs the Debian packages in a folder, lets a C and a C++ program built against them exchange
a tensor, purges the packages, and looks for what is left. Needs root.
usage: package_check.py FOLDER"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import exchange

PACKAGES = ('liblonghaul0', 'liblonghaul-dev', 'longhaul-tools')


def states():
    """Every package dpkg knows, with its state."""
    return exchange.run(['dpkg-query', '-W', '-f', '${Package}:${Architecture} ${db:Status-Abbrev} '
                         '${Version}\n'])


def installed():
    known = subprocess.run(['dpkg-query', '-W', '-f', '${Package} ${db:Status-Status}\n',
                            *PACKAGES], check=False, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
    return [line.split()[0] for line in known.splitlines() if not line.endswith(' not-installed')]


def contents(package):
    """Every path in a .deb."""
    listed = exchange.run(['sh', '-c', 'dpkg-deb --fsys-tarfile "$1" | tar -t', 'sh', package])
    return [Path('/') / line.rstrip('/') for line in listed.splitlines() if line != './']


def use(folder):
    """What a user of the packages does; flags come from pkg-config."""
    env = exchange.environment()
    programs = exchange.build(folder, env, static=False)
    for program in programs:
        linked = exchange.run(['ldd', program])
        if not re.search(r'liblonghaul\.so\.0 => (/usr)?/lib/', linked):
            raise exchange.Failed(f'{program} does not use the installed library:\n{linked}')
    exchange.exchange(*programs, folder, env)
    for name in ('longhaul-perf', 'longhaul-wan'):
        print(exchange.run([name, '--version'], env).strip(), 'runs')


def check(folder):
    present = installed()
    if present:
        raise exchange.Failed(f'{", ".join(present)} is installed already and would be purged; '
                              'remove it first, or check on another machine')
    packages = [next(folder.glob(f'{name}_*.deb')) for name in PACKAGES]
    paths = {path for package in packages for path in contents(package)}
    ours = sorted(path for path in paths if not path.exists())
    before = states()
    try:
        exchange.run(['dpkg', '-i', *packages])
        print('installed:', *PACKAGES)
        gone = [str(path) for path in ours if not path.exists()]
        if gone:
            raise exchange.Failed(f'not installed: {gone}')
        with tempfile.TemporaryDirectory(prefix='longhaul-package-') as scratch:
            use(Path(scratch))
        print('a C and a C++ program exchanged', exchange.BYTES, 'bytes')
    finally:
        exchange.run(['dpkg', '--purge', *PACKAGES])
    left = [str(path) for path in ours if path.exists() or path.is_symlink()]
    left += [line for line in exchange.run(['ldconfig', '-p']).splitlines() if 'longhaul' in line]
    left += [str(path) for path in Path('/var/lib/dpkg/info').glob('*longhaul*')]
    if left:
        raise exchange.Failed(f'left after the purge: {left}')
    if states() != before:
        raise exchange.Failed('other packages have changed')
    print(f'purged: none of {len(ours)} paths is left')


if __name__ == '__main__':
    try:
        check(Path(sys.argv[1]).resolve())
    except exchange.Failed as failed:
        sys.exit(f'package_check: {failed}')
