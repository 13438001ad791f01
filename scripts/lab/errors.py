# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while a lab is made or used, in one line that names the cause and the remedy."""

import contextlib


class LabError(Exception):
    """Says what is wrong and what to do about it."""


class Unavailable(LabError):
    """This machine, or whoever asks, cannot have a lab at all."""


@contextlib.contextmanager
def written_in(folder):
    """A full or read-only disk in words; the system does not always name the file."""
    try:
        yield
    except OSError as error:
        raise LabError(f'{error.filename or folder}: {error.strerror}; what belongs to a lab is '
                       f'written down in {folder}: see that there is room') from None
