# SPDX-License-Identifier: Apache-2.0
"""What becomes of a line whose interface goes down or goes for good."""

from world import harness, pause, quiet


def set_link(lab, *words):
    quiet('ip', '-n', lab.middle, 'link', *words)


def ends_for_want_of_w1(process):
    code = process.wait(3, 'notice that w1 has gone')
    harness.expect(code == 1, process.story())
    harness.expect('interface w1 has gone; start again when it is back' in process.errors,
                   process.story())


@harness.case
def interface_deleted_while_up_is_noticed(lab):
    with lab.started('--both', 'delay=5ms') as process:
        set_link(lab, 'del', 'w1')
        ends_for_want_of_w1(process)


@harness.case
def interface_deleted_while_down_is_noticed(lab):
    """Idle, and with frames coming in at the other end all the time."""
    with lab.started('--both', 'delay=5ms') as process:
        set_link(lab, 'set', 'w1', 'down')
        pause(1.5)
        set_link(lab, 'del', 'w1')
        quiet(*lab.inside(lab.east, lab.probe_program, 'send', '10.79.0.2', 5201, 4000, 100,
                          500_000, 0), check=False)
        ends_for_want_of_w1(process)


@harness.case
def interface_that_is_down_is_told_and_not_blamed_on_the_emulator(lab):
    with lab.emulator('--both', 'delay=5ms') as emulator:
        set_link(lab, 'set', 'w1', 'down')
        harness.wait_until(lambda: 'w0-w1: w1 is down' in emulator.errors, 3, 'w1 is down')
        quiet(*lab.inside(lab.east, lab.probe_program, 'send', '10.79.0.2', 5201, 100, 100,
                          1_000_000, 0))
        pause(1.2)
        harness.expect('bottleneck' not in emulator.output, emulator.story())
        harness.expect('out        0  0 bits/sec' in emulator.output, emulator.story())
        set_link(lab, 'set', 'w1', 'up')
        harness.wait_until(lambda: 'w1 is up again' in emulator.errors, 3, 'w1 is up again')
        pause(0.3)
        probe = lab.probe(100, 100, 1_000_000)
    harness.expect(len(probe.numbers) == 100, 'the line is not back')
    harness.expect(emulator.errors.count('w1 is') == 2, emulator.story())
    forward = emulator.counters['links'][0]['forward']
    harness.expect(forward['interface_down'] >= 100 and forward['send_failed'] == 0, f'{forward}')
    harness.expect(emulator.counters['bottleneck'] == 'link', f'{emulator.counters}')
    told = [event['what'] for event in emulator.counters['events']]
    harness.expect(told == ['w1 is down', 'w1 is up again'], f'{told}')
