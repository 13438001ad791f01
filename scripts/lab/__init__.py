# SPDX-License-Identifier: Apache-2.0
"""Regions on one machine, with emulated lines between them. `Lab` is for programs; scripts/wan-lab
is for people."""

from .effects import LinkEffects
from .errors import LabError, Unavailable
from .lab import Lab, load, remove
from .topology import TOPOLOGIES

__all__ = ['Lab', 'LabError', 'LinkEffects', 'TOPOLOGIES', 'Unavailable', 'load',
           'remove']
