# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of perf/compare: what a link allows, and how measured times are summed up."""

import math

FRAMING = 38    # Ethernet: preamble, header, FCS, gap
HEADERS = 56    # of a packet of tensor data: IPv4, UDP, Longhaul's own
IP_UDP = 28
# What an operator leaves free below the rate of the line, so that its queue stays empty.
HEADROOM = 0.98


def packet_time(mtu, rate_bps):
    """Seconds a full packet takes on the wire."""
    return 8 * (mtu + FRAMING) / rate_bps


def completion_limit(size, rate_bps, one_way, loss, mtu=1500):
    """T* = D + N·τ / (1 − p): seconds until a receiver can have the whole message."""
    packets = math.ceil(size / (mtu - HEADERS))
    return one_way + packets * packet_time(mtu, rate_bps) / (1 - loss)


def answer_limit(size, rate_bps, one_way, loss, mtu=1500):
    """T* + D: the answer has to come back."""
    return completion_limit(size, rate_bps, one_way, loss, mtu) + one_way


def goodput_limit(rate_bps, loss, mtu=1500):
    """Bits a second of tensor data that full packets carry."""
    return rate_bps * (mtu - HEADERS) / (mtu + FRAMING) * (1 - loss)


def operator_rate(rate_bps, mtu=1500):
    """Bits a second of UDP payload an operator would configure for a line of this wire rate."""
    return int(HEADROOM * rate_bps * (mtu - IP_UDP) / (mtu + FRAMING))


def windows(rate_bps, rtt, bdp=4):
    """Bytes of so many bandwidth-delay products."""
    return int(bdp * rate_bps * rtt / 8)


def percentile(values, share):
    """By nearest rank: a value that occurred."""
    if not values:
        raise ValueError('no values')
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
