# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while a lab is made or used, in one line that names the cause and the remedy."""


class LabError(Exception):
    """Says what is wrong and what to do about it."""


class Unavailable(LabError):
    """This machine, or whoever asks, cannot have a lab at all."""
