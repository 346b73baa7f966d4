"""Compare the first and the last page of the admin's long lists with the same lists of a small site."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings

from accounts.models import User
from mirror.models import Change
from mirror.redis.clients import relay_client
from tests.bench.table import Comparison

ROWS, SMALL, ASKED = 100_000, 1_000, 3
LISTS: Final = {
    "orders": ("shop_order", "/admin/shop/order/"),
    "books": ("catalog_book", "/admin/catalog/book/"),
    "users": ("accounts_user", "/admin/accounts/user/"),
    "posts": ("social_post", "/admin/social/post/"),
}


def comparisons() -> Iterator[Comparison]:
    """Yield comparisons on PostgreSQL. The other side reads tables of the same names in another schema."""
    if connection.vendor != "postgresql":
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    staff = Client(SERVER_NAME="127.0.0.1")
    staff.force_login(User.objects.create_superuser("bench"))
    _run(FILL)
    for name, (_table, address) in LISTS.items():
        for page, query in (("first", {}), ("last", {"p": "last"})):
            yield Comparison(
                f"the admin's list of {name}, {page} page",
                f"the same with {SMALL:,} rows",
                f"{ROWS:,} rows; {ASKED} requests",
                ours=_reader(staff, address, query, "public"),
                theirs=_reader(staff, address, query, "small, public"),
                target=0.5,
            )
    _run("SET search_path TO public; DROP SCHEMA small CASCADE")
    Change.objects.all()._raw_delete("default")
    relay_client().flushdb()


def _reader(staff: Client, address: str, query: dict[str, str], path: str) -> Callable[[], Any]:
    @override_settings(SECOND_FACTOR_FOR_STAFF=False)
    def read() -> None:
        _run(f"SET search_path TO {path}")
        for _ in range(ASKED):
            assert b'id="result_list"' in staff.get(address, query).content
        with connection.cursor() as cursor:  # a new connection would read the other tables
            cursor.execute("SHOW search_path")
            assert cursor.fetchone() == (path,)

    return read


def _run(statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)


FILL: Final = f"""
    INSERT INTO accounts_user (username, name_key, name_skeleton, password, session_secret, first_name, last_name,
                               email, is_staff, is_active, is_superuser, date_joined, user_type)
    SELECT 'row ' || n, 'row ' || n, 'row ' || n, '!', 's', '', '', '', false, true, false, now(), 'client'
      FROM generate_series(1, {ROWS}) n;
    INSERT INTO catalog_book (title, popularity) SELECT 'Row ' || n, n FROM generate_series(1, {ROWS}) n;
    INSERT INTO social_post (user_id, text, created_at, is_hidden, is_pulled, key)
    SELECT id, 'A good book.', now(), false, false, 'row ' || id FROM accounts_user WHERE username LIKE 'row %';
    INSERT INTO shop_order (user_id, key, state, total, email, name, address, language, site,
                            created_at, reserved_until)
    SELECT id, 'row ' || id, 'paid', 1250, 'row@example.org', 'Row', 'A street', '', '', now(), now()
      FROM accounts_user WHERE username LIKE 'row %';
    TRUNCATE mirror_change;
    CREATE SCHEMA small;
""" + "".join(
    f"""
    CREATE TABLE small.{table} (LIKE {table} INCLUDING ALL EXCLUDING GENERATED);
    INSERT INTO small.{table} SELECT * FROM {table} ORDER BY id LIMIT {SMALL};
    ANALYZE {table};
    ANALYZE small.{table};
"""
    for table, _address in LISTS.values()
)
