# SPDX-License-Identifier: Apache-2.0
"""Processes of a lab, known by ID and start: another one with a re-used ID is left alone."""

import ctypes
import os
import signal
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1


def identity(pid):
    """(pid, start in clock ticks since boot) of a process that runs; None if it has ended."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii', errors='replace')
    except OSError:
        return None
    state, *rest = fields.rpartition(')')[2].split()
    return None if state in 'ZX' else (pid, int(rest[18]))


def read(told):
    """An identity that was written down; ValueError or TypeError if it is none."""
    if told is None:
        return None
    pid, started = told
    return int(pid), int(started)


def alive(who):
    return who is not None and identity(who[0]) == tuple(who)


def dies_with_parent():
    """For `preexec_fn`: whoever is killed takes the child along."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def send(who, number):
    if alive(who):
        try:
            os.kill(who[0], number)
        except ProcessLookupError:
            pass


def end(processes, seconds, number=signal.SIGTERM):
    """Asks them to end, then kills; returns those that had to be killed."""
    for who in processes:
        send(who, number)
    deadline = time.monotonic() + seconds
    while any(map(alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.01)
    left = [who for who in processes if alive(who)]
    for who in left:
        send(who, signal.SIGKILL)
    while any(map(alive, left)) and time.monotonic() < deadline + 2:
        time.sleep(0.01)
    return left


def ancestors(pid):
    """This process and all above it."""
    found = []
    while pid > 0:
        found.append(pid)
        try:
            stat = Path(f'/proc/{pid}/stat').read_text(encoding='ascii', errors='replace')
        except OSError:
            break
        pid = int(stat.rpartition(')')[2].split()[1])
    return found
