# SPDX-License-Identifier: Apache-2.0
"""The law on size and manners of files: what keeps a file readable. usage: size.py SOURCE_ROOT"""

import re
import sys
from pathlib import Path

import tree
from functions import functions

FILE_LINES = 500
FUNCTION_LINES = 70
COLUMNS = 100
LICENCE = 'SPDX-License-Identifier: Apache-2.0'
# Spelt in two halves, so that this file obeys its own law.
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|XX' r'X)\b')
CONDITIONAL = re.compile(r'^\s*#\s*(if|ifdef|ifndef|elif)\b')
# Where the compiler or the platform may be asked: the export macro, and the backends.
CONDITIONAL_OK = re.compile(r'(include/longhaul/export\.hpp|lib/io/.*)$')
# A C header has to say extern "C" to C++ alone.
C_LINKAGE = re.compile(r'^\s*#\s*ifdef\s+__cplusplus\b')


def check_lines(root, path, lines, code):
    name = path.as_posix()
    findings = []
    count = len(lines) - 1 if lines[-1] == '' else len(lines)
    if count > FILE_LINES:
        findings.append(tree.Finding(name, count, f'{count} lines (at most {FILE_LINES})',
                                     'split the file by duty'))
    first = lines[1] if lines[0].startswith('#!') and len(lines) > 1 else lines[0]
    if LICENCE not in first:
        findings.append(tree.Finding(name, 1, 'no licence in the first line',
                                     f'start with {"//" if code else "#"} {LICENCE}'))
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            findings.append(tree.Finding(name, number, f'{len(line)} columns (at most {COLUMNS})',
                                         'break the line; clang-format does it for C++'))
        if UNFINISHED.search(line):
            findings.append(tree.Finding(name, number, 'a note about work left undone',
                                         'do it, or open an issue and drop the note'))
    return findings


def check_cpp(path, lines):
    name = path.as_posix()
    findings = []
    shared = path.parts[0] in ('include', 'lib', 'congestion', 'fec')
    if shared and not CONDITIONAL_OK.match(name):
        for number, line in enumerate(lines, 1):
            if not CONDITIONAL.match(line):
                continue
            if name.startswith('include/') and path.suffix == '.h' and C_LINKAGE.match(line):
                continue
            findings.append(tree.Finding(name, number, 'conditional compilation in shared code',
                                         'use if constexpr on a build_config.hpp constant, or move '
                                         'the difference behind lib/io'))
    if path.suffix == '.hpp' and '#pragma once' not in lines:
        findings.append(tree.Finding(name, 1, 'a header without #pragma once', 'add it'))
    for function, start, length in functions('\n'.join(lines)):
        if length > FUNCTION_LINES:
            findings.append(tree.Finding(
                name, start, f'{function} has {length} lines (at most {FUNCTION_LINES})',
                'name its parts: each step that has a name is a function'))
    return findings


def check_readmes(root):
    """Each module says beside its code what it is for."""
    modules = [root / 'congestion', root / 'fec']
    for parent in ('lib', 'apps'):
        if (root / parent).is_dir():
            modules += [path for path in (root / parent).iterdir() if path.is_dir()]
    findings = []
    for module in sorted(modules):
        if any(module.rglob('*.cpp')) and not (module / 'README.md').exists():
            name = module.relative_to(root).as_posix()
            findings.append(tree.Finding(name, 0, 'a module without README.md',
                                         'say: purpose, words, invariants, files in reading order'))
    return findings


def check(root):
    findings = check_readmes(root)
    examined = 0
    for path in tree.files(root):
        code = path.suffix in tree.CPP
        if not code and not tree.is_script(root, path):
            continue
        examined += 1
        lines = tree.lines_of(root, path)
        findings += check_lines(root, path, lines, code)
        if code:
            findings += check_cpp(path, lines)
    return findings, examined


if __name__ == '__main__':
    tree.report('size law', *check(Path(sys.argv[1])))
