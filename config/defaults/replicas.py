"""The database alias of the read replica (DATABASE_REPLICA_URL)."""

from typing import Any


def build_database(parts: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of DATABASES for the parsed URL. Options in the URL replace those here.

    The primary answers where the replica does not, so a replica may take much less time than the primary.
    """
    options = {
        "connect_timeout": 2,  # seconds; libpq allows no less
        "tcp_user_timeout": 2000,  # milliseconds without an acknowledgement
        "options": "-c statement_timeout=2000 -c default_transaction_read_only=on",
    }
    return {
        **parts,
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": 600,
        "OPTIONS": options | parts.get("OPTIONS", {}),
        "TEST": {"MIRROR": "default"},
    }
