# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone: it brings what it needs, and warns about nothing.
usage: headers.py SOURCE_ROOT BUILD_ROOT public|private COMPILER [FLAG…]"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wsign-conversion',
            '-Wold-style-cast', '-Wnon-virtual-dtor', '-Wundef', '-Wextra-semi', '-Werror']


def headers(root, kind):
    """Public ones are what users compile; private ones need a folder's own flags only if their
    backend does, and those folders (DPDK, liburing) are left to their own build."""
    if kind == 'public':
        return sorted((root / 'include').rglob('*.h*'))
    found = []
    for folder in ('lib', 'congestion', 'fec', 'apps', 'tests'):
        found += (root / folder).rglob('*.hpp')
    return sorted(path for path in found if 'dpdk' not in path.parts)


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
    found = headers(root, kind)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda h: compile_alone(root, build, h, kind, sys.argv[4:]), found)
    tree.report(f'{kind} headers', [finding for finding in results if finding], len(found))


if __name__ == '__main__':
    main()
