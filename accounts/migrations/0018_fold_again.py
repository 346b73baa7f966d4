"""The names of users in the form of ``common.text.fold``, which treats the Turkish letters i as one."""

import logging
from typing import Any, Final

from django.db import migrations
from django.utils import timezone

from accounts.lookalikes import skeleton
from common.text import fold

BATCH: Final = 2000
MAX_NAME: Final = 60
logger = logging.getLogger("accounts")


def fold_again(apps: Any, schema_editor: Any) -> None:
    """Fold all names. Of several users with one name the first keeps it, and the others get a number behind theirs.

    Nothing else of their accounts changes. An event of the audit log names each of them for the staff, and an email for
    a forgotten password tells a user the new name.
    """
    alias = schema_editor.connection.alias
    users = apps.get_model("accounts", "User").objects.using(alias)
    events = apps.get_model("accounts", "AuditEvent").objects.using(alias)
    last = 0
    while people := list(users.filter(pk__gt=last).order_by("pk").only("username", "name_key")[:BATCH]):
        for user in people:
            if user.name_key != fold(user.username):
                _fold_name(users, events, user.pk)
        last = people[-1].pk
    # Names that were locked out; the erasure of a deleted account finds them by the folded name.
    for pk, name in events.filter(model="").exclude(object="").values_list("pk", "object").iterator(chunk_size=BATCH):
        if name != fold(name):
            events.filter(pk=pk).update(object=fold(name))


def _fold_name(users: Any, events: Any, pk: int) -> None:
    user = users.only("username", "name_key").get(pk=pk)  # again, because an earlier user's turn may have renamed it
    key = fold(user.username)
    other = users.filter(name_key=key).exclude(pk=pk).only("username").first()
    if other is not None:
        first, later = sorted((user, other), key=lambda each: each.pk)
        _rename(users, events, later, first)
        if first is other:
            return
    users.filter(pk=pk).update(name_key=key)


def _rename(users: Any, events: Any, user: Any, first: Any) -> None:
    number = 2
    while users.filter(name_key=fold(name := f"{user.username[: MAX_NAME - len(str(number)) - 1]}-{number}")).exists():
        number += 1
    users.filter(pk=user.pk).update(username=name, name_key=fold(name), name_skeleton=skeleton(name))
    details = f"renamed from {user.username}, which is the name of user {first.pk} in another spelling"
    about = {"model": "accounts.user", "object_id": str(user.pk), "object": name}
    events.create(kind="staff", details=details, at=timezone.now(), **about)
    logger.warning("User %s: %s", user.pk, details)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0017_admin_home")]
    operations = [migrations.RunPython(fold_again, migrations.RunPython.noop, elidable=True)]
