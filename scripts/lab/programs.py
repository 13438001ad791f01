# SPDX-License-Identifier: Apache-2.0
"""Where the project's own programs are: in the build trees here, or installed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from .errors import LabError

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = 'longhaul-wan'
# Where a build tree keeps what a lab is for, the emulator first.
PLACES = (f'apps/wan/{EMULATOR}', 'apps/perf/longhaul-perf')
NAMES = tuple(Path(place).name for place in PLACES)
HOW_TO_BUILD = ('scripts/quickstart builds it, or: meson setup build && ninja -C build '
                f'{" ".join(PLACES)}')


def sanitized(tree):
    """Programs of such a tree are many times slower, and an emulator then is the bottleneck."""
    try:
        options = json.loads((tree / 'meson-info/intro-buildoptions.json').read_text('utf-8'))
    except (OSError, ValueError):
        return False
    return any(option['name'] == 'b_sanitize' and option['value'] not in ('none', [])
               for option in options)


def trees():
    """Build trees with any of the programs, the one to use first: without a sanitizer, with all
    programs, the newest."""
    def worth(tree):
        built = [(tree / place).stat().st_mtime for place in PLACES if (tree / place).is_file()]
        return not sanitized(tree), len(built), max(built)

    found = {path.parents[2] for place in PLACES for path in ROOT.glob(f'build*/{place}')}
    return sorted(found, key=worth, reverse=True)


def find_emulator(given=None):
    """The one named, else of the environment, else the best one built here, else one installed."""
    given = given or os.environ.get('LONGHAUL_WAN')
    if given:
        return _checked(given)
    built = [tree / PLACES[0] for tree in trees() if (tree / PLACES[0]).is_file()]
    installed = shutil.which(EMULATOR)
    if built and not (installed and sanitized(built[0].parents[2])):
        return built[0]
    if installed:
        return Path(installed)
    raise LabError(f'{EMULATOR} is not built: {HOW_TO_BUILD}; or name one with --emulator FILE')


def _checked(given):
    if not os.access(given, os.X_OK) or Path(given).is_dir():
        raise LabError(f'{given} is no program; name {EMULATOR}: {HOW_TO_BUILD}')
    path = Path(given).resolve()
    try:
        said = subprocess.run([path, '--version'], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = b''
    if not said.startswith(f'{EMULATOR} '.encode()):
        raise LabError(f'{given} is not {EMULATOR}; name that one: {HOW_TO_BUILD}')
    return path


def search_path(emulator):
    """PATH for a command in a lab: what was built together with its emulator goes before what is
    installed, what was built elsewhere after it."""
    def built_in(tree):
        return [str((tree / place).parent) for place in PLACES if (tree / place).is_file()]

    here = Path(emulator).parent
    others = [folder for tree in trees() for folder in built_in(tree)]
    usual = os.environ.get('PATH', os.defpath).split(os.pathsep)
    return os.pathsep.join(dict.fromkeys([*built_in(here.parent.parent), *usual, str(here),
                                          *others]))
