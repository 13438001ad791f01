# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a clear error that names cause and remedy, in time, and nothing hangs or dies."""

import json
import os
import socket
import sys
import time

from harness import (case, expect, free_port, need_root, wait_until, write_raw_safetensors,
                     write_safetensors)

# A program that was told off: neither success nor a signal.
ERRORS = range(1, 126)


def told_off(process, *words, seconds=15):
    """Ended with an error whose text has all the words (each may be a tuple of alternatives)."""
    code = process.wait(seconds, 'give up')
    expect(code in ERRORS, f'{process.name} ended with status {code}\n{process.story()}')
    text = process.errors.lower()
    expect(text.strip(), f'{process.name} failed without a word on stderr\n{process.story()}')
    for word in words:
        choices = word if isinstance(word, tuple) else (word,)
        expect(any(choice in text for choice in choices),
               f'{process.name}: the error names none of {choices}\n{process.story()}')


@case
def unknown_host_is_named(bench):
    told_off(bench.client('no-such-host.invalid', 5201, '--size', '1M', '-n', '1'),
             'no-such-host.invalid')


@case
def port_in_use_is_named(bench):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as holder:
        holder.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        holder.bind(('::', 0))
        port = holder.getsockname()[1]
        told_off(bench.run('server', '-s', '-1', '-p', port), str(port), 'in use')


@case
def nobody_listening_is_told(bench):
    """The system says that the port is closed; two seconds are enough to believe it."""
    for host in ('127.0.0.1', '::1'):
        port = free_port()
        told_off(bench.client(host, port, '--size', '1M', '-n', '1', name=f'to-{host}'),
                 'nothing listens', str(port), f'longhaul-perf -s -p {port}', seconds=6)


@case
def nobody_listening_is_told_when_time_is_short(bench):
    """What is known by the deadline, though it would not do to give up before it."""
    port = free_port()
    told_off(bench.client('127.0.0.1', port, '--connect-timeout', '600'), 'nothing listens',
             str(port), seconds=3)


@case
def host_without_a_route_is_told_at_once(bench):
    net = bench.namespaces(1500)
    for host in ('192.0.2.1', '2001:db8::1'):
        start = time.monotonic()
        told_off(bench.client(host, 5201, prefix=net.client, name=f'to-{host}'),
                 'network is unreachable', f'ip route get {host}', seconds=5)
        took = time.monotonic() - start
        expect(took < 3, f'told after {took:.1f} s')
    told_off(bench.client('fe80::1', 5201, prefix=net.client), 'fe80::1%', 'ip link', seconds=2)


@case
def host_the_firewall_forbids_is_told_at_once(bench):
    net = bench.namespaces(1500)
    net.ip('-n', net.client_name, 'route', 'add', 'prohibit', '192.0.2.0/24')
    told_off(bench.client('192.0.2.1', 5201, prefix=net.client), 'lets no packet to', 'firewall',
             seconds=5)


@case
def address_of_another_family_is_named(bench):
    told_off(bench.client('::1', free_port(), '-B', '127.0.0.1', '--size', '1M', '-n', '1'),
             ('family', 'ipv4', 'ipv6'))


@case
def bad_options_are_named(bench):
    for name, words in (('size', ('--size', 'lots')), ('dtype', ('--dtype', 'f33')),
                        ('rate', ('-b', 'fast')), ('loss', ('--inject-loss', '150%')),
                        ('port', ('-p', '70000')), ('engine', ('--engine', 'steam')),
                        ('unknown', ('--no-such-option',))):
        process = bench.run(f'option-{name}', '-c', '127.0.0.1', *words)
        told_off(process, words[0].lstrip('-').split('-')[-1])


LIES = {
    'empty-file': None,
    'length-beyond-file': dict(header='{}', data_bytes=0, length=1 << 40),
    'length-of-2-to-the-64': dict(header='{}', data_bytes=0, length=(1 << 64) - 1),
    'not-json': dict(header='{"a": oops}', data_bytes=8),
    'not-an-object': dict(header='[1, 2]', data_bytes=8),
    'cut-json': dict(header='{"a": {"dtype": "U8", "shape": [8], "data_', data_bytes=8),
    'nested-too-deep': dict(header='{"a":' * 30000 + '1' + '}' * 30000, data_bytes=0),
    'unknown-dtype': dict(header=json.dumps(
        {'a': {'dtype': 'F33', 'shape': [8], 'data_offsets': [0, 8]}}), data_bytes=8),
    'offsets-beyond-file': dict(header=json.dumps(
        {'a': {'dtype': 'U8', 'shape': [1 << 40], 'data_offsets': [0, 1 << 40]}}), data_bytes=8),
    'offsets-backwards': dict(header=json.dumps(
        {'a': {'dtype': 'U8', 'shape': [8], 'data_offsets': [8, 0]}}), data_bytes=8),
    'negative-offset': dict(header=json.dumps(
        {'a': {'dtype': 'U8', 'shape': [8], 'data_offsets': [-8, 0]}}), data_bytes=8),
    'shape-overflows': dict(header=json.dumps(
        {'a': {'dtype': 'F32', 'shape': [1 << 62, 1 << 62], 'data_offsets': [0, 8]}}),
        data_bytes=8),
    'shape-does-not-fit-offsets': dict(header=json.dumps(
        {'a': {'dtype': 'U8', 'shape': [9], 'data_offsets': [0, 8]}}), data_bytes=8),
    'overlapping-tensors': dict(header=json.dumps(
        {'a': {'dtype': 'U8', 'shape': [8], 'data_offsets': [0, 8]},
         'b': {'dtype': 'U8', 'shape': [8], 'data_offsets': [4, 12]}}), data_bytes=12),
}


@case
def lying_safetensors_headers_are_refused(bench):
    """Each lie: an error that names the file, quickly, and without memory taken on its word."""
    for lie, content in LIES.items():
        path = bench.folder / f'{lie}.safetensors'
        if content is None:
            path.touch()
        else:
            write_raw_safetensors(path, **content)
        process = bench.run(lie, '-c', '127.0.0.1', '-p', free_port(), '--file', path,
                            prefix=('sh', '-c', 'ulimit -v 4000000; exec "$@"', 'sh'))
        told_off(process, path.name, seconds=5)


@case
def file_of_another_kind_is_called_that(bench):
    path = bench.folder / 'letter.txt'
    path.write_text('copy of a letter to somebody, longer than eight bytes\n')
    process = bench.client('127.0.0.1', free_port(), '--file', path)
    told_off(process, 'letter.txt', 'not a safetensors file', seconds=5)
    expect('state a header' not in process.errors, process.story())


@case
def sample_overwrites_nothing(bench):
    path = bench.folder / 'model.safetensors'
    path.write_text('precious')
    told_off(bench.run('again', '--make-sample', path), path.name, 'exists; name another')
    expect(path.read_text() == 'precious', 'the file was overwritten')


@case
def folder_that_is_missing_is_told_alike(bench):
    target = bench.folder / 'no-folder' / 'file'
    for name, words in (('sample', ('--make-sample', target)), ('key', ('--generate-key', target)),
                        ('server', ('-s', '-p', free_port(), '--output', target))):
        process = bench.run(name, *words)
        told_off(process, 'error: invalid_argument: cannot ', f' {target} (no such file',
                 'check the path', seconds=5)
        expect('.partial' not in process.errors, process.story())


@case
def truncated_file_is_refused(bench):
    path = bench.sample(megabytes=4)
    os.truncate(path, path.stat().st_size - 1)
    told_off(bench.client('127.0.0.1', free_port(), '--file', path), path.name,
             ('truncated', 'short', 'beyond', 'size', 'bytes'))


@case
def missing_file_is_named(bench):
    path = bench.folder / 'not-there.safetensors'
    told_off(bench.client('127.0.0.1', free_port(), '--file', path), path.name,
             ('no such file', 'not found', 'does not exist'))


@case
def directory_as_file_is_named(bench):
    told_off(bench.client('127.0.0.1', free_port(), '--file', bench.folder), bench.folder.name)


def slow_file_transfer(bench, source, prefix=(), output=None):
    """A transfer that takes some seconds, under way when this returns."""
    port = free_port()
    server = bench.server(port, '--output', output or bench.folder / 'out.safetensors',
                          prefix=prefix)
    client = bench.client('127.0.0.1', port, '--file', source, '-b', '100M')
    wait_until(lambda: 'Connected' in server.output or not client.running(), 20, 'data')
    time.sleep(0.5)
    expect(client.running() and server.running(),
           f'the transfer ended early\n{client.story()}\n{server.story()}')
    return server, client


@case
def file_that_shrinks_while_it_is_sent(bench):
    """Not a crash on lost pages: either what the file was arrives, or both ends say why not."""
    source = bench.sample(megabytes=64)
    whole = source.read_bytes()
    server, client = slow_file_transfer(bench, source)
    os.truncate(source, 1 << 20)
    output = bench.folder / 'out.safetensors'
    if client.wait(30) == 0:
        expect(server.wait(10) == 0, server.story())
        expect(output.read_bytes() == whole, 'the output is not what the file was')
        return
    told_off(client, source.name)
    told_off(server, seconds=10)
    expect(not output.exists(), 'the receiver left a file that passes for whole')


@case
def file_that_is_deleted_while_it_is_sent(bench):
    """An open file outlives its name: either end well, or say what happened."""
    source = bench.sample(megabytes=32)
    kept = bench.folder / 'kept.safetensors'
    os.link(source, kept)
    server, client = slow_file_transfer(bench, source)
    source.unlink()
    codes = (client.wait(30), server.wait(10))
    if codes == (0, 0):
        expect(kept.read_bytes() == (bench.folder / 'out.safetensors').read_bytes(),
               'the output differs')
    else:
        told_off(client, source.name)


@case
def disk_that_fills_during_output(bench):
    need_root()
    small = bench.folder / 'small'
    small.mkdir()
    mount = f'mount -t tmpfs -o size=8m tmpfs {small} && exec "$@"'
    source, port = bench.sample(megabytes=32), free_port()
    server = bench.server(port, '--output', small / 'out.safetensors',
                          prefix=('unshare', '-m', 'sh', '-c', mount, 'sh'))
    client = bench.client('127.0.0.1', port, '--file', source, '-b', '400M')
    told_off(server, ('space', 'full'), 'out.safetensors', seconds=20)
    told_off(client, seconds=10)


@case
def output_that_cannot_be_written_is_named(bench):
    target = bench.folder / 'no-such-folder' / 'out.safetensors'
    """Before anybody sends anything."""
    told_off(bench.run('server', '-s', '-p', free_port(), '--output', target), 'no-such-folder',
             seconds=5)


@case
def output_that_exists_is_replaced_only_by_a_whole_file(bench):
    """A transfer that fails leaves what was there."""
    source, target = bench.sample(megabytes=64), bench.folder / 'out.safetensors'
    write_safetensors(target, [('old', 'U8', (3,))])
    old = target.read_bytes()
    server, client = slow_file_transfer(bench, source, output=target)
    client.popen.kill()
    told_off(server, seconds=10)
    expect(target.read_bytes() == old, 'the old file is gone')


# Answers io_uring_setup (425 on every architecture) with EPERM, as containers do, and goes on.
NO_IO_URING = '''
import ctypes, os, struct, sys
program = b"".join(struct.pack("HBBI", *step) for step in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
memory = ctypes.create_string_buffer(program)
rules = struct.pack("HxxxxxxP", 4, ctypes.addressof(memory))
prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, rules, 0, 0):
    sys.exit("no seccomp filter")
os.execv(sys.argv[1], sys.argv[1:])
'''
FILTERED = (sys.executable, '-c', NO_IO_URING)


@case
def io_uring_refused_by_the_system_is_told_or_done_without(bench):
    """By name: an error with cause and remedy. Automatically: the other engine, said once."""
    told_off(bench.client('127.0.0.1', free_port(), '--engine', 'io_uring', '-n', '1',
                          prefix=FILTERED, name='by-name'), 'io_uring_setup', 'seccomp', 'mmsg')
    port, source, output = free_port(), bench.sample(2), bench.folder / 'out.safetensors'
    server = bench.server(port, '-v', '--output', output, '-B', '127.0.0.1', prefix=FILTERED)
    client = bench.client('127.0.0.1', port, '-v', '--file', source, prefix=FILTERED)
    bench.finish(server, client)
    expect(source.read_bytes() == output.read_bytes(), 'the output differs')
    for process in (server, client):
        expect(process.errors.count('engine mmsg, because') == 1,
               f'the log does not say once that it fell back\n{process.story()}')
        expect('engine mmsg' in process.output, f'no engine shown\n{process.story()}')
