"""The search index of readers."""

from collections.abc import Iterable, Sequence

import mirror
from accounts.models import User
from catalog.search import entries, store, words
from catalog.search.mirrors import IndexMirror
from mirror import Watch
from mirror.conf import setting


@mirror.register
class ReaderIndex(IndexMirror):
    """Active users by name. Each search checks blocks against its viewer."""

    name = "indexed_reader"
    kind = "r"
    model = User
    watches = (Watch(User, only=("username", "is_active")),)

    def make(self, ids: Sequence[int]) -> Iterable[store.Made]:
        rows = User.objects.using(setting("DATABASE")).filter(pk__in=ids, is_active=True)
        for pk, name in rows.values_list("pk", "username"):
            on = [*entries.word_keys("r", words.terms(name)), *entries.name_keys([name])]
            yield store.make(self.name_document(pk), "", 0, on)
