# SPDX-License-Identifier: Apache-2.0
"""The sans-IO law on symbols: the archives of the core import no clock, socket, thread, randomness,
DPDK or io_uring. usage: symbols.py SOURCE_ROOT BUILD_ROOT"""

import re
import subprocess
import sys
from pathlib import Path

import tree

# Archive -> its folder. lib/base is no core, but what it imports the core would import through it.
CORE = {
    'base': 'lib/base', 'wire': 'lib/wire', 'crypto': 'lib/crypto', 'recovery': 'lib/recovery',
    'path': 'lib/path', 'transfer': 'lib/transfer', 'connection': 'lib/connection',
    'endpoint': 'lib/endpoint', 'congestion': 'congestion', 'fec': 'fec',
}
# What is imported -> why that is a breach. Matched against the whole demangled name, so that a
# method of ours called `send` or `time` is not mistaken for the C function.
FORBIDDEN = (
    ('a clock', 'take the time as an argument: handle_x(now, …)', re.compile(
        r'clock|clock_\w+|gettimeofday|time|times|timespec_get|ftime|nanosleep|u?sleep|alarm'
        r'|timer_\w+|timerfd_\w+|[gs]etitimer|localtime\w*|gmtime\w*'
        r'|std::chrono::.*::now\(.*|std::this_thread::.*')),
    ('a socket', 'take packets in and hand packets out; lib/io moves them', re.compile(
        r'socket|socketpair|bind|listen|accept4?|connect|shutdown|send(to|msg|mmsg|file(64)?)?'
        r'|recv(from|msg|mmsg)?|__recv\w*_chk|[gs]etsockopt|getsockname|getpeername'
        r'|p?poll|__p?poll_chk|p?select|epoll_\w+|eventfd\w*|ioctl|fcntl(64)?|getaddrinfo'
        r'|getnameinfo|if_\w+|getifaddrs|open(at)?(64)?|read|write|readv|writev|close|pipe2?')),
    ('a thread', 'the core runs on its caller’s thread and shares nothing', re.compile(
        r'pthread_\w+|sem_\w+|thrd_\w+|mtx_\w+|cnd_\w+|fork|vfork|clone|syscall|sched_\w+'
        r'|std::j?thread::.*|std::(\w+_)?mutex.*|std::condition_variable.*|std::__condvar.*'
        r'|std::future.*|std::__future_base.*|std::__atomic_futex\w*::.*|std::call_once.*')),
    ('randomness of the system', 'draw from the generator made of the entropy handed in',
     re.compile(r'rand|s?random|[ejlmn]rand48|getrandom|getentropy|arc4random\w*'
                r'|std::random_device::.*')),
    ('DPDK', 'rte_* stays inside lib/io/dpdk', re.compile(r'(__)?rte_\w+|per_lcore_\w+')),
    ('io_uring', 'io_uring_* stays inside lib/io/kernel', re.compile(r'(__)?io_uring_\w+')),
)
SYMBOL = re.compile(r'^\s*([Uw])\s+(.+)$')


def undefined(archive):
    """(member, demangled name) of everything the archive imports."""
    output = subprocess.run(['nm', '-C', '--undefined-only', str(archive)], check=True, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    member = ''
    for line in output.splitlines():
        match = SYMBOL.match(line)
        if match:
            yield member, re.sub(r'@.*$', '', match.group(2))
        elif line.endswith(':'):
            member = line[:-1]


def check_archive(archive):
    findings = []
    for member, symbol in undefined(archive):
        for what, remedy, pattern in FORBIDDEN:
            if pattern.fullmatch(symbol):
                where = f'{archive.name}({Path(member).name})'
                findings.append(tree.Finding(where, 0, f'imports {what}: {symbol}', remedy))
    return findings


def check(source_root, build_root):
    """Looks at the archive of every core folder that exists; a missing archive is a breach too."""
    findings, examined = [], 0
    for name, folder in CORE.items():
        if not any((source_root / folder).rglob('*.cpp')):
            continue
        archive = build_root / folder / f'liblonghaul_{name}.a'
        if not archive.exists():
            findings.append(tree.Finding(folder, 0, f'{archive} was not built',
                                         'name the static_library longhaul_<folder>, or build all'))
            continue
        examined += 1
        findings += check_archive(archive)
    return findings, examined


if __name__ == '__main__':
    tree.report('symbol law', *check(Path(sys.argv[1]), Path(sys.argv[2])))
