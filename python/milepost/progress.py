"""Progress of long calls: a bar of tqdm, if it is installed and the output is a terminal or notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(name: str, total: int) -> Iterator[Callable[[], None]]:
    """Shows a bar of `total` steps; the value of the `with` makes one step."""
    bar = None
    if "ipykernel" in sys.modules or sys.stderr.isatty():
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

            bar = tqdm(total=total, desc=name, leave=False, delay=0.5)
        except ImportError:
            pass
    try:
        yield (lambda: None) if bar is None else lambda: bar.update() and None
    finally:
        if bar is not None:
            bar.close()
