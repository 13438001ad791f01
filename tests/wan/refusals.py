# SPDX-License-Identifier: Apache-2.0
"""Bad input gets one line that names what and how to fix it, and nothing is left behind."""

import json
import signal

from world import OFFLOADS, harness, quiet


def says(line, *words):
    for word in words:
        harness.expect(word in line, f'"{word}" is not in: {line}')


@harness.case
def bad_input_gets_one_line(lab):
    link = ('--link', 'w0:w1')
    says(lab.refused('--link', 'w0:nosuch'), 'nosuch', 'ip link')
    says(lab.refused('--link', 'w0:w0'), 'w0', 'twice')
    says(lab.refused('--link', 'w0:tap:w1'), 'w1', 'without tap:')
    says(lab.refused(*link, '--both', 'rate=0'), 'rate', '1K to 1T', 'unlimited')
    says(lab.refused(*link, '--both', 'rate=5T'), 'rate', '1K to 1T')
    says(lab.refused(*link, '--both', 'speed=1G'), 'speed', 'rate', 'delay')
    says(lab.refused(*link, '--both', 'rate=1G,queue=1bdp'), 'queue=1bdp', 'delay=')
    says(lab.refused(*link, '--at', '5s:up:loss=1%'), 'up', 'forward')
    says(lab.refused('--both', 'rate=1G'), '--link')
    says(lab.refused(*link, '--both', 'loss=2'), 'loss', '1%')
    says(lab.refused(*link, '--at', '5s:both:loss=1%', '--duration', '1s'), '5 s', '--duration')
    says(lab.refused(*link, '--both', 'rate=1T,delay=1s,queue=1bdp'), 'queue', '--buffer')
    quiet('ip', '-n', lab.middle, 'link', 'set', 'w1', 'mtu', '1400')
    says(lab.refused(*link), 'MTU 1500', 'ip link set w1 mtu 1500')
    quiet('ip', '-n', lab.middle, 'link', 'set', 'w1', 'mtu', '1500', 'down')
    says(lab.refused(*link), 'w1 is down', 'ip link set w1 up')
    left = quiet('ip', '-n', lab.middle, '-o', 'link', 'show').stdout
    harness.expect('tap' not in left, f'an interface was left: {left}')


@harness.case
def output_that_cannot_be_is_refused_before_anything_is_touched(lab):
    nowhere = lab.folder / 'nowhere'
    for flag in ('--json', '--pidfile'):
        for path, words in ((nowhere / 'x', ('check the path',)), (lab.folder, ())):
            done = quiet(*lab.inside(lab.middle, lab.wan, '--link', 'w0:w1', '--duration', '100ms',
                                     flag, path), check=False)
            harness.expect(done.returncode == 1 and not done.stdout,
                           f'{flag} {path}: status {done.returncode}, {done.stdout}')
            says(done.stderr, str(path), *words)
    says(lab.refused('--link', 'w0:w1', '--json', nowhere / 'x'), '--json', 'No such file')
    left = list(lab.folder.iterdir())
    harness.expect(not left, f'something was left: {left}')


@harness.case
def scenario_with_an_unknown_key_is_refused(lab):
    path = lab.folder / 'scenario.json'
    good = {'links': [{'a': 'w0', 'b': 'w1', 'both': {'delay': '5ms', 'loss': 0.01}}]}
    for change, words in (
            ({'speed': 1}, ('the scenario', 'speed', 'seed links')),
            ({'links': [{**good['links'][0], 'far': {}}]}, ('link 1', 'far', 'backward')),
            ({'links': [{'a': 'w0', 'b': 'w1', 'both': {'los': 1}}]}, ('both', 'los', 'loss')),
            ({'links': [{'a': 'w0'}]}, ('link 1', '"b"'))):
        path.write_text(json.dumps({**good, **change}))
        says(lab.refused('--scenario', path), str(path), *words)
    path.write_text('{"links": [')
    says(lab.refused('--scenario', path), str(path), 'not JSON')


@harness.case
def without_root_it_says_so(lab):
    done = quiet(*lab.inside(lab.middle, 'setpriv', '--bounding-set=-all', '--inh-caps=-all',
                             '--reuid=65534', lab.wan, '--link', 'w0:w1'), check=False)
    if done.returncode == 126 or 'Permission denied' in done.stderr:
        raise harness.Skip('a build folder that others may read')
    harness.expect(done.returncode == 1, f'status {done.returncode}: {done.stderr}')
    says(done.stderr, 'root', 'sudo')


@harness.case
def offload_at_the_far_end_is_named(lab):
    with lab.emulator('--both', 'delay=5ms') as emulator:
        says(emulator.output, 'w0: switched off')
        second = lab.refused('--link', 'w0:w1')
        says(second, 'another longhaul-wan', 'w0')
        lab.offloads(lab.east, 'tx', 'on')
        harness.expect(not lab.probe(50, 400, 1_000_000, idle_ms=200).numbers,
                       'packets without checksum arrived')
        harness.wait_until(lambda: 'ethtool -K' in emulator.output, 3, 'the emulator complains')
        lab.offloads(lab.east, *OFFLOADS)
    forward = emulator.counters['links'][0]['forward']
    harness.expect(forward['no_checksum'] == 50, f'counted {forward}')
    says(' '.join(emulator.counters['sender_faults']), 'ethtool -K', 'w0')
    features = quiet(*lab.inside(lab.middle, 'ethtool', '-k', 'w0')).stdout
    harness.expect('tx-checksumming: on' in features, 'the offloads were not put back')


@harness.case
def tap_interface_is_made_and_goes(lab):
    command = lab.inside(lab.middle, lab.wan, '--link', 'tap:near:w1', '--both', 'delay=5ms')
    process = harness.Process(lab, 'longhaul-wan', command)
    try:
        harness.wait_until(lambda: 'ready' in process.output, 5, f'ready\n{process.story()}')
        quiet('ip', '-n', lab.middle, 'addr', 'add', '10.79.0.1/24', 'dev', 'near')
        quiet('ip', '-n', lab.west, 'neigh', 'del', '10.79.0.1', 'dev', 'e0')
        ping = quiet(*lab.inside(lab.middle, 'ping', '-c', 2, '-W', 2, '10.79.0.2')).stdout
        says(ping, '2 received')
        process.signal(signal.SIGTERM)
        harness.expect(process.wait(3) == 0, process.story())
    finally:
        if process.running():
            process.popen.kill()
            process.popen.wait()
    links = quiet('ip', '-n', lab.middle, '-o', 'link', 'show').stdout
    harness.expect('near' not in links, f'the interface stayed: {links}')
