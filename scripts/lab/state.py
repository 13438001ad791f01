# SPDX-License-Identifier: Apache-2.0
"""What a lab has made, told under /run so that anybody can remove it, whatever became of its maker.

    /run/longhaul-lab/NAME/lab.json        what there is, written before it is made
                          /scenario.json   what longhaul-wan is to do
                          /emulator.log    what longhaul-wan said
                          /emulator.pid    written by it once it is ready
                          /counters.json   written by it each second and when it ends
"""

import contextlib
import json
import os
import shutil
from pathlib import Path

from . import called, processes
from .errors import LabError

ROOT = Path('/run/longhaul-lab')


def folder(name):
    return ROOT / name


def claim(name):
    """The folder of a new lab: the name is taken from now on."""
    ROOT.mkdir(exist_ok=True)
    try:
        folder(name).mkdir()
    except FileExistsError:
        raise LabError(f'a lab named "{name}" exists: remove it with "{called.down(name)}", '
                       'or choose another --name') from None
    return folder(name)


def save(name, document):
    """Complete or not at all."""
    path = folder(name) / 'lab.json'
    part = path.with_suffix('.part')
    part.write_text(json.dumps(document, indent=1), encoding='utf-8')
    os.replace(part, path)


def load(name):
    """None if its maker died before it could say anything."""
    if not folder(name).is_dir():
        raise LabError(f'there is no lab named "{name}"; ' + (
            f'there are {", ".join(names())}: choose one with --name' if names()
            else f'"{called.on(name, "up")}" makes one'))
    try:
        return json.loads((folder(name) / 'lab.json').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return None


def names():
    return sorted(path.name for path in ROOT.iterdir()) if ROOT.is_dir() else []


def forget(name):
    shutil.rmtree(folder(name), ignore_errors=True)
    try:
        ROOT.rmdir()
    except OSError:
        pass


def orphans():
    """Names of labs that were to go with a process that has ended."""
    found = []
    for name in names():
        # It may be removed meanwhile, by its owner.
        with contextlib.suppress(LabError):
            owner = (load(name) or {}).get('owner')
            if owner and not processes.alive(tuple(owner)):
                found.append(name)
    return found
