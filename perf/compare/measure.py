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
# When the emulator's lateness shows in a figure.
LATE_SHARE = 0.01
LATE_OF_RTT = 0.1


@dataclass(frozen=True)
class Mode:
    """What a client is told; sizes in bytes."""

    name: str               # message or stream
    size: int
    outstanding: int
    seconds: float
    words: tuple = ()
    seed: int = 1           # of everything random on the line

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
    ended = server.poll() is not None
    error = _end(server, 2)[1]
    silent = f'ended with status {server.returncode}' if ended else 'said nothing within 10 s'
    return f'server: {_last_line(error) or silent}'


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
    lab.seed = mode.seed
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
    entry['emulator'] = emulator_part(lab.emulator.report(), cell)
    entry['took_s'] = round(time.monotonic() - began, 1)
    return entry


def emulator_part(report, cell):
    """What the line did to the data, and whether the emulator rather than the line did it: it lost
    packets of its own, or kept more than one in a hundred back for over a millisecond and some for
    a time that shows beside the round trip."""
    link = report['links'][0]
    both = (link['forward'], link['backward'])
    own_drops = report['host_backlog_dropped'] + sum(
        way[key] for way in both for key in ('kernel_dropped', 'buffer_dropped', 'send_failed'))
    late_share = max(way['late_over_1ms'] / max(way['sent'], 1) for way in both)
    late_max_ms = max(way['late_max_ns'] for way in both) / 1e6
    late = late_share > LATE_SHARE and late_max_ms > LATE_OF_RTT * cell.rtt_ms
    return {'bottleneck': bool(own_drops or late), 'own_drops': own_drops,
            'late_share': round(late_share, 4), 'late_max_ms': round(late_max_ms, 1),
            'cpu_seconds': round(report['cpu_seconds'], 2),
            **{key: link['forward'][key]
               for key in ('offered', 'lost', 'queue_dropped', 'policed', 'reordered')}}


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
