# SPDX-License-Identifier: Apache-2.0
"""What every result file says of itself."""

import contextlib
import datetime
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def quiet(*words):
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(list(map(str, words)), check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.strip()
    return ''


def about(benchmark, **versions):
    """Commit, machine and versions: what a figure means nothing without."""
    cpu = re.search(r'^model name\s*: (.*)$', Path('/proc/cpuinfo').read_text(), re.M)
    system = re.search(r'^PRETTY_NAME="(.*)"$', Path('/etc/os-release').read_text(), re.M)
    git = ('git', '-C', ROOT)
    return {
        'benchmark': benchmark,
        'commit': quiet(*git, 'rev-parse', 'HEAD'),
        'modified': bool(quiet(*git, 'status', '--porcelain', '--', 'lib', 'include', 'apps',
                               'congestion', 'fec')),
        'date': datetime.date.today().isoformat(),
        'machine': {'cpu': cpu.group(1) if cpu else '', 'cores': os.cpu_count(),
                    'kernel': os.uname().release, 'system': system.group(1) if system else '',
                    'load_before': os.getloadavg()[0]},
        'versions': {'compiler': quiet('g++', '--version').split('\n')[0], **versions},
    }
