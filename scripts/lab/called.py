# SPDX-License-Identifier: Apache-2.0
"""How the user calls scripts/wan-lab, so that a remedy can be pasted."""

import os
import shlex
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / 'wan-lab'
DEFAULT_NAME = 'default'


def tool():
    """As this process was called, else its path: a program that makes labs is another one."""
    called = sys.argv[0]
    if Path(called).name != TOOL.name:
        return shlex.quote(str(TOOL))
    words = shlex.quote(called if '/' in called else f'./{called}')
    by_sudo = os.environ.get('SUDO_COMMAND', '').split(' ')[0]
    return f'sudo {words}' if Path(by_sudo).name == TOOL.name else words


def on(name, command):
    """`scripts/wan-lab COMMAND` for a lab of that name."""
    return f'{tool()} {command}' + ('' if name == DEFAULT_NAME else f' --name {name}')


def down(name):
    return on(name, 'down')
