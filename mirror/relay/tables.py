"""Table mirrors in requests: a reader in SQL applies pending changes first (``mirror.kinds.tables``)."""

from collections import defaultdict
from collections.abc import Sequence

from django.db import Error as DatabaseError

from mirror import registry
from mirror.kinds import kind_of
from mirror.outbox import changes as outbox
from mirror.outbox import spread
from mirror.utils import sql_outages
from mirror.utils.log import logger

__all__ = ["catch_up"]


def catch_up(names: Sequence[str], limit: int) -> None:
    """Apply about ``limit`` pending changes of each of these mirrors. Never raises: the relay retries later.

    One query if nothing is pending. Changes of other tables (a tag, for books) are spread first, one slice of each.
    """
    try:
        rows, sources = _find_pending(names, limit)
        for (name, source), values in sources.items():
            next(spread.slices(name, source, values), None)
        if sources:
            # The slices have appended changes of rows.
            rows, _ = _find_pending(names, limit)
        for name, keys in rows.items():
            _replace_rows(name, keys)
    except DatabaseError as error:
        sql_outages.report_outage(error)
    except outbox.OutdatedLayout as error:
        logger.debug("Pending changes are left to newer code: %s", error)
    except Exception:
        # An error of the declaration: the relay finds the failing key.
        logger.exception("Pending changes could not be taken in, the relay will see to it")


def _find_pending(names: Sequence[str], limit: int) -> tuple[dict[str, list[str]], dict[tuple[str, str], list[str]]]:
    """Return the keys of pending changes of rows, by mirror, and those of sources, by mirror and source."""
    rows: dict[str, list[str]] = defaultdict(list)
    sources: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, source, key in outbox.pending_of_mirrors(names, limit):
        if source:
            sources[name, source].append(key)
        else:
            rows[name].append(key)
    return rows, sources


def _replace_rows(name: str, keys: Sequence[str]) -> None:
    """Write these rows of a table mirror. The relay applies a change of a whole mirror, and those of other kinds."""
    mirror = registry.get(name)
    distinct = [key for key in dict.fromkeys(keys) if key != outbox.WHOLE]
    if distinct and mirror.is_in_sql:
        kind_of(mirror).replace_rows(distinct)
