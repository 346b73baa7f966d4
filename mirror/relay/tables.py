"""Table mirrors in requests: a reader in SQL applies pending changes first (``mirror.kinds.tables``)."""

from collections.abc import Sequence

from django.db import Error as DatabaseError

from mirror import registry
from mirror.kinds import kind_of
from mirror.outbox import changes as outbox
from mirror.outbox import spread
from mirror.utils import sql_away
from mirror.utils.log import logger

__all__ = ["catch_up"]


def catch_up(names: Sequence[str], limit: int) -> None:
    """Apply about ``limit`` pending changes of each of these mirrors. Never raises: the relay retries later.

    One query if nothing is pending. Changes of other tables (a tag, for books) are spread first, one slice of each.
    """
    try:
        pending = outbox.pending_of_mirrors(names, limit)
        for name, source in {(name, source) for name, source, _ in pending if source}:
            values = [key for change, table, key in pending if (change, table) == (name, source)]
            next(spread.slices(name, source, values), None)
        if any(source for _, source, _ in pending):
            pending = outbox.pending_of_mirrors(names, limit)
        for name in {name for name, _, _ in pending}:
            mirror = registry.get(name)
            keys = [key for change, source, key in pending if change == name and not source and key != outbox.WHOLE]
            if keys and mirror.is_in_sql:
                kind_of(mirror).replace_rows(list(dict.fromkeys(keys)))
    except DatabaseError as error:
        sql_away.report_outage(error)
    except outbox.OutdatedLayout as error:
        logger.debug("Pending changes are left to newer code: %s", error)
    except Exception:  # an error of the declaration; the relay finds the failing key
        logger.exception("Pending changes could not be taken in, the relay will see to it")
