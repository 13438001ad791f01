# SPDX-License-Identifier: Apache-2.0
"""What the laws read: the project's files, and findings about them."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

# Where project files live; everything else at the top (build trees, results) is not read.
FOLDERS = ('include', 'lib', 'congestion', 'fec', 'apps', 'perf', 'tests', 'scripts', '.ci')
CPP = ('.hpp', '.cpp', '.h', '.c')


@dataclass(frozen=True)
class Finding:
    """One breach: where, which rule, and what to do about it."""

    path: str
    line: int
    rule: str
    remedy: str

    def __str__(self):
        return f'{self.path}:{self.line}: {self.rule}\n    remedy: {self.remedy}'


def files(root):
    """Every project file below `root`, as paths relative to it, sorted."""
    found = []
    for folder in FOLDERS:
        for base, folders, names in os.walk(root / folder):
            folders[:] = [f for f in folders if f != '__pycache__']
            found += [(Path(base) / name).relative_to(root) for name in names]
    return sorted(found)


def cpp_files(root):
    return [path for path in files(root) if path.suffix in CPP]


def is_script(root, path):
    """Python and shell, by ending or by `#!`."""
    if path.suffix in ('.py', '.sh'):
        return True
    if path.suffix:
        return False
    with open(root / path, 'rb') as file:
        return file.read(2) == b'#!'


def lines_of(root, path):
    return (root / path).read_text(encoding='utf-8', errors='replace').split('\n')


def report(law, findings, examined):
    """Prints the findings and exits as a test does. A law that looked at nothing has not passed."""
    for finding in findings:
        print(finding)
    if not examined:
        print(f'{law}: found nothing to examine; is the source root right?')
        sys.exit(1)
    print(f'{law}: {len(findings)} breaches in {examined} examined')
    sys.exit(1 if findings else 0)
