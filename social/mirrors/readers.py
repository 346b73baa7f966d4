"""The search index of readers."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from catalog.search import entries, store
from catalog.search.mirrors import IndexMirror
from mirror import Watch
from mirror.conf import setting


@mirror.register
class ReaderIndex(IndexMirror):
    """Active users by name. Each search checks blocks against its viewer.

    Staff are left out: a search for likely names must not list the accounts that can log in to the admin.
    """

    name = "indexed_reader"
    label = _("search: readers")
    version = 5
    kind = "r"
    model = User
    watches = (Watch(User, only=("username", "is_active", "is_staff", "is_superuser")),)

    def make(self, ids: Sequence[int]) -> Iterable[store.DocumentRecord]:
        rows = User.objects.using(setting("DATABASE")).filter(
            pk__in=ids, is_active=True, is_staff=False, is_superuser=False
        )
        for pk, name in rows.values_list("pk", "username"):
            lists = entries.build_named_keys("r", name)
            yield store.build_document(self.name_document(pk), "", 0, lists)
