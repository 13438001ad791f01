# SPDX-License-Identifier: Apache-2.0
"""longhaul-wan as a child that outlives whoever started it, or as one that goes with it."""

import json
import subprocess
import time
from pathlib import Path

from . import processes
from .errors import LabError
from .programs import EMULATOR

READY_SECONDS = 15


class Emulator:
    """Of one lab; its files are in the lab's folder."""

    def __init__(self, folder, binary, who=None):
        self.folder, self.binary, self.who = folder, binary, who
        self.log, self.json = folder / 'emulator.log', folder / 'counters.json'
        self.pidfile = folder / 'emulator.pid'

    def start(self, prefix, words, lasting):
        """Returns once it is ready."""
        for path in (self.pidfile, self.json):
            path.unlink(missing_ok=True)
        command = [*prefix, self.binary, *words, '--json', self.json, '--pidfile', self.pidfile]
        with open(self.log, 'wb') as log:
            child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=subprocess.STDOUT, start_new_session=True,
                                     preexec_fn=None if lasting else processes.dies_with_parent)
        self.who = processes.identity(child.pid)
        self._child = child
        deadline = time.monotonic() + READY_SECONDS
        while not self.pidfile.exists():
            if child.poll() is not None:
                raise LabError(self.last_words() or f'{EMULATOR} ended with status '
                               f'{child.returncode} and said nothing')
            if time.monotonic() > deadline:
                raise LabError(f'{EMULATOR} was not ready within {READY_SECONDS} s; it said: '
                               f'{self.last_words() or "nothing"}')
            time.sleep(0.005)

    def running(self):
        return processes.alive(self.who)

    def fate(self):
        """How one that is dead came to that: who is killed leaves its pidfile."""
        if self.who is None:
            return 'never started'
        return 'killed, or crashed' if self.pidfile.exists() else 'ended'

    def stop(self, seconds=5):
        """Lets it write its counters."""
        if self.who:
            processes.end([self.who], seconds)
        if getattr(self, '_child', None):
            self._child.wait()

    def last_words(self):
        """The last line of its log."""
        if not self.log.exists():
            return ''
        lines = self.log.read_text(encoding='utf-8', errors='replace').splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), '')

    def report(self):
        """What it wrote last as JSON: each second, and when it ends."""
        if not self.json.exists() or not self.json.stat().st_size:
            raise LabError(f'{EMULATOR} has written no counters; its last words: '
                           f'{self.last_words() or "none"}')
        try:
            return json.loads(self.json.read_text(encoding='utf-8'))
        except (OSError, ValueError):
            raise LabError(f'{self.json} holds no counters') from None
