# SPDX-License-Identifier: Apache-2.0
"""Emulator truth: counted packets over one effect each, against the model."""

import figures
from world import harness


def check(rows):
    """Prints every figure, and fails if one is outside its limits."""
    for row in rows:
        print(f'{"ok " if row["holds"] else "BAD"} {row["name"]}: {row["value"]:.6g} {row["unit"]} '
              f'(model {row["model"]:.6g}, allowed {row["low"]:.6g} to {row["high"]:.6g})')
    bad = [row['name'] for row in rows if not row['holds']]
    harness.expect(not bad, f'outside the limits: {", ".join(bad)}')


@harness.case
def delay_is_the_models(lab):
    check(figures.delay(lab))
    check(figures.delay(lab, family=6))


@harness.case
def jitter_is_uniform_and_keeps_order_unless_told(lab):
    check(figures.jitter(lab, reorders=True))
    check(figures.jitter(lab, reorders=False))


@harness.case
def loss_is_in_its_interval(lab):
    check(figures.loss(lab, 0.01))


@harness.case
def bursts_have_their_length(lab):
    check(figures.bursts(lab))


@harness.case
def queue_has_its_length(lab):
    check(figures.queue(lab))


@harness.case
def rate_is_exact(lab):
    check(figures.rate(lab, '200M', 200e6))


@harness.case
def policer_lets_its_bucket_through(lab):
    check(figures.policer(lab))


@harness.case
def red_marks_what_is_ecn_capable(lab):
    check(figures.marks(lab, 4))
    check(figures.marks(lab, 6))


@harness.case
def damage_and_twins_are_counted(lab):
    check(figures.damage(lab))


@harness.case
def outage_is_one_way_and_on_time(lab):
    check(figures.outage(lab))


@harness.case
def large_packets_vanish(lab):
    check(figures.black_hole(lab))
