"""Long walks over many rows: with the cyclic garbage collector out of the way."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def few_collections() -> Generator[None, None, None]:
    """Let the garbage collector run rarely in the block.

    Rebuild and verify make millions of small lists and tuples, none of them in cycles; at the usual threshold
    a fifth of their time went into looking through them for cycles (measured on 330,294 memberships).
    """
    before = gc.get_threshold()
    gc.set_threshold(500_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
