"""Every key of accounts. Connections put the prefix before them."""

from mirror.naming import key, slot_of


def login(user_id: int | str) -> str:
    """Hash: id, name, name_key (folded), login_times, last_login_time (ISO 8601, UTC; empty: never), user_type,
    is_active ("1", "0") of a user. Life: as the user. Owner: UserMirror.
    """
    return key(f"login:{user_id}")


def login_id(name: str) -> str:
    """String: id of the user who has a name (case-folded, NFKC). Life: as the name. Owner: UserMirror."""
    return key(f"login:{name}:id")


def login_times() -> str:
    """Sorted set: user id by number of logins (active users who logged in). Life: always. Owner: UserMirror."""
    return key("login:login_times")


def last_login_times() -> str:
    """List: ids of the last 100 distinct users to log in, newest first. Life: always. Owner: LastLoginsMirror."""
    return key("login:last_login_times")


def tokens() -> str:
    """Hash: digest of a token to the id of its user. Life: as the session. Owner: SessionMirror."""
    return key("login:")


def recent() -> str:
    """Sorted set: digest of a token by when it was last seen (seconds since 1970; 0: being removed).
    Life: as the session. Owner: LastSeenBackup.
    """
    return key("recent:")


def recent_marks() -> str:
    """Sorted set: digests whose last time in ``recent:`` SQL does not have yet, by version. In the slot of ``recent:``.
    Life: until they are flushed. Owner: LastSeenBackup.
    """
    return key(f"mirror:marks:{slot_of(recent())}")


def session(digest: str) -> str:
    """String (JSON): a session's data, its expiry, and of its user what each request asks. Life: as the session.
    Owner: SessionMirror.
    """
    return key(f"session:{digest}")


def sessions_of(user_id: int | str) -> str:
    """Sorted set: digests of a user's sessions by when they began. Life: as the sessions. Owner: SessionMirror."""
    return key(f"sessions:{user_id}")


def limit(name: str, digest: str) -> str:
    """String: how often somebody did what is limited. Life: the limit's time. Owner: accounts.ratelimit."""
    return key(f"limit:{name}:{digest}")


def tries(digest: str) -> str:
    """String: how often a name, an address or both tried to log in and did not succeed, failed or under way. All are
    in one slot. Life: the limit's time. Owner: accounts.lockout.
    """
    return key(f"tries:{{login}}:{digest}")
