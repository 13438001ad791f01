# SPDX-License-Identifier: Apache-2.0
"""Two regions, a namespace for longhaul-wan between them, and a probe that crosses.

    lhwe<pid> e0 ---- veth ---- w0  lhwm<pid>  w1 ---- veth ---- e0 lhww<pid>
    10.79.0.1, fd79::1          longhaul-wan                 10.79.0.2, fd79::2
"""

import array
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'e2e'))
import harness  # noqa: E402

PORT = 5201
FRAMING = 38
HEADERS = {4: 28, 6: 48}
HOST = {4: ('10.79.0.1', '10.79.0.2'), 6: ('fd79::1', 'fd79::2')}
OFFLOADS = ('tx', 'off', 'tso', 'off', 'gso', 'off', 'gro', 'off', 'tx-udp-segmentation', 'off')
Probe = collections.namedtuple('Probe', 'sent seconds numbers delays arrivals ecn wire_bytes')


def quiet(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class World:
    """Namespaces, programs and files of one case; all gone when it is left."""

    def __init__(self, wan, probe, mtu=1500):
        self.wan, self.probe_program, self.mtu = wan, probe, mtu
        self.east, self.west, self.middle = (f'lhw{kind}{os.getpid()}' for kind in 'ewm')
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        harness.need_root()
        self.folder = Path(self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix='longhaul-wan-')))
        self.stack.callback(self.remove)
        try:
            for name in (self.east, self.west, self.middle):
                quiet('ip', 'netns', 'add', name)
            for number, name in enumerate((self.east, self.west)):
                self.add_region(number, name)
        except subprocess.CalledProcessError as error:
            self.stack.close()
            raise harness.Skip(f'network namespaces ({error.stderr.strip()})') from None
        except FileNotFoundError as error:
            self.stack.close()
            raise harness.Skip(f'the command {error.filename}') from None
        return self

    def __exit__(self, *error):
        self.stack.close()

    def add_region(self, number, name):
        ours = f'w{number}'
        quiet('ip', '-n', self.middle, 'link', 'add', ours, 'mtu', self.mtu,
              'type', 'veth', 'peer', 'name', 'e0', 'mtu', self.mtu, 'netns', name)
        for where, device in ((self.middle, ours), (name, 'e0')):
            quiet('ip', '-n', where, 'link', 'set', device, 'addrgenmode', 'none')
        # A fixed address, and neighbours known: no packet crosses that the case has not sent.
        quiet('ip', '-n', name, 'link', 'set', 'e0', 'address', f'02:00:00:00:00:0{number + 1}')
        quiet('ip', '-n', name, 'addr', 'add', f'{HOST[4][number]}/24', 'dev', 'e0')
        quiet('ip', '-n', name, 'addr', 'add', f'{HOST[6][number]}/64', 'dev', 'e0', 'nodad')
        for where, device in ((self.middle, ours), (name, 'e0'), (name, 'lo')):
            quiet('ip', '-n', where, 'link', 'set', device, 'up')
        for family in (4, 6):
            quiet('ip', '-n', name, 'neigh', 'add', HOST[family][1 - number], 'lladdr',
                  f'02:00:00:00:00:0{2 - number}', 'dev', 'e0')
        self.offloads(name, *OFFLOADS)

    def offloads(self, name, *words):
        quiet('ip', 'netns', 'exec', name, 'ethtool', '-K', 'e0', *words)

    def remove(self):
        for name in (self.east, self.west, self.middle):
            quiet('ip', 'netns', 'del', name, check=False)

    def inside(self, name, *words):
        return ['ip', 'netns', 'exec', name, *map(str, words)]

    def refused(self, *words):
        """One line of an emulator that does not start."""
        done = quiet(*self.inside(self.middle, self.wan, *words), check=False)
        harness.expect(done.returncode == 1, f'status {done.returncode} for {words}\n{done.stdout}')
        lines = done.stderr.splitlines()
        harness.expect(len(lines) == 1 and lines[0].startswith('longhaul-wan: error: '),
                       f'not one line of error for {words}: {done.stderr}')
        return lines[0]

    @contextlib.contextmanager
    def emulator(self, *words):
        """Runs the emulator; yields an object whose `counters` are there afterwards."""
        with self.started(*words) as process:
            yield process
            process.signal(signal.SIGINT)
            code = process.wait(5)
            harness.expect(code == 0, process.story())
            process.counters = self.counters()

    def counters(self):
        return json.loads((self.folder / 'counters.json').read_text())

    @contextlib.contextmanager
    def started(self, *words):
        """An emulator that is ready; how it ends is the case's business."""
        counters = self.folder / 'counters.json'
        counters.unlink(missing_ok=True)
        command = self.inside(self.middle, self.wan, '--link', 'w0:w1', *words, '--json', counters)
        process = harness.Process(self, 'longhaul-wan', command)
        try:
            harness.wait_until(lambda: 'ready' in process.output or not process.running(), 5,
                               'the emulator is ready')
            harness.expect(process.running(), process.story())
            process.counters = None
            yield process
        finally:
            if process.running():
                process.popen.kill()
                process.popen.wait()

    def probe(self, count, payload, gap_ns, family=4, tos=0, idle_ms=400, backward=False):
        """Sends numbered packets from east to west (or back) and returns what came of them."""
        source, target = (self.west, self.east) if backward else (self.east, self.west)
        records = self.folder / 'records'
        receiver = harness.Process(self, 'receiver', self.inside(
            target, self.probe_program, 'receive', PORT, records, idle_ms))
        harness.wait_until(lambda: 'listening' in receiver.output, 5, 'the receiver listens')
        try:
            sender = quiet(*self.inside(source, self.probe_program, 'send',
                                        HOST[family][0 if backward else 1], PORT, count, payload,
                                        gap_ns, tos))
            sent = json.loads(sender.stdout)
            code = receiver.wait(30)
            harness.expect(code == 0, receiver.story())
        finally:
            if receiver.running():
                receiver.popen.kill()
                receiver.popen.wait()
        return parse(records, sent, payload + HEADERS[family] + FRAMING)


def parse(path, sent, wire_bytes):
    """Columns of the receiver's file: three 64-bit words a packet, the last is (number, ecn)."""
    words = array.array('q')
    words.frombytes(path.read_bytes())
    stamps, arrivals, both = words[0::3], words[1::3], words[2::3]
    delays = [arrived - stamp for stamp, arrived in zip(stamps, arrivals)]
    return Probe(sent['sent'], sent['seconds'], [word & 0xffffffff for word in both], delays,
                 arrivals.tolist(), [word >> 32 for word in both], wire_bytes)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def pause(seconds):
    time.sleep(seconds)
