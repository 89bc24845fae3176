"""The command `milepost`, as `python -m milepost` and as the script that pip installs."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from ._milepost import command


def _program() -> tuple[str, list[str]]:
    """Returns what starts another process of the command: the script, or the interpreter."""
    for script in (sys.argv[0], os.path.join(os.path.dirname(sys.executable), "milepost")):
        if os.path.basename(script) == "milepost" and os.access(script, os.X_OK):
            return os.path.abspath(script), []
    return sys.executable, ["-m", "milepost"]


def main() -> NoReturn:
    """Runs the command and ends the process with its exit code."""
    # The interpreter's handler would wait until the command is at an end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    path, words = _program()
    code = command(["milepost", *sys.argv[1:]], path, words)
    sys.stdout.flush()
    # Nothing of the interpreter has to be finalized.
    os._exit(code)


if __name__ == "__main__":
    main()
