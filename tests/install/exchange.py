# SPDX-License-Identifier: Apache-2.0
"""Builds send.c and receive.cpp with nothing but what pkg-config says about an installed copy, and
lets the C program send a tensor to the C++ program."""

import os
import random
import secrets
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BYTES = 3_000_001
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']


class Failed(Exception):
    """What went wrong, in words for a log."""


def run(command, env=None):
    result = subprocess.run([str(word) for word in command], text=True, check=False, env=env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    if result.returncode != 0:
        raise Failed(f'{" ".join(map(str, command))}\n{result.stdout}')
    return result.stdout


def build(folder, env, static):
    """The two programs in `folder`; flags come from pkg-config and from nowhere else."""
    link = ['--static'] if static else []
    cflags = run(['pkg-config', *link, '--cflags', 'longhaul'], env).split()
    libs = run(['pkg-config', *link, '--libs', 'longhaul'], env).split()
    sender, receiver = folder / 'send', folder / 'receive'
    run(['gcc', '-std=c99', *STRICT, *cflags, HERE / 'send.c', '-o', sender, *libs], env)
    run(['g++', '-std=c++20', *STRICT, *cflags, HERE / 'receive.cpp', '-o', receiver, *libs], env)
    return sender, receiver


def needs_our_library(program):
    return 'liblonghaul.so' in run(['readelf', '-d', program])


def exchange(sender, receiver, folder, env):
    """Raises unless the bytes the C program sent are those the C++ program got."""
    source = random.Random(BYTES).randbytes(BYTES)
    (folder / 'source').write_bytes(source)
    key = folder / 'key'
    key.touch(mode=0o600)
    key.write_text(f'longhaul-psk-1 exchange {secrets.token_hex(32)}\n')
    with open(folder / 'target', 'wb') as target, open(folder / 'source', 'rb') as given:
        with subprocess.Popen([receiver, str(BYTES), key], env=env, stdin=subprocess.DEVNULL,
                              stdout=target, stderr=subprocess.PIPE, text=True) as server:
            try:
                port = server.stderr.readline().strip()
                if not port.isdecimal():
                    raise Failed(f'the receiver says "{port}" instead of its port')
                client = subprocess.run([sender, port, key], env=env, stdin=given, check=False,
                                        timeout=60, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
                status = server.wait(60)
            finally:
                server.kill()
    if client.returncode != 0 or status != 0:
        raise Failed(f'send ended with {client.returncode} ({client.stdout}), '
                     f'receive with {status}')
    if (folder / 'target').read_bytes() != source:
        raise Failed('the bytes differ')


def environment(**more):
    """Of a user who knows nothing about the tree."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith('PKG_CONFIG') and name != 'LD_LIBRARY_PATH'}
    return {**kept, **more}
