"""The mirror of the details of books."""

from django.utils.translation import gettext_lazy as _

import mirror
from catalog import keys
from catalog.details.models import BookDetails
from mirror import Ids, Mirror, Names


@mirror.register
class BookDetailsMirror(Mirror):
    """The details of a book."""

    label = _("details of books")
    model = BookDetails
    key = keys.book_details("{pk}")
    fields = (
        "description",
        "publisher",
        "format",
        Names("translators"),
        Ids("translators", name="translator_ids"),
        Names("illustrators"),
        Ids("illustrators", name="illustrator_ids"),
    )
