# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone: it brings what it needs, and warns about nothing.
usage: headers.py SOURCE_ROOT BUILD_ROOT public|private COMPILER [FLAG…]"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wsign-conversion',
            '-Wold-style-cast', '-Wnon-virtual-dtor', '-Wundef', '-Wextra-semi', '-Werror']


def headers(root, kind):
    """Public ones are what users compile. Of the private ones those are left out that a source file
    includes before anything else: the build has compiled them alone. DPDK's have flags of their
    own and are left to their folder."""
    if kind == 'public':
        return sorted((root / 'include').rglob('*.h*')), 0
    found = [path for path in tree.cpp_files(root)
             if path.suffix == '.hpp' and path.parts[0] not in ('include', 'perf')]
    proven = first_includes(root)
    left = [path for path in found if path.as_posix() not in proven and 'dpdk' not in path.parts]
    return [root / path for path in left], len(found) - len(left)


def first_includes(root):
    """The headers that are the first thing some source file includes."""
    first = set()
    for path in tree.cpp_files(root):
        if path.suffix == '.cpp':
            match = INCLUDE.search('\n'.join(tree.lines_of(root, path)))
            if match:
                first.add(match.group(1))
    return first


def compile_alone(root, build, header, kind, compiler):
    """A header as its user includes it, in a translation unit with nothing else. Public headers
    must not need the project root in the include path: an installed copy has none."""
    base = root / 'include' if kind == 'public' else root
    name = header.relative_to(base).as_posix()
    include = ['-I', root / 'include']
    if kind == 'private':
        include += ['-I', root, '-I', build]
    unit = f'#include "{name}"\n#include "{name}"\n'
    command = [*compiler, *WARNINGS, '-fsyntax-only', '-DXXH_INLINE_ALL', *include,
               '-x', 'c++', '-']
    result = subprocess.run([str(word) for word in command], input=unit, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode == 0:
        return None
    return tree.Finding(header.relative_to(root).as_posix(), 1,
                        f'does not compile alone with {" ".join(compiler)}\n{result.stdout}',
                        'include what it uses')


def main():
    root, build, kind = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    found, proven = headers(root, kind)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda h: compile_alone(root, build, h, kind, sys.argv[4:]), found)
    tree.report(f'{kind} headers', [finding for finding in results if finding],
                len(found) + proven)


if __name__ == '__main__':
    main()
