# SPDX-License-Identifier: Apache-2.0
"""The result file: written after every run, so that an interrupted comparison can go on."""

import json
import os


class Refused(Exception):
    """Why a result file cannot be gone on with."""


def write(path, document):
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix('.json.part')
    temporary.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    os.replace(temporary, path)


def read(path):
    return json.loads(path.read_text(encoding='utf-8'))


def resume(path, fresh):
    """What an earlier run with the same sources and settings left, or a Refused."""
    if not path.exists():
        raise Refused(f'there is no {path} to go on with; leave --resume out')
    old = read(path)
    for name, before, now in _differences(old, fresh):
        raise Refused(f'{path} was made with another {name} ({before}, now {now}): figures of two '
                      'would stand side by side. Leave --resume out to begin anew')
    if fresh['modified']:
        raise Refused('the library has uncommitted changes, so that nobody can say whether they '
                      'are the same as before; commit them, or leave --resume out')
    return old


def _differences(old, fresh):
    """(what, before, now) of what was measured and how. The commit may be another one, as long as
    it changed nothing of either."""
    if old.get('modified') != fresh['modified']:
        yield 'modified', old.get('modified'), fresh['modified']
    for key, what in (('sources', 'version of'), ('settings', 'setting')):
        for name in sorted({*old.get(key, {}), *fresh[key]}):
            before, now = (one.get(key, {}).get(name) for one in (old, fresh))
            if before != now:
                yield f'{what} "{name}"', _short(before), _short(now)


def _short(value):
    text = ', '.join(value) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else text[:57] + '...'


def done(document):
    """(round, cell, peer, mode) of what was measured."""
    return {(run['round'], run['cell'], run['peer'], run['mode']) for run in document['runs']}
