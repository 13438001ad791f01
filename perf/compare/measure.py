# SPDX-License-Identifier: Apache-2.0
"""One run: a fresh emulator, a fresh server, one client, and what all three say at their end."""

import contextlib
import json
import select
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

CLIENT, SERVER = 'east', 'west'
READY_SECONDS = 10
# A peer that has said nothing by then hangs.
HANGS_AFTER = 60


@dataclass(frozen=True)
class Mode:
    """What a client is told; sizes in bytes."""

    name: str               # message or stream
    size: int
    outstanding: int
    seconds: float
    words: tuple = ()

    def common(self):
        return ['--size', str(self.size), '--outstanding', str(self.outstanding)]

    def client(self):
        return [self.name, '--seconds', str(self.seconds), *map(str, self.words)]


@dataclass
class Ended:
    """How a process ended; a kill makes it a failure."""

    output: str = ''
    failure: str = ''
    fields: dict = field(default_factory=dict)


class Busy:
    """Processor time of the whole machine between two moments, seconds."""

    def __init__(self):
        self.before = self._now()

    def seconds(self):
        return self._now() - self.before

    @staticmethod
    def _now():
        words = Path('/proc/stat').read_text(encoding='ascii').split('\n', 1)[0].split()[1:]
        ticks = list(map(int, words))
        # user, nice, system, -, -, irq, softirq; guests are counted in user.
        return (sum(ticks[:3]) + sum(ticks[5:7])) / 100


def _end(process, seconds):
    """Its remaining output, its end asked for; killed if it does not come."""
    process.terminate()
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


@contextlib.contextmanager
def _child(lab, region, command):
    process = lab.popen(region, command, text=True, stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _wait_ready(server):
    """The first line of a server; its words if it ends instead."""
    readable, _, _ = select.select([server.stdout], [], [], READY_SECONDS)
    if readable and server.stdout.readline().strip() == 'ready':
        return ''
    error = _end(server, 2)[1]
    return f'server: {_last_line(error) or "said nothing within 10 s"}'


def _last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ''


def _result_of(output):
    with contextlib.suppress(json.JSONDecodeError):
        return json.loads(_last_line(output))
    return None


def _run_client(lab, command, server):
    """The client's result, or why there is none."""
    with _child(lab, CLIENT, command) as client:
        try:
            output, error = client.communicate(timeout=HANGS_AFTER)
        except subprocess.TimeoutExpired:
            client.kill()
            client.communicate()
            return None, f'hung: killed after {HANGS_AFTER} s'
        result = _result_of(output)
        if client.returncode == 0 and result:
            return result, ''
        said = '' if server.poll() is None else _last_line(server.stderr.read())
        return None, '; '.join(filter(None, (_last_line(error), said))) or 'client said nothing'


def run(lab, cell, peer, mode, programs, key):
    """One entry of the result file."""
    lab.change(cell.effects())
    program = programs[peer.program]
    common = [program, '--address', lab.address(SERVER), '--buffer', str(cell.buffer()),
              *mode.common(), *peer.arguments(cell, key)]
    entry = {'cell': cell.name, 'peer': peer.name, 'mode': mode.name}
    began = time.monotonic()
    with _child(lab, SERVER, [*common, 'serve']) as server:
        failure = _wait_ready(server)
        if not failure:
            busy = Busy()
            result, failure = _run_client(lab, [*common, *mode.client()], server)
            machine = busy.seconds()
        if failure:
            entry['failure'] = failure
        else:
            received = _result_of(_end(server, 3)[0])
            entry |= _summary(result, received, machine, mode)
    lab.emulator.stop()
    told = lab.emulator.report()
    entry['emulator'] = {'bottleneck_reasons': told['bottleneck_reasons'],
                         'cpu_seconds': round(told['cpu_seconds'], 2),
                         **_line_counters(told['links'][0])}
    entry['took_s'] = round(time.monotonic() - began, 1)
    return entry


def _line_counters(link):
    forward = link['forward']
    kept = ('offered', 'lost', 'queue_dropped', 'policed', 'reordered', 'late_max_ns')
    return {key: forward[key] for key in kept if key in forward}


def _summary(result, received, machine, mode):
    """What is kept of a client's and a server's words."""
    gigabytes = result['bytes'] / 1e9
    kept = {'about': result['about'], 'counters': result['counters'], 'bytes': result['bytes']}
    if mode.name == 'message':
        kept |= {'completions_ms': [round(ms, 3) for ms in result['completions_ms']],
                 'unfinished_ms': result['unfinished_ms'], 'warm_up': result['warm_up']}
    else:
        kept['goodput_bps'] = round(result['goodput_bps'])
    if gigabytes > 0:
        kept['cpu_s_per_gb'] = {
            'sender': round(result['cpu_seconds'] / gigabytes, 3),
            'receiver': round(received['cpu_seconds'] / gigabytes, 3) if received else None,
            'machine': round(machine / gigabytes, 3)}
    return kept
