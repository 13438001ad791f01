# SPDX-License-Identifier: Apache-2.0
"""What scripts/test does once the packages are there: build, run, count. Each step says what it
does and when; counts come from meson's testlog.json, and for GoogleTest programs from their own
lines, so that one case counts as one."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMATTED = ('include', 'lib', 'congestion', 'fec', 'apps', 'perf', 'tests')
# What runs under address and undefined-behaviour sanitizers: every part, whole transfers in
# simulation, and the C interface, which is where pointers come from outside.
SANITIZED = ('tests/unit/', 'tests/conformance/', 'tests/sim/', 'tests/capi/')
# What runs under the thread sanitizer: whatever has more than one thread. Not api/unload: the
# sanitizer's own thread stays in the process, and that nothing does is what it tests.
THREADED = ('tests/unit/base/', 'tests/unit/runtime/', 'tests/unit/api/', 'tests/api/api_test')
SANITIZER_ENV = {'ASAN_OPTIONS': 'detect_stack_use_after_return=1:strict_string_checks=1',
                 'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1',
                 # A forked child of a test starts a worker of its own.
                 'TSAN_OPTIONS': 'halt_on_error=1:exitcode=66:die_after_fork=0'}
# Lines of a stack trace need no more, and compiling with all of it takes half as long again.
LINES_ONLY = ('-Ddebug=false', '-Dcpp_args=-g1', '-Dc_args=-g1')
FUZZ_TARGETS = ('headers', 'frames', 'transport_parameters', 'safetensors', 'handshake',
                'connection', 'protected_connection')
FUZZ_SECONDS = 20
GTEST_CASE = re.compile(
    r'^\[ {2}(?:     OK|FAILED |SKIPPED) \] \S+(?:, where .*)? \(\d+ ms\)', re.M)
GTEST_RAN = re.compile(r'^\[=+\] \d+ tests? from \d+ test suites? ran\.', re.M)


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped'


def skip_reason(output):
    """The line in which a skipped program or case says what it misses."""
    for line in output.splitlines():
        if line.startswith('SKIP'):
            return line
    match = re.search(r': Skipped\n(.+)', output)
    return match.group(1).strip() if match else 'SKIP: gave no reason'


def count(entry):
    """Counts of one meson test, case by case if it is a GoogleTest program."""
    output, result = entry.get('stdout') or '', entry['result']
    kinds = [match.group()[:12] for match in GTEST_CASE.finditer(output)]
    if kinds:
        counts = Counts(kinds.count('[       OK ]'), kinds.count('[  FAILED  ]'),
                        kinds.count('[  SKIPPED ]'))
        # Died between two cases, or a sanitizer had the last word.
        if result not in ('OK', 'SKIP') and counts.failed == 0:
            counts.failed = 1
        if result == 'OK' and not GTEST_RAN.search(output):
            counts.failed += 1
        return counts
    if result in ('OK', 'EXPECTEDFAIL'):
        return Counts(passed=1)
    return Counts(skipped=1) if result == 'SKIP' else Counts(failed=1)


def errors_of(lines):
    """The first compiler errors with what follows them, or the end of the output."""
    first = next((at for at, line in enumerate(lines) if re.search(r'error:|FAILED:', line)), None)
    return lines[-40:] if first is None else lines[first:first + 60]


def formatted_otherwise(lines):
    """The files clang-format complains about, once each."""
    named = [re.match(r'(.*?):\d+:\d+: error: code should be', line) for line in lines]
    return sorted({match.group(1) for match in named if match}) or lines[-20:]


def jobs():
    return int(os.environ.get('LONGHAUL_JOBS') or len(os.sched_getaffinity(0)))


class Run:
    def __init__(self, spent):
        self.start = time.monotonic() - spent
        self.total = Counts()
        self.not_run = []

    def say(self, text):
        print(f'[{time.monotonic() - self.start:6.1f} s] {text}', flush=True)

    def check(self, name, command, remedy, shown=lambda lines: lines[-40:]):
        """A check that passes or fails as a whole; of its output `shown` picks what explains a
        failure."""
        self.say(name)
        result = subprocess.run(command, cwd=ROOT, text=True, check=False, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode == 0:
            return True
        print('\n'.join(shown(result.stdout.splitlines())))
        print(f'{name}: FAILED. {remedy}', flush=True)
        self.total.failed += 1
        return False

    def configure(self, build, options, env):
        if not (ROOT / build / 'build.ninja').exists():
            shutil.rmtree(ROOT / build, ignore_errors=True)
        again = ['--reconfigure'] if (ROOT / build).exists() else []
        command = ['env', *env, 'meson', 'setup', *again, build, *options]
        return self.check(f'configure {build} ({" ".join([*env, *options])})', command,
                          f'If the tools changed, delete {build} and try again.',
                          lambda lines: lines[-8:])

    def build(self, build, programs, targets=()):
        """`programs` is how many tests wait for it."""
        built = self.check(f'build {build}', ['ninja', '-C', build, '-j', str(jobs()), *targets],
                           'Warnings are errors here.', errors_of)
        if not built:
            self.not_run.append(f'{programs} test programs not run: {build} did not build')
        return built

    def verdict(self):
        return '; '.join([str(self.total), *self.not_run])

    def tests(self, build, arguments, env):
        """Runs meson tests, shows them as they end, and counts from the log."""
        log = ROOT / build / 'meson-logs' / 'testlog.json'
        log.unlink(missing_ok=True)
        command = ['meson', 'test', '-C', build, '--no-rebuild', '--print-errorlogs', *arguments]
        code = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, check=False,
                              stdin=subprocess.DEVNULL).returncode
        lines = log.read_text().splitlines() if log.exists() else []
        entries = [json.loads(line) for line in lines]
        counts = Counts()
        for entry in entries:
            one = count(entry)
            counts.add(one)
            if one.skipped:
                print(f'skipped: {entry["name"]}: {skip_reason(entry.get("stdout") or "")}')
        if not entries or (code != 0 and counts.failed == 0):
            print(f'meson test ended with {code} and {len(entries)} results: counted as a failure')
            counts.failed += 1
        self.total.add(counts)
        self.say(f'{build}: {counts}')


def tests_of(build):
    return json.loads(subprocess.run(['meson', 'introspect', '--tests', build], cwd=ROOT, text=True,
                                     check=True, stdout=subprocess.PIPE).stdout)


def tests_below(build, folders):
    """Names of the tests whose programs are built below these folders, and all they need built."""
    names, programs = [], set()
    for test in tests_of(build):
        program = test['cmd'][0]
        if not program.startswith(str(ROOT / build)):
            continue
        program = os.path.relpath(program, ROOT / build)
        if program.startswith(folders):
            names.append(test['name'])
            programs.add(program)
    return names, sorted(programs)


def format_check(run):
    paths = [path.relative_to(ROOT) for folder in FORMATTED
             for ending in ('*.hpp', '*.cpp', '*.h', '*.c')
             for path in sorted((ROOT / folder).rglob(ending))]
    if run.check(f'format of {len(paths)} files',
                 ['clang-format', '--dry-run', '-Werror', *map(str, paths)],
                 'clang-format -i the files named above.', formatted_otherwise):
        run.total.passed += 1


def main_build(run, quick):
    options = ['-Dwerror=true', '-Dassertions=abort', '-Doptimization=2', *LINES_ONLY]
    if not run.configure('build-test', options, ['CXX=g++']):
        run.not_run.append('no test run: build-test was not configured')
        return
    kinds = ('unit', 'laws', 'headers')
    waiting = [test for test in tests_of('build-test')
               if not quick or any(suite.split(':')[-1] in kinds for suite in test['suite'])]
    if not run.build('build-test', len(waiting)):
        return
    suites = ['--suite', 'unit', '--suite', 'laws', '--suite', 'headers'] if quick else []
    run.say('run ' + ('unit tests, laws and headers' if quick else 'all suites'))
    run.tests('build-test', suites, {})


def sanitizer_build(run, build, sanitizers, folders, what):
    options = ['-Dwerror=true', '-Dassertions=abort', '-Dperf=false', '-Doptimization=1',
               f'-Db_sanitize={sanitizers}', '-Db_lundef=false', *LINES_ONLY]
    if not run.configure(build, options, ['CXX=clang++']):
        run.not_run.append(f'no test run: {build} was not configured')
        return
    names, programs = tests_below(build, folders)
    if not names or not run.build(build, len(names), programs):
        return
    run.say(f'run {what} under {sanitizers} sanitizer')
    run.tests(build, ['-t', '4', *names], SANITIZER_ENV)


def fuzz_command(target, seconds, learned, artifacts):
    """libFuzzer over a target, from its corpus; what it learns goes to the folder `learned`, what
    it finds to files that begin with `artifacts`."""
    return [f'build-fuzz/tests/fuzz/fuzz_{target}', str(learned), f'tests/fuzz/corpus/{target}',
            f'-max_total_time={seconds}', '-max_len=700', '-len_control=0', '-timeout=60',
            '-malloc_limit_mb=64', f'-artifact_prefix={artifacts}']


def fuzz(target, seconds, found):
    """Returns libFuzzer's exit status and its output."""
    (found / target).mkdir(parents=True, exist_ok=True)
    done = subprocess.run(fuzz_command(target, seconds, found / target, found / f'{target}-'),
                          cwd=ROOT, env={**os.environ, **SANITIZER_ENV}, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors='replace')


def fuzz_build(run):
    options = ['-Dwerror=true', '-Dassertions=abort', '-Dperf=false', '-Doptimization=1',
               '-Dfuzz=true', '-Db_sanitize=address,undefined', '-Db_lundef=false', *LINES_ONLY]
    return run.configure('build-fuzz', options, ['CXX=clang++']) and run.build(
        'build-fuzz', len(FUZZ_TARGETS), [f'tests/fuzz/fuzz_{target}' for target in FUZZ_TARGETS])


def fuzz_all(run, seconds):
    """Fuzzes every target, as many at once as there are cores; true if nothing was found."""
    found = ROOT / 'build-fuzz' / 'found'
    shutil.rmtree(found, ignore_errors=True)
    run.say(f'fuzz {len(FUZZ_TARGETS)} targets, {seconds} s each')
    with ThreadPoolExecutor(jobs()) as pool:
        results = list(pool.map(lambda target: fuzz(target, seconds, found), FUZZ_TARGETS))
    held = True
    for target, (code, output) in zip(FUZZ_TARGETS, results):
        runs = re.search(r'Done (\d+) runs', output)
        if code == 0 and runs:
            run.total.passed += 1
            print(f'fuzz_{target}: {runs.group(1)} runs held')
            continue
        held = False
        run.total.failed += 1
        print('\n'.join(output.splitlines()[-60:]))
        artifact = re.search(r'Test unit written to (\S+)', output)
        print(f'fuzz_{target}: FAILED. Repeat it with: build-fuzz/tests/fuzz/fuzz_{target} '
              f'{artifact.group(1) if artifact else "(no input was kept)"}', flush=True)
    return held


def main():
    parser = argparse.ArgumentParser(description='build, run and count; see scripts/test --help')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--spent', type=float, default=0, help='seconds the installation took')
    arguments = parser.parse_args()
    run = Run(arguments.spent)
    format_check(run)
    main_build(run, arguments.quick)
    if not arguments.quick:
        sanitizer_build(run, 'build-asan', 'address,undefined', SANITIZED,
                        'every part and the simulations')
        sanitizer_build(run, 'build-tsan', 'thread', THREADED, 'the runtime and the API')
        if fuzz_build(run):
            fuzz_all(run, FUZZ_SECONDS)
    run.say('done')
    elapsed = time.monotonic() - run.start
    print(f'took {int(elapsed // 60)} min {elapsed % 60:.0f} s')
    print(run.verdict(), flush=True)
    sys.exit(1 if run.total.failed or not run.total.passed else 0)


if __name__ == '__main__':
    main()
