# SPDX-License-Identifier: Apache-2.0
"""A folder that unrelated labs have in common: whoever needs it makes it, the last one takes it
away, and between one step and the next of a lab another one may do either."""

import contextlib
import errno
import shutil

# Each is lost to another lab; that happens seldom twice in a row.
TRIES = 1000


def inside(folder, make):
    """What `make` returns, which needs `folder` and may be done again."""
    for _ in range(TRIES):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        with contextlib.suppress(FileNotFoundError):
            return make()
    return make()


def leave(folder):
    """Takes it away if nothing is in it."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def clear(path):
    """Removes a folder in which somebody may write or remove meanwhile."""
    for _ in range(TRIES):
        if not path.exists():
            return
        try:
            shutil.rmtree(path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise
    shutil.rmtree(path)
