# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end cases share: running the benchmark program for real, sample files, network
namespaces of their own, and ways to say pass, fail and skip.

        client process ---- loopback or veth pair ---- server process
"""

import contextlib
import ctypes
import json
import os
import re
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'scripts'))
import lab  # noqa: E402  pylint: disable=wrong-import-position

CASES = {}


class Skip(Exception):
    """Names the capability that is missing."""


class Failure(Exception):
    """Says what was expected and what came."""


def case(function):
    """Registers an end-to-end case under its function's name."""
    CASES[function.__name__] = function
    return function


def expect(condition, message):
    if not condition:
        raise Failure(message)


def need_root():
    if os.geteuid() != 0:
        raise Skip('root (network and mount namespaces)')


def free_port():
    """Below those the system gives to clients, of which other cases may be starting some."""
    while True:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('::', 10_000 + secrets.randbelow(20_000)))
            except OSError:
                continue
            return probe.getsockname()[1]


class Process:
    """One run of the program. Output goes to files, so that nothing blocks on a full pipe."""

    def __init__(self, bench, name, command, cwd=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.out_path = bench.folder / f'{name}.out'
        self.err_path = bench.folder / f'{name}.err'
        set_parent_death_signal = ctypes.CDLL(None).prctl

        def prepare():
            # Dies with its test, also when meson kills that for taking too long.
            set_parent_death_signal(1, 9)
            # A run under nohup, or in the background of a script, hands down signals ignored.
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)

        with open(self.out_path, 'wb') as out, open(self.err_path, 'wb') as err:
            self.popen = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=err, cwd=cwd, preexec_fn=prepare)
        self.started = time.monotonic()

    @property
    def output(self):
        return self.out_path.read_text(errors='replace')

    @property
    def errors(self):
        return self.err_path.read_text(errors='replace')

    @property
    def everything(self):
        return self.output + self.errors

    def wait(self, seconds, what='end'):
        """Exit status; a failure if it does not come in time."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f'{self.name} did not {what} within {seconds} s\n'
                          f'{self.story()}') from None

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def story(self):
        state = 'running' if self.running() else f'exit status {self.popen.returncode}'
        return (f'--- {self.name} ({state}): {" ".join(self.command)}\n{self.output[-3000:]}'
                f'\n--- its stderr\n{self.errors[-3000:]}')

    def json(self):
        """The JSON document printed last."""
        start = self.output.find('{')
        expect(start >= 0, f'{self.name} printed no JSON\n{self.story()}')
        decoder, document = json.JSONDecoder(), None
        text = self.output[start:]
        while text.startswith('{'):
            document, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
        return document


class Bench:
    """One case's folder, processes and namespaces; all gone when it is left."""

    def __init__(self, binary, root, engine=None):
        self.binary = binary
        self.options = ('--engine', engine) if engine else ()
        self.root = root
        self.stack = contextlib.ExitStack()
        self.processes = []

    def __enter__(self):
        self.folder = Path(self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix='longhaul-e2e-')))
        self.stack.callback(self.stop_all)
        key = self.folder / 'bench.key'
        key.touch(mode=0o600)
        key.write_text(f'longhaul-psk-1 bench {secrets.token_hex(32)}\n')
        self.security = ('--key', key)
        return self

    def __exit__(self, *error):
        self.stack.close()

    def stop_all(self):
        for process in self.processes:
            if process.running():
                process.popen.kill()
                process.popen.wait()

    def run(self, name, *arguments, prefix=(), cwd=None, security=None):
        """`security` has the words for it, where a case is about them."""
        words = self.security if security is None else security
        process = Process(self, name, [*prefix, self.binary, *self.options, *words, *arguments],
                          cwd)
        self.processes.append(process)
        return process

    def server(self, port, *arguments, name='server', **how):
        """A server for one test that listens."""
        return self.lasting_server(port, '-1', *arguments, name=name, **how)

    def lasting_server(self, port, *arguments, name='server', **how):
        """A server that listens. Its pidfile says so; to be bound is not enough, until it listens
        it refuses everybody."""
        pidfile = self.folder / f'{name}.pid'
        pidfile.unlink(missing_ok=True)
        server = self.run(name, '-s', '-p', port, '--pidfile', pidfile, *arguments, **how)
        deadline = time.monotonic() + 10
        while not pidfile.exists():
            expect(server.running() and time.monotonic() < deadline,
                   f'the server did not listen on port {port}\n{server.story()}')
            time.sleep(0.02)
        return server

    def client(self, host, port, *arguments, name='client', **how):
        return self.run(name, '-c', host, '-p', port, *arguments, **how)

    def finish(self, server, client, seconds=60):
        """Both ended well."""
        for process in (client, server):
            code = process.wait(seconds)
            expect(code == 0, f'{process.name} ended with status {code}\n'
                   f'{client.story()}\n{server.story()}')

    def sample(self, megabytes=None):
        """The deterministic sample file, or a plain one of another size."""
        path = self.folder / 'sample.safetensors'
        if megabytes is None:
            made = self.run('make-sample', '--make-sample', path)
            code = made.wait(60)
            expect(code == 0 and path.exists(), f'--make-sample failed\n{made.story()}')
        else:
            write_safetensors(path, [(f't{i}', 'U8', (1 << 20,)) for i in range(megabytes)])
        return path

    def real_file(self):
        """Gradients and weights of a small transformer where they exist, else the sample."""
        for base in (self.root, *self.root.parents):
            path = base / '../shared/data/lm-gradients.safetensors'
            if path.exists():
                return path.resolve()
        return self.sample()

    @contextlib.contextmanager
    def lab(self, topology='two-regions', effects='', **how):
        """Regions with emulated lines between them, of this case alone."""
        try:
            made = self.stack.enter_context(lab.Lab(topology, effects, **how))
        except lab.Unavailable as error:
            raise Skip(str(error)) from None
        except lab.LabError as error:
            raise Failure(str(error)) from None
        try:
            yield made
        except lab.LabError as error:
            raise Failure(str(error)) from None
        finally:
            self.stop_all()
            made.down()

    def namespaces(self, mtu):
        """Two namespaces joined by a veth pair; names end in our process id."""
        need_root()
        return self.stack.enter_context(Namespaces(mtu))


class Namespaces:
    """
        lhc<pid> (10.77.0.1, fd77::1) c0 ---- veth ---- s0 (10.77.0.2, fd77::2) lhs<pid>
    """

    client4, server4, client6, server6 = '10.77.0.1', '10.77.0.2', 'fd77::1', 'fd77::2'

    def __init__(self, mtu):
        self.mtu = mtu
        self.client_name, self.server_name = f'lhc{os.getpid()}', f'lhs{os.getpid()}'

    def __enter__(self):
        try:
            for name in (self.client_name, self.server_name):
                self.ip('netns', 'add', name)
            self.ip('-n', self.client_name, 'link', 'add', 'c0', 'mtu', self.mtu, 'type', 'veth',
                    'peer', 'name', 's0', 'mtu', self.mtu, 'netns', self.server_name)
            for name, device, v4, v6 in (
                    (self.client_name, 'c0', self.client4, self.client6),
                    (self.server_name, 's0', self.server4, self.server6)):
                self.ip('-n', name, 'addr', 'add', f'{v4}/24', 'dev', device)
                self.ip('-n', name, 'addr', 'add', f'{v6}/64', 'dev', device, 'nodad')
                self.ip('-n', name, 'link', 'set', 'lo', 'up')
                self.ip('-n', name, 'link', 'set', device, 'up')
        except subprocess.CalledProcessError as error:
            self.remove()
            raise Skip(f'network namespaces ({error.stderr.strip()})') from None
        return self

    def __exit__(self, *error):
        self.remove()

    def remove(self):
        for name in (self.client_name, self.server_name):
            subprocess.run(['ip', 'netns', 'del', name], check=False, stderr=subprocess.DEVNULL)

    @staticmethod
    def ip(*words):
        subprocess.run(['ip', *map(str, words)], check=True, text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)

    @property
    def client(self):
        return ['ip', 'netns', 'exec', self.client_name]

    @property
    def server(self):
        return ['ip', 'netns', 'exec', self.server_name]



@contextlib.contextmanager
def inside(namespace):
    """This thread enters a network namespace for a while: sockets made there stay there."""
    with open('/proc/self/ns/net', 'rb') as home, open(f'/run/netns/{namespace}', 'rb') as there:
        setns = ctypes.CDLL(None, use_errno=True).setns
        expect(setns(there.fileno(), 0) == 0, 'setns failed')
        try:
            yield
        finally:
            setns(home.fileno(), 0)


def same_bytes(left, right):
    expect(Path(right).exists(), f'{right} was not written')
    result = subprocess.run(['cmp', left, right], check=False, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    expect(result.returncode == 0, f'files differ: {result.stdout}')


def digest_ok(process):
    expect(re.search(r'digest\s*ok', process.output, re.IGNORECASE),
           f'{process.name} does not say "digest ok"\n{process.story()}')


def write_safetensors(path, tensors):
    """A valid file: tensors are (name, dtype, shape), the bytes a fixed pattern."""
    sizes = {'U8': 1, 'BF16': 2, 'F32': 4}
    header, offset = {}, 0
    for name, dtype, shape in tensors:
        count = 1
        for extent in shape:
            count *= extent
        header[name] = {'dtype': dtype, 'shape': list(shape),
                        'data_offsets': [offset, offset + count * sizes[dtype]]}
        offset += count * sizes[dtype]
    write_raw_safetensors(path, json.dumps(header), offset)


def write_raw_safetensors(path, header, data_bytes, length=None):
    """A file with any header, also one that lies about its length."""
    encoded = header.encode()
    pattern = bytes((i * 131 + i // 251) & 255 for i in range(65536))
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(encoded) if length is None else length) + encoded)
        while data_bytes > 0:
            file.write(pattern[:min(data_bytes, len(pattern))])
            data_bytes -= len(pattern)


def interrupt_and_time(process, number=signal.SIGINT, seconds=2.0):
    """Sends a signal and returns (exit status, seconds until it ended)."""
    start = time.monotonic()
    process.signal(number)
    code = process.wait(seconds, f'end after signal {number}')
    return code, time.monotonic() - start


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, f'{what} within {seconds} s')
        time.sleep(0.02)


def readable(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
