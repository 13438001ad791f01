# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces joined by a veth pair, one core a side, for measurements."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SERVER_IP = '10.78.0.2'
PORT = 5201
OFFLOADS = ('tso', 'gso', 'gro', 'tx-udp-segmentation')


def output_of(*words):
    return subprocess.run(list(map(str, words)), check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


class VethPair:
    """Two namespaces joined; removed again whatever happens."""

    def __init__(self, mtu, offloads):
        self.client, self.server = f'lvc{os.getpid()}', f'lvs{os.getpid()}'
        self.mtu, self.offloads = mtu, offloads

    def __enter__(self):
        try:
            for name in (self.client, self.server):
                output_of('ip', 'netns', 'add', name)
            output_of('ip', '-n', self.client, 'link', 'add', 'c0', 'mtu', self.mtu, 'type', 'veth',
                      'peer', 'name', 's0', 'mtu', self.mtu, 'netns', self.server)
            for name, device, address in ((self.client, 'c0', '10.78.0.1'),
                                          (self.server, 's0', SERVER_IP)):
                output_of('ip', '-n', name, 'addr', 'add', f'{address}/24', 'dev', device)
                output_of('ip', '-n', name, 'link', 'set', device, 'up')
                if not self.offloads:
                    for feature in OFFLOADS:
                        output_of('ip', 'netns', 'exec', name, 'ethtool', '-K', device, feature,
                                  'off')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for name in (self.client, self.server):
            subprocess.run(['ip', 'netns', 'del', name], check=False, stderr=subprocess.DEVNULL)

    def command(self, side, *words):
        """Runs inside one namespace, pinned to that side's core."""
        name, core = (self.server, 0) if side == 'server' else (self.client, 1)
        return ['ip', 'netns', 'exec', name, 'taskset', '-c', str(core), *map(str, words)]

    def measure(self, server_words, client_words, seconds):
        """Starts a server, runs a client, returns the client's JSON."""
        return self.measure_both(server_words, client_words, seconds)[0]

    def measure_both(self, server_words, client_words, seconds):
        """Starts a server, runs a client; the client's JSON and the server's output."""
        with tempfile.TemporaryDirectory(prefix='longhaul-veth-') as folder:
            # With ours it says that the server listens; iperf3 writes its own before that.
            pidfile = None if server_words[0] == 'iperf3' else Path(folder) / 'pid'
            return self.exchange([*server_words, *(['--pidfile', pidfile] if pidfile else [])],
                                 client_words, seconds, pidfile)

    def exchange(self, server_words, client_words, seconds, pidfile):
        server = subprocess.Popen(self.command('server', *server_words), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.wait_listening(server, pidfile)
            client = subprocess.run(self.command('client', *client_words), text=True, check=False,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    timeout=seconds * 3 + 30)
            if client.returncode != 0:
                sys.exit(f'{" ".join(client.args)}\n{client.stdout[-2000:]}{client.stderr[-2000:]}')
        except BaseException:
            server.kill()
            server.communicate()
            raise
        try:
            output = server.communicate(timeout=10)[0]
        except subprocess.TimeoutExpired:
            server.kill()
            output = server.communicate()[0]
        return json.loads(client.stdout), output

    def wait_listening(self, server, pidfile):
        """Until the server's file is there; without one, until its namespace has a socket on the
        port, which for TCP (iperf3) is one that listens."""
        def listens():
            if pidfile:
                return pidfile.exists()
            return output_of('ip', 'netns', 'exec', self.server, 'ss', '-Hlntu',
                             f'sport = :{PORT}')

        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and server.poll() is None:
            if listens():
                return
            time.sleep(0.05)
        server.kill()
        sys.exit(f'the server did not start: {server.communicate()[0][-2000:]}')


@contextlib.contextmanager
def security_words(security):
    """Words that a program of ours needs at both ends. A key is made for this run and goes with
    it."""
    if security == 'none':
        yield ['--security', 'none']
        return
    with tempfile.NamedTemporaryFile('w', prefix='longhaul-', suffix='.key') as file:
        file.write(f'longhaul-psk-1 perf {secrets.token_hex(32)}\n')
        file.flush()
        yield ['--key', file.name]


def add_security_option(parser):
    parser.add_argument('--security', choices=('none', 'psk'), default='none',
                        help='protection of the packets (none)')


def build(target, *options):
    """The release build that scripts/quickstart makes too; `target` is a path inside it."""
    tree = ROOT / ('build-perf' if options else 'build-release')
    if not (tree / 'build.ninja').exists():
        output_of('meson', 'setup', tree, ROOT, '--buildtype=release', '-Dtests=false',
                  *(options or ['-Dperf=false']))
    subprocess.run(['ninja', '-C', tree, target], check=True, stdout=subprocess.DEVNULL)
    return tree / target
