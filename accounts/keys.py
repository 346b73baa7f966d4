"""The names of all Redis keys of this application. Connections add the prefix.

Each docstring gives the type of the key, its content, its lifetime ("Life") and the class or module that writes it
("Owner").
"""


def login(user_id: int | str) -> str:
    """Hash: id, name, name_key (folded), avatar (the name of the picture), login_times, last_login_time (ISO 8601, UTC;
    empty: never), user_type, is_active, is_private and shows_logins ("1", "0") of a user. Life: as the user.
    Owner: UserMirror.
    """
    return f"login:{user_id}"


def login_id(name: str) -> str:
    """String: id of the user with this name (folded). Life: as the name. Owner: UserMirror."""
    return f"login:{name}:id"


def login_times() -> str:
    """Sorted set: ids of active users by number of logins, without users at 0. Life: always. Owner: UserMirror."""
    return "login:login_times"


def last_login_times() -> str:
    """List: ids of the last 100 distinct users to log in, newest first. Life: always. Owner: LastLoginsMirror."""
    return "login:last_login_times"


def shown_login_times() -> str:
    """Sorted set: ids of the users in ``login:login_times`` who show their logins to everyone, by number of logins.
    Life: always. Owner: UserMirror.
    """
    return "login:login_times:shown"


def shown_last_logins() -> str:
    """Sorted set: ids of the same users by the time of the last login (seconds since 1970). Life: always.
    Owner: UserMirror.
    """
    return "login:last_login_times:shown"


def tokens() -> str:
    """Hash: from the digest of a token to the id of its user; with ``SESSION_BUCKETS`` {login:.bucket0} and so on.
    Life: as the session. Owner: SessionMirror.
    """
    return "login:"


def recent() -> str:
    """Sorted set: digests of tokens by the time they were last seen (seconds since 1970; 0: being removed).
    Life: as the session. Owner: accounts.sessions.last_seen.
    """
    return "recent:"


def session(digest: str) -> str:
    """String (JSON): a session's data, its expiry, and the fields of its user that every request needs.
    Life: as the session. Owner: SessionMirror.
    """
    return f"session:{digest}"


def sessions_of(user_id: int | str) -> str:
    """Sorted set: digests of a user's sessions by start time. Life: as the sessions. Owner: SessionMirror."""
    return f"sessions:{user_id}"


def limit(name: str, digest: str) -> str:
    """String: the count of one subject under a rate limit. Life: the limit's period. Owner: accounts.ratelimit."""
    return f"limit:{name}:{digest}"


def tries(digest: str) -> str:
    """String: the number of login attempts of a name, an address or both that failed or are in progress. All these keys
    share one slot. Life: the limit's period. Owner: accounts.lockout.
    """
    return f"tries:{{login}}:{digest}"


def notification(pk: int | str) -> str:
    """String (JSON): a notification. Life: as its row, unless its reader has switched its kind off.
    Owner: NotificationMirror.
    """
    return f"notification:{pk}"


def notifications_of(user_id: int | str) -> str:
    """Sorted set: ids of a user's notifications, by the time of the latest fact. Life: as the notifications.
    Owner: NotificationMirror.
    """
    return f"uid:{{{user_id}}}:notifications"


def unread(user_id: int | str) -> str:
    """Set: ids of a user's unread notifications. Life: as the notifications. Owner: NotificationMirror."""
    return f"uid:{{{user_id}}}:unread"
