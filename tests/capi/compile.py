# SPDX-License-Identifier: Apache-2.0
"""Compiles the C header as C99, C11 and C++, and the tour in C, with gcc and clang and without a
warning, and runs the tour. usage: compile.py SOURCE_ROOT LIBRARY"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wstrict-prototypes', '-Werror']
WARNINGS_CPP = [flag for flag in WARNINGS if flag != '-Wstrict-prototypes']
STANDARDS = ('c99', 'c11')
COMPILERS = (('gcc', 'g++'), ('clang', 'clang++'))


def run(command, **options):
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    print('ok' if result.returncode == 0 else 'FAILED', *command, sep=' ', flush=True)
    if result.returncode != 0:
        print(result.stdout)
    return result.returncode == 0


def compile_header(root, cpp):
    """Alone, as the first thing a C++ program includes."""
    with tempfile.NamedTemporaryFile('w', suffix='.cpp', prefix='longhaul-capi-') as unit:
        unit.write('#include <longhaul/longhaul.h>\n#include <longhaul/longhaul.h>\n')
        unit.flush()
        return all([run([cpp, f'-std={standard}', *WARNINGS_CPP, '-fsyntax-only',
                         '-I', root / 'include', unit.name]) for standard in ('c++11', 'c++20')])


def tour(root, library, compiler, standard, folder):
    program = folder / f'tour-{compiler}-{standard}'
    # poll() is POSIX's, which strict C hides unless it is asked for by name.
    return run([compiler, f'-std={standard}', '-D_POSIX_C_SOURCE=200809L', *WARNINGS, '-O1',
                '-I', root / 'include', root / 'tests/capi/tour.c', library,
                f'-Wl,-rpath,{library.parent}', '-o', program]) and run([program], timeout=120)


def main():
    root, library = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    missing = [name for pair in COMPILERS for name in pair if shutil.which(name) is None]
    if missing:
        print(f'SKIP: no {", ".join(missing)} (scripts/install-deps test installs them)')
        sys.exit(77)
    results = []
    with tempfile.TemporaryDirectory(prefix='longhaul-capi-') as folder:
        for compiler, cpp in COMPILERS:
            results.append(compile_header(root, cpp))
            results += [tour(root, library, compiler, standard, Path(folder))
                        for standard in STANDARDS]
    sys.exit(0 if all(results) else 1)


if __name__ == '__main__':
    os.environ.pop('LD_LIBRARY_PATH', None)
    main()
