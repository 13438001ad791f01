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
from .errors import LabError, written_in
from .shared_folder import clear, inside, leave
from .topology import NAME

ROOT = Path('/run/longhaul-lab')


def folder(name):
    return ROOT / name


def claim(name, document):
    """The folder of a new lab, with what `document` says: there is none without."""
    taken = LabError(f'a lab named "{name}" exists: remove it with "{called.down(name)}", '
                     'or choose another --name')
    if folder(name).is_dir():
        raise taken
    if folder(name).exists():
        raise LabError(f'{folder(name)} is no lab: remove that file, or choose another --name')
    # No name of a lab, and the process that may leave it behind can be told from it.
    part = ROOT / f'.{name}.{os.getpid()}'
    inside(ROOT, lambda: part.mkdir(exist_ok=True))
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
        return processes.read((load(name) or {}).get('maker'))
    except (LabError, TypeError, ValueError):
        return None


def load(name):
    """None if there is a folder and nothing in it that says what it is."""
    if not folder(name).is_dir():
        raise LabError(f'there is no lab named "{name}"; ' + (
            f'there are {", ".join(names())}: choose one with --name' if names()
            else f'"{called.on(name, "up")}" makes one'))
    try:
        document = json.loads((folder(name) / 'lab.json').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        raise broken(name) from None
    if not isinstance(document, dict):
        raise broken(name)
    return document


def broken(name):
    return LabError(f'{folder(name)}/lab.json does not say what the lab "{name}" is: '
                    f'remove it with "{called.down(name)}"')


def names():
    try:
        return sorted(path.name for path in ROOT.iterdir() if NAME.fullmatch(path.name)
                      and path.is_dir())
    except FileNotFoundError:
        return []


def forget(name):
    with written_in(ROOT):
        clear(folder(name))
    # Another lab may take the folder away meanwhile.
    with contextlib.suppress(FileNotFoundError):
        for path in ROOT.glob('.*.*'):
            if not Path('/proc', path.suffix.lstrip('.')).exists():
                shutil.rmtree(path, ignore_errors=True)
    leave(ROOT)


def orphans():
    """Names of labs that were to go with a process that has ended."""
    found = []
    for name in names():
        # It may be removed meanwhile, by its owner, or be broken.
        with contextlib.suppress(LabError, TypeError, ValueError):
            owner = processes.read((load(name) or {}).get('owner'))
            if owner and not processes.alive(owner):
                found.append(name)
    return found
