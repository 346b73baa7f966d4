"""Buckets: a structure that is divided into several keys, so that several nodes of a cluster store and serve it.

The text of the row's key chooses the bucket. With one bucket the key has its public name. Otherwise the number of the
bucket is in the hash tag: ``{tag.bucket3}:ruby`` and ``{tag.bucket3}:web`` share a slot, so the parts of two sets can
be intersected bucket by bucket. A key without a hash tag becomes one: ``{login:.bucket3}``.

Entries name the bucket, so drains, fences and verification need no code for buckets. Public names in entries would have
to be translated by each of them.
"""

from zlib import crc32


def find_bucket_key(key: str, row: str, buckets: int) -> str:
    """Return the key of the bucket with the entries of a row. The result is equal in all processes."""
    if buckets == 1:
        return key
    # Not hash(), whose result for a text is another one in each process.
    number = crc32(row.encode()) % buckets
    return _name_bucket(key, number)


def list_bucket_keys(key: str, buckets: int) -> list[str]:
    """Return the keys of all buckets."""
    if buckets == 1:
        return [key]
    return [_name_bucket(key, number) for number in range(buckets)]


def find_bucket_start(start: str) -> str:
    """Return the common beginning of all buckets, for any number of them, of the keys that begin with ``start``."""
    return _name_bucket(start, "").partition("}")[0]


def can_divide(start: str, is_whole: bool) -> bool:
    """Return whether keys that begin with ``start`` may have buckets: a whole key, or those with one hash tag."""
    if start.startswith("{"):
        # The tag ends before the first placeholder, so it is the same for all keys.
        return "}" in start
    return is_whole


def _name_bucket(key: str, number: int | str) -> str:
    if not key.startswith("{"):
        key = f"{{{key}}}"
    return key.replace("}", f".bucket{number}}}", 1)
