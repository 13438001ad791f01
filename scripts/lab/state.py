# SPDX-License-Identifier: Apache-2.0
"""What a lab has made, told under /run so that anybody can remove it, whatever became of its maker.

    /run/longhaul-lab/NAME/lab.json        whose it is and what there is, before that is made
                          /scenario.json   what longhaul-wan is to do
                          /emulator.log    what longhaul-wan said
                          /emulator.pid    written by it once it is ready
                          /counters.json   written by it each second and when it ends
"""

import contextlib
import errno
import json
import os
import shutil
from pathlib import Path

from . import called, processes
from .errors import LabError
from .topology import NAME

ROOT = Path('/run/longhaul-lab')


def folder(name):
    return ROOT / name


def claim(name, document):
    """The folder of a new lab, with what `document` says: there is none without."""
    ROOT.mkdir(exist_ok=True)
    taken = LabError(f'a lab named "{name}" exists: remove it with "{called.down(name)}", '
                     'or choose another --name')
    if folder(name).exists():
        raise taken
    # No name of a lab, and the process that may leave it behind can be told from it.
    part = ROOT / f'.{name}.{os.getpid()}'
    part.mkdir()
    try:
        (part / 'lab.json').write_text(json.dumps(document, indent=1), encoding='utf-8')
        os.rename(part, folder(name))
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise taken from None
        raise
    return folder(name)


def save(name, document):
    """Complete or not at all, and only where whoever claimed the name still has it."""
    path = folder(name) / 'lab.json'
    if maker(name) != document['maker']:
        raise LabError(f'the lab "{name}" was removed while it was made')
    part = path.with_suffix('.part')
    part.write_text(json.dumps(document, indent=1), encoding='utf-8')
    os.replace(part, path)


def maker(name):
    """The process that has claimed a name; None if nobody has, or nobody knows."""
    try:
        who = (load(name) or {}).get('maker')
    except LabError:
        return None
    return who and tuple(who)


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
    try:
        return sorted(path.name for path in ROOT.iterdir() if NAME.fullmatch(path.name)
                      and path.is_dir())
    except FileNotFoundError:
        return []


def forget(name):
    shutil.rmtree(folder(name), ignore_errors=True)
    for path in ROOT.glob('.*.*'):
        if not Path('/proc', path.suffix.lstrip('.')).exists():
            shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        ROOT.rmdir()


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
