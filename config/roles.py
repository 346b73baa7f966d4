"""Roles of staff: groups with permissions. A test compares them with the table in ``docs/security.md``.

A migration creates the groups once. Later, superusers change them in the admin; ``post_migrate`` would restore at each
upgrade what they removed.
"""

from collections.abc import Iterable
from typing import Any, Final

# The verbs of Django's permissions by model.
ROLES: Final[dict[str, dict[str, str]]] = {
    "support": {
        "accounts.user": "view change",
        "accounts.loginstats": "view",
        "accounts.session": "view delete",
        "accounts.failedlogins": "view delete",
        "accounts.auditevent": "view",
        "catalog.book": "view",
        "shop.cart": "view",
        "shop.order": "view change",
        "shop.payment": "view",
        "social.post": "view",
    },
    "moderator": {
        "accounts.suspension": "view add delete",
        "moderation.appeal": "view change",
        "moderation.case": "view change",
        "social.post": "view change delete",
    },
    "shop": {
        "catalog.book": "view",
        "shop.order": "view change",
        "shop.payment": "view",
        "shop.product": "view add change",
        "shop.sale": "view add change delete",
        "shop.saleitem": "view add change delete",
        "shop.recommendation": "view",
    },
    "catalogue": {
        "catalog.author": "view add change delete",
        "catalog.book": "view add change delete",
        "catalog.tag": "view add change delete",
    },
    "analyst": {
        "catalog.author": "view",
        "catalog.book": "view",
        "catalog.tag": "view",
        "loginlog.report": "view",
        "shop.figures": "view",
        "shop.product": "view",
        "shop.recommendation": "view",
        "shop.sale": "view",
        "shop.saleitem": "view",
    },
    "operator": {
        "mirror.change": "view change",
        "mirror.state": "view change",
    },
}
# Permissions that existing groups got later, by a migration.
ADDED: Final[dict[str, dict[str, str]]] = {
    "support": {"accounts.auditevent": "view", "shop.cart": "view"},
    "analyst": {"shop.figures": "view"},
}


def make_roles(group: Any, permission: Any, names: Iterable[str] = ROLES) -> None:
    """Create the missing groups with these names. An existing group keeps its permissions.

    group, permission: the models, or their historical versions, which lack the permissions of later migrations.
    """
    for name in names:
        role, is_new = group.objects.get_or_create(name=name)
        if is_new:
            role.permissions.set(_find_permissions(permission, ROLES[name]))


def add_permissions(group: Any, permission: Any, added: dict[str, dict[str, str]]) -> None:
    """Give permissions to the existing groups with these names. Arguments as for ``make_roles``."""
    for role in group.objects.filter(name__in=added):
        role.permissions.add(*_find_permissions(permission, added[role.name]))


def _find_permissions(permission: Any, models: dict[str, str]) -> list[Any]:
    """Return the rows of the permissions that exist."""
    wanted = {(app, f"{verb}_{model}") for app, model, verb in _split_permissions(models)}
    apps, names = zip(*wanted, strict=True)
    rows = permission.objects.filter(content_type__app_label__in=apps, codename__in=names)
    return [row for row in rows.select_related("content_type") if (row.content_type.app_label, row.codename) in wanted]


def _split_permissions(models: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return application, model and verb of each permission."""
    return [(*label.split("."), verb) for label, verbs in models.items() for verb in verbs.split()]  # type: ignore[misc]
