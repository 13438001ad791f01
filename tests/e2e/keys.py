# SPDX-License-Identifier: Apache-2.0
"""Pre-shared keys: made, used, refused; and ends that differ in what they ask for."""

import re
import time

from authority import Authority
from bad_input import told_off
from harness import case, digest_ok, expect, free_port, interrupt_and_time, wait_until
from transfers import HARSH, send_file

SMALL = ('--size', '1M', '-n', '4')
NONE = ('--security', 'none')
CIPHERS = ('aes_128_gcm', 'chacha20_poly1305')
# A refusal is told, not timed out.
PROMPT = 3


def make_key(bench, name, *words):
    path = bench.folder / f'{name}.key'
    maker = bench.run(f'make-{name}', '--generate-key', path, *words, security=())
    expect(maker.wait(10) == 0, maker.story())
    return path


def refused(bench, server_words, client_words, *words, by_server=True):
    """The client is told why at once, the server stays, and logs why where it was the one to say
    no. Returns both and the port."""
    port = free_port()
    count = len(bench.processes)
    server = bench.lasting_server(port, name=f'server{count}', security=server_words)
    start = time.monotonic()
    client = bench.client('127.0.0.1', port, *SMALL, name=f'client{count}', security=client_words)
    told_off(client, *words)
    took = time.monotonic() - start
    expect(took < PROMPT, f'told after {took:.1f} s\n{client.story()}\n{server.story()}')
    if by_server:
        wait_until(lambda: 'refused a client at 127.0.0.1' in server.errors, 5, 'a line in its log')
    expect(server.running(), server.story())
    print(f'{client.errors.strip().splitlines()[-1]}  ({took:.2f} s)')
    return server, client, port


def serves(bench, server, port, words):
    client = bench.client('127.0.0.1', port, *SMALL, name=f'after-{server.name}', security=words)
    expect(client.wait(10) == 0, f'{client.story()}\n{server.story()}')
    interrupt_and_time(server)


@case
def generated_key_lets_both_ends_talk(bench):
    key = make_key(bench, 'made', '--key-name', 'lab-7')
    expect(key.stat().st_mode & 0o777 == 0o600, oct(key.stat().st_mode))
    lines = [line for line in key.read_text().splitlines() if not line.startswith('#')]
    expect(len(lines) == 1 and re.fullmatch(r'longhaul-psk-1 lab-7 [0-9a-f]{64}', lines[0]),
           'not a key of this format')
    port = free_port()
    server = bench.server(port, security=('--key', key))
    client = bench.client('127.0.0.1', port, '-J', *SMALL, security=('--key', key))
    bench.finish(server, client)
    start = client.json()['start']
    expect(start['security'] == 'psk' and start['peer_identity'] == 'psk lab-7', start)
    expect(start['cipher'] in CIPHERS, start)
    expect('proven to be psk lab-7' in server.output and start['cipher'] in server.output,
           server.story())
    digest_ok(server)
    expect('none' not in server.errors + client.errors, 'warned of what is not')


@case
def generated_key_says_what_to_do_next_and_overwrites_nothing(bench):
    key = make_key(bench, 'first')
    maker = bench.processes[-1]
    for line in (f'scp -p {key} HOST:', f'longhaul-perf -s --key {key}',
                 f'longhaul-perf -c HOST --key {key}'):
        expect(line in maker.output, maker.story())
    before = key.read_bytes()
    told_off(bench.run('again', '--generate-key', key, security=()), 'exists', key.name)
    expect(key.read_bytes() == before, 'the key was overwritten')
    told_off(bench.run('nowhere', '--generate-key', bench.folder / 'no-folder/key', security=()),
             'no-folder')
    told_off(bench.run('name', '--generate-key', bench.folder / 'other', '--key-name', 'a b',
                       security=()), '--key-name')
    expect(not (bench.folder / 'other').exists(), 'a key without a name was made')
    expect(make_key(bench, 'second').read_bytes() != before, 'the same key twice')


@case
def without_a_key_both_ends_say_the_lines_that_fix_it(bench):
    for name, words in (('server', ('-s',)), ('client', ('-c', '127.0.0.1'))):
        told_off(bench.run(f'bare-{name}', *words, security=()), 'no key is given',
                 '    longhaul-perf --generate-key longhaul.key\n', '    --key longhaul.key\n',
                 '    --security none', seconds=2)


@case
def none_is_warned_of(bench):
    port = free_port()
    server = bench.server(port, security=NONE)
    client = bench.client('127.0.0.1', port, '-J', *SMALL, security=NONE)
    bench.finish(server, client)
    for process in (server, client):
        expect('warning: security is none' in process.errors, process.story())
    start = client.json()['start']
    expect((start['security'], start['peer_identity'], start['cipher']) == ('none', '', ''), start)
    expect('neither encrypted nor authenticated' in server.output, server.story())


@case
def file_without_security_through_loss_reordering_and_corruption(bench):
    """The checksum in place of the tag."""
    bench.security = NONE
    rate = ('-b', '900M')
    send_file(bench, bench.sample(), server=(*HARSH, *rate), client=(*HARSH, *rate))


@case
def another_key_is_refused_at_once(bench):
    """Under the same name and under another; the server goes on serving its own."""
    right = make_key(bench, 'right', '--key-name', 'lab')
    for name, called, words in (('same-name', 'lab', 'another key'),
                                ('other-name', 'garage', 'no key called garage')):
        wrong = make_key(bench, name, '--key-name', called)
        server, _, port = refused(bench, ('--key', right), ('--key', wrong), words, 'same key file')
        serves(bench, server, port, ('--key', right))


@case
def one_end_without_security_is_refused_in_both_directions(bench):
    key = make_key(bench, 'key')
    for server_words, client_words in ((('--key', key), NONE), (NONE, ('--key', key))):
        server, _, port = refused(bench, server_words, client_words, 'security')
        serves(bench, server, port, server_words)


@case
def a_key_and_certificates_do_not_meet(bench):
    key = make_key(bench, 'key')
    root = Authority(bench.folder, 'root')
    own = root.issue('own').flags('--ca', root.own.pem)
    refused(bench, ('--key', key), own, ('certificate', 'pre-shared'))
    refused(bench, own, ('--key', key), ('certificate', 'pre-shared'))


@case
def a_key_file_others_can_read_is_refused(bench):
    key = make_key(bench, 'key')
    for mode in (0o644, 0o640, 0o660, 0o604):
        key.chmod(mode)
        for name, words in (('server', ('-s', '-p', free_port())), ('client', ('-c', '127.0.0.1'))):
            told_off(bench.run(f'{name}-{mode:o}', *words, security=('--key', key)),
                     f'--key {key}', f'    chmod 600 {key}', seconds=5)


@case
def key_files_that_are_none_are_named(bench):
    folder, empty, garbage = (bench.folder / name for name in ('folder', 'empty', 'garbage'))
    folder.mkdir()
    for path, content in ((empty, ''), (garbage, 'longhaul-psk-1 lab 00ff00ff')):
        path.touch(mode=0o600)
        path.write_text(content)
    for path, word in ((folder, 'a folder'), (empty, 'empty'), (garbage, '64'),
                       (bench.folder / 'nothing', 'no such file')):
        process = bench.client('127.0.0.1', free_port(), name=f'with-{path.name}',
                               security=('--key', path))
        told_off(process, f'--key {path}', word, seconds=5)
        expect('00ff00ff' not in process.everything, 'a key was shown')
