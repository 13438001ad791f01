# SPDX-License-Identifier: Apache-2.0
"""scripts/wan-lab as a person uses it: made, used, looked at, removed; refused with one line; and
nothing left behind, however it ends."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import lab
from lab import state

from harness import ROOT, Process, case, expect, need_root, wait_until

TOOL = (sys.executable, '-B', ROOT / 'scripts' / 'wan-lab')
NAME = f't{os.getpid()}'


def start(bench, title, command, *words):
    process = Process(bench, title, [*TOOL, command, '--name', NAME, *words])
    bench.processes.append(process)
    return process


def tool(bench, command, *words, code=0):
    """One call of it; its process once it has ended as expected."""
    process = start(bench, f'{command}-{len(bench.processes)}', command, *words)
    expect(process.wait(30) == code, process.story())
    return process


def up(bench, *words):
    """A lab that goes with the case."""
    need_root()
    bench.stack.callback(remove_quietly)
    return tool(bench, 'up', *words)


def remove_quietly():
    subprocess.run([*map(str, TOOL), 'down', '--name', NAME], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def traces():
    """Whatever of the lab is on this machine."""
    spaces = [str(path) for path in Path('/run/netns').glob(f'lhlab-{NAME}-*')]
    hosts = [str(path) for path in Path('/etc/netns').glob(f'lhlab-{NAME}-*')]
    emulators = [path.parent.name for path in Path('/proc').glob('[0-9]*/cmdline')
                 if is_emulator(path)]
    return spaces + hosts + emulators + ([NAME] if NAME in state.names() else [])


def is_emulator(path):
    try:
        words = path.read_bytes()
    except OSError:
        return False
    return f'{state.folder(NAME)}/'.encode() in words and b'longhaul-wan' in words


def emulator_is_gone():
    """As the tool sees it: a process that was killed loses its command line before it ends."""
    return not lab.load(NAME).running()


def expect_no_trace():
    wait_until(lambda: not traces(), 5, f'nothing left of the lab, but {traces()}')


def refused(bench, *words, says):
    """`up` says in one line what is wrong, and leaves nothing."""
    process = tool(bench, 'up', *words, code=1)
    told = process.everything.strip()
    expect('\n' not in told and re.search(says, told), f'not "{says}"\n{process.story()}')
    expect_no_trace()


def pings(bench, region, host, family=4):
    tool(bench, 'run', region, 'ping', f'-{family}', '-c', '1', '-W', '5', host)


@case
def lab_is_made_used_looked_at_and_removed(bench):
    ready = up(bench, '--delay', '10ms')
    expect(re.search(f'^ready. Try: {TOOL[-1]} run --name {NAME} east ', ready.output, re.M),
           ready.story())
    pings(bench, 'east', 'west')
    pings(bench, 'west', 'east', 6)
    ping = tool(bench, 'run', 'east', 'sh', '-c', 'exec ping -c 1 $LAB_WEST_EAST_WEST_IPV6')
    took = float(re.search(r'time=([\d.]+) ms', ping.output)[1])
    expect(20 <= took < 500, f'a round trip of 20 ms took {took} ms')
    tool(bench, 'run', 'east', 'sh', '-c', 'exit 7', code=7)
    for program in ('longhaul-wan', 'longhaul-perf'):
        found = tool(bench, 'run', 'east', 'which', program)
        expect(f'/{program}\n' in found.output, found.story())
    sleeper = start(bench, 'sleeper', 'run', 'west', 'sleep', '60')
    wait_until(lambda: '1 process' in tool(bench, 'status').output, 10, 'the process in status')
    wait_until(lambda: 'west to east: offered' in tool(bench, 'status').output, 10, 'counters')
    told = json.loads(tool(bench, 'status', '--json').output)[0]
    expect(told['emulator']['running'] and told['links'][0]['name'] == 'east-west', told)
    expect(told['links'][0]['counters']['name'] == 'east-west', told)
    down = tool(bench, 'down')
    expect('1 process inside it ended' in down.output, down.story())
    expect(sleeper.wait(5) != 0, sleeper.story())
    expect_no_trace()


@case
def lab_of_two_paths_and_of_a_triangle_joins_each_pair(bench):
    up(bench, 'two-paths', '--delay', '1ms', '--link', 'east-west-2', '--delay', '30ms')
    for family in (4, 6):
        pings(bench, 'east', 'west.east-west-1', family)
        pings(bench, 'west', 'east.east-west-2', family)
    status = tool(bench, 'status').output
    expect('delay=1ms' in status and 'delay=30ms' in status, status)
    tool(bench, 'down')
    up(bench, 'triangle', '--delay', '1ms')
    for family in (4, 6):
        for one, other in (('east', 'west'), ('west', 'south'), ('south', 'east')):
            pings(bench, one, other, family)
            pings(bench, other, one, family)
    tool(bench, 'down')
    expect_no_trace()


@case
def lab_whose_emulator_is_killed_says_so_and_is_removed(bench):
    up(bench)
    pings(bench, 'east', 'west')
    wait_until(lambda: 'east to west: offered' in tool(bench, 'status').output, 10, 'counters')
    os.kill(json.loads(tool(bench, 'status', '--json').output)[0]['emulator']['pid'],
            signal.SIGKILL)
    wait_until(emulator_is_gone, 5, 'its emulator ended')
    dead = tool(bench, 'status', code=1)
    for words in ('emulator: DEAD (killed, or crashed)', f'wan-lab down --name {NAME}, ',
                  'last words: ', 'east to west: offered'):
        expect(words in dead.output, dead.story())
    ping = start(bench, 'ping', 'run', 'east', 'ping', '-c', '1', '-W', '1', 'west')
    expect(ping.wait(10) == 1 and re.fullmatch(
        r'wan-lab: the emulator of .* is dead \(killed, or crashed\), so nothing passes; '
        f'start again: {TOOL[-1]} down --name {NAME}, .*\n', ping.errors), ping.story())
    tool(bench, 'down')
    expect_no_trace()


@case
def lab_that_lost_a_region_says_so_and_is_removed(bench):
    up(bench)
    subprocess.run(['ip', 'netns', 'del', f'lhlab-{NAME}-west'], check=True)
    gone = tool(bench, 'run', 'west', 'true', code=1)
    expect(re.fullmatch(f'wan-lab: namespace lhlab-{NAME}-west of west is gone; start again: '
                        f'{TOOL[-1]} down --name {NAME}, .*\n', gone.errors), gone.story())
    wait_until(emulator_is_gone, 5, 'its emulator ended')
    told = tool(bench, 'status', code=1)
    for words in ('DEAD (ended)', 'the other end of to-east in west has gone', ' GONE; start'):
        expect(words in told.output, told.story())
    tool(bench, 'down')
    expect_no_trace()


def catches(pid, number):
    """Python itself catches Ctrl-C long before, and answers it with its own words."""
    try:
        status = Path(f'/proc/{pid}/status').read_text(encoding='ascii', errors='replace')
    except OSError:
        return True
    caught = int(re.search(r'^SigCgt:\s*([0-9a-f]+)', status, re.M)[1], 16)
    return bool(caught >> (number - 1) & 1)


@case
def lab_interrupted_while_it_is_made_leaves_nothing(bench):
    need_root()
    bench.stack.callback(remove_quietly)
    made = 0
    for number, (after, how) in enumerate((after, how) for after in (0, 0.03, 0.08, 0.15)
                                          for how in (signal.SIGINT, signal.SIGTERM)):
        process = start(bench, f'up-{number}', 'up')
        wait_until(lambda pid=process.popen.pid: catches(pid, signal.SIGTERM), 10, 'it began')
        time.sleep(after)
        process.signal(how)
        code = process.wait(10)
        if code == 0:
            made += 1
            tool(bench, 'down')
        else:
            expect(code == 130 and 'Traceback' not in process.errors
                   or code == -how, process.story())
        expect_no_trace()
    print(f'{made} of 8 were up before the signal')


@case
def lab_whose_maker_is_killed_is_removed_by_name(bench):
    need_root()
    bench.stack.callback(remove_quietly)
    for number, after in enumerate((0.15, 0.2, 0.25, 0.3, 0.4)):
        process = start(bench, f'up-{number}', 'up')
        time.sleep(after)
        process.signal(signal.SIGKILL)
        process.wait(5)
        left = bool(traces())
        if left:
            again = tool(bench, 'up', code=1)
            expect(f'wan-lab down --name {NAME}' in again.errors, again.story())
        tool(bench, 'down', code=0 if left else 1)
        expect_no_trace()


@case
def lab_refuses_what_makes_no_sense_in_one_line(bench):
    need_root()
    bench.stack.callback(remove_quietly)
    refused(bench, '--emulator', '/nowhere/longhaul-wan', says='/nowhere.*quickstart')
    refused(bench, '--emulator', '/bin/ls', says='/bin/ls is not longhaul-wan')
    refused(bench, '--rate', 'fast', says='rate.*fast')
    refused(bench, '--rate', '0.1', says='rate')
    refused(bench, '--both', 'los=1%', says='error: east-west: both: .*los.*loss')
    refused(bench, '--at', 'soon:both:down=2s', says='soon')
    refused(bench, '--at', 'both:down=2s', says='TIME:DIRECTION:EFFECTS')
    refused(bench, '--delay', '25', says='delay.*25')
    scenario = bench.folder / 'scenario.json'
    scenario.write_text('{"links": [{"name": "east-west", "both": {"rte": "1G"}}]}')
    refused(bench, '--scenario', scenario, says=f'{scenario}: east-west: .*rte.*rate')
    scenario.write_text('{"links": [{"name": "east-west", "all": {}}]}')
    refused(bench, '--scenario', scenario, says=f'{scenario}: link east-west has.*"all"')
    pipe = bench.folder / 'pipe'
    os.mkfifo(pipe)
    refused(bench, '--scenario', pipe, says='pipe is no regular file')
    scenario.write_text('[' * 200_000)
    refused(bench, '--scenario', scenario, says='nested too deep')
    scenario.write_text('{"links": []}')
    refused(bench, '--scenario', scenario, says='says nothing of east-west: describe every link')
    scenario.write_text('{"sead": 1, "links": [{"name": "east-west"}]}')
    refused(bench, '--scenario', scenario, says='sead.*seed')
    up(bench)
    again = tool(bench, 'up', code=1)
    expect(re.fullmatch(f'wan-lab: a lab named "{NAME}" exists: remove it with "{TOOL[-1]} down '
                        f'--name {NAME}".*\n', again.errors), again.story())
    nobody = tool(bench, 'run', 'north', 'true', code=1)
    expect('no region "north"; it has east, west' in nobody.errors, nobody.story())
    pings(bench, 'east', 'west')
    tool(bench, 'down')
    expect_no_trace()


@case
def lab_of_a_scenario_says_what_each_link_does_whatever_their_order(bench):
    scenario = bench.folder / 'scenario.json'
    scenario.write_text('\ufeff' + json.dumps({'seed': 7, 'links': [
        {'name': 'east-west-2', 'forward': {'loss': 0.01}},
        {'name': 'east-west-1', 'both': {'delay': '2ms'},
         'schedule': [{'at': '900s', 'direction': 'both', 'effects': {'down': '2s'}}]}]}))
    need_root()
    bench.stack.callback(remove_quietly)
    made = Process(bench, 'up', [*TOOL, 'up', 'two-paths', '--name', NAME, '--scenario',
                                 'scenario.json'], cwd=bench.folder)
    expect(made.wait(30) == 0, made.story())
    tool(bench, 'run', 'east', 'ping', '-c', '20', '-i', '0.01', 'west.east-west-1')
    status = tool(bench, 'status').output
    for words in (f'scenario: {scenario}\n', '): --forward loss=0.01\n',
                  '): --both delay=2ms --at 900s:both:down=2s\n'):
        expect(words in status, f'no "{words}" in {status}')

    def offered(link):
        told = json.loads(tool(bench, 'status', '--json').output)[0]['links'][link]
        return told['counters']['forward']['offered'] if told['counters'] else 0
    wait_until(lambda: offered(0) >= 20, 10, 'counters of the first link')
    # Multicast of the kernel's own.
    expect(offered(1) < 10, 'counters of the other link')
    tool(bench, 'down')
    expect_no_trace()


@case
def lab_that_lost_its_folder_is_left_alone_until_it_is_removed(bench):
    up(bench, '--delay', '1ms')
    sleeper = start(bench, 'sleeper', 'run', 'west', 'sleep', '60')
    wait_until(lambda: '1 process' in tool(bench, 'status').output, 10, 'the process in status')
    before = traces()
    shutil.rmtree(state.folder(NAME))
    again = tool(bench, 'up', code=1)
    expect(re.fullmatch(f'wan-lab: namespace lhlab-{NAME}-east exists: remove it with "{TOOL[-1]} '
                        f'down --name {NAME}".*\n', again.errors), again.story())
    expect(set(traces()) == set(before) - {NAME}, f'{before}, then {traces()}')
    expect(sleeper.running(), sleeper.story())
    down = tool(bench, 'down')
    expect('1 process inside it ended' in down.output, down.story())
    expect_no_trace()


@case
def lab_without_delay_or_rate_gets_a_queue_that_fits(bench):
    up(bench, '--delay', '0', '--forward', 'rate=unlimited', '--at', '900s:both:rate=unlimited')
    pings(bench, 'east', 'west')
    status = tool(bench, 'status').output
    expect('--backward queue=256K --at 900s:forward:rate=unlimited --at 900s:backward:'
           'rate=unlimited,queue=unlimited\n' in status, status)
    tool(bench, 'down')
    refused(bench, '--rate', 'unlimited', '--queue', '1M', says='queue= .* give rate= too')


@case
def lab_removed_while_it_is_made_leaves_the_next_one_of_its_name_alone(bench):
    """Its maker stands still meanwhile; then it finds what another one has made."""
    need_root()
    bench.stack.callback(remove_quietly)
    by_hand = [*TOOL, 'up', 'triangle', '--name', NAME]
    in_program = [sys.executable, '-B', '-c', MAKER, ROOT / 'scripts', NAME]
    for number, words in enumerate((by_hand, in_program)):
        first = Process(bench, f'first-{number}', words)
        bench.processes.append(first)
        wait_until(lambda: any(trace.startswith('/run/netns') for trace in traces()), 10,
                   'a namespace')
        first.signal(signal.SIGSTOP)
        tool(bench, 'down')
        tool(bench, 'up', '--delay', '1ms')
        first.signal(signal.SIGCONT)
        expect(first.wait(10) != 0, first.story())
        pings(bench, 'east', 'west')
        tool(bench, 'down')
        expect_no_trace()


@case
def lab_that_nobody_hears_of_is_up_all_the_same(bench):
    need_root()
    bench.stack.callback(remove_quietly)
    words = [*map(str, TOOL), 'up', '--name', NAME]
    with open('/dev/full', 'wb') as full:
        made = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=30)
        expect(made.returncode == 1 and re.fullmatch(
            'wan-lab: standard output: No space .*; the lab is up all the same, remove it with: '
            f'{TOOL[-1]} down --name {NAME}\n', made.stderr), made.stderr)
    pings(bench, 'east', 'west')
    for command in ('status', 'down'):
        here, there = os.pipe()
        os.close(here)
        said = subprocess.run([*words[:-3], command, *words[-2:]], stdout=there, text=True,
                              stderr=subprocess.PIPE, check=False, timeout=30)
        os.close(there)
        expect(said.returncode == 1 and said.stderr == 'wan-lab: standard output: Broken pipe\n',
               f'{command}: {said.stderr}')
    expect_no_trace()


@case
def lab_that_cannot_be_written_down_is_refused(bench):
    """At once, or with its namespaces made."""
    need_root()
    bench.stack.callback(remove_quietly)
    for number, how in enumerate(('ro', 'size=4k')):
        process = Process(bench, f'up-{number}', [
            'unshare', '--mount', 'sh', '-c', f'mkdir -p {state.ROOT}; mount -t tmpfs -o {how} '
            f'lab-test {state.ROOT} && exec "$@"', 'sh', *TOOL, 'up', '--name', NAME])
        expect(process.wait(30) == 1 and re.fullmatch(
            rf'wan-lab: {state.ROOT}\S*: (Read-only|No space) .*; what belongs to a lab is .*\n',
            process.everything), process.story())
        expect_no_trace()


@case
def lab_is_removed_with_what_its_processes_start_as_they_end(bench):
    up(bench)
    # Known by its seconds.
    sleep = f'sleep 300.{os.getpid()}'
    scripts = (f'trap "setsid {sleep} & exit" TERM; echo on; while :; do sleep 0.05; done',
               f'trap "" TERM; echo on; while :; do setsid {sleep} & sleep 0.02; done')
    for number, script in enumerate(scripts):
        runner = start(bench, f'runner-{number}', 'run', 'west', 'sh', '-c', script)
        wait_until(lambda found=runner: 'on' in found.output, 10, 'the script runs')
    tool(bench, 'down')
    left = [path for path in Path('/proc').glob('[0-9]*/cmdline') if runs(path, sleep)]
    for path in left:
        os.kill(int(path.parent.name), signal.SIGKILL)
    expect(not left, f'{len(left)} processes run on')
    expect_no_trace()


def runs(path, command):
    try:
        return path.read_bytes().split(b'\0')[:-1] == command.encode().split(b' ')
    except OSError:
        return False


@case
def lab_beside_a_broken_one_is_not_concerned(bench):
    need_root()
    bench.stack.callback(remove_quietly)
    other = f'{NAME}broken'
    words = [*TOOL, 'down', '--name', other]
    for number, text in enumerate(('{"owner":', '[]', '{"owner": 7}')):
        state.folder(other).mkdir(parents=True)
        bench.stack.callback(shutil.rmtree, state.folder(other), ignore_errors=True)
        (state.folder(other) / 'lab.json').write_text(text)
        subprocess.run(['ip', 'netns', 'add', f'lhlab-{other}-west'], check=True)
        bench.stack.callback(subprocess.run, ['ip', 'netns', 'del', f'lhlab-{other}-west'],
                             check=False, stderr=subprocess.DEVNULL)
        tool(bench, 'up')
        pings(bench, 'east', 'west')
        tool(bench, 'status')
        told = Process(bench, f'all-{number}', [*TOOL, 'status'])
        expect(told.wait(10) == 1 and f'lab {NAME}: ' in told.output, told.story())
        expect(f'does not say what the lab "{other}" is: remove it with "{TOOL[-1]} down --name '
               f'{other}"\n' in told.errors, told.story())
        tool(bench, 'down')
        removed = Process(bench, f'removed-{number}', words)
        expect(removed.wait(10) == 0 and not state.folder(other).exists()
               and not Path(f'/run/netns/lhlab-{other}-west').exists(), removed.story())
    expect_no_trace()


MAKER = '''
import sys, time
sys.path.insert(0, sys.argv[1])
import lab
lab.Lab(name=sys.argv[2]).up()
print("up", flush=True)
time.sleep(60)
'''


@case
def lab_of_a_killed_program_goes_with_it(bench):
    """Its emulator at once, its namespaces as soon as anybody makes another one."""
    need_root()
    bench.stack.callback(remove_quietly)
    maker = Process(bench, 'maker', [sys.executable, '-B', '-c', MAKER, ROOT / 'scripts', NAME])
    bench.processes.append(maker)
    wait_until(lambda: 'up' in maker.output, 15, f'a lab\n{maker.story()}')
    maker.signal(signal.SIGKILL)
    maker.wait(5)
    wait_until(emulator_is_gone, 5, 'its emulator ended')
    expect('DEAD' in tool(bench, 'status', code=1).output, 'not dead')
    with lab.Lab():
        expect_no_trace()
