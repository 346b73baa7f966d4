"""Lists of tables that may have millions of rows: bounded counts, and paging by keyset.

The parameter ``p`` of a list is a place instead of a number: ``last``, or ``after`` or ``before`` a row, which is named
by the values that the list is sorted by. Each page is one bounded query, however far it is from the first. An exact
COUNT of 400,000 orders would read the whole index for each page, and OFFSET all rows before it. A place has only values
that its reader may see, so it needs no signature.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, SEARCH_VAR, ChangeListSearchForm
from django.core.exceptions import SuspiciousOperation
from django.db import DataError
from django.db.models import Index, Model, QuerySet
from django.forms import CharField
from django.http import HttpRequest
from django.utils.translation import gettext as _

from mirror.admin.counting import BoundedPaginator
from mirror.admin.keyset import Key, build_cut, find_keys, format_place, parse_place
from mirror.admin.theme import LIST_TEMPLATE, ChangeList, ModelAdmin
from mirror.declare.mirrors import can_hold

# The lookups of Django's filters by a choice, a boolean, a relation or a date.
FILTER_ENDINGS: Final = ("exact", "isnull", "id__exact", "gte", "lt")
MAX_SEARCH: Final = 200  # characters in the search box
MAX_VALUE_CHARACTERS: Final = 2_000  # of a parameter: places of pages contain the values of several columns


class BoundedSearchForm(ChangeListSearchForm):
    """The search box of a list. Each word is a condition, and a database refuses hundreds of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[SEARCH_VAR] = CharField(required=False, strip=False, max_length=MAX_SEARCH)


class KeysetChangeList(ChangeList):
    """A page of a list. ``places`` are the links to other pages: label, and address or None."""

    search_form_class = BoundedSearchForm
    places: Sequence[tuple[str, str | None]] = ()

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Return the column that was chosen last, if it is sortable, and the key, as in the column's index."""
        column = self.params.pop(ORDER_VAR, "").partition(".")[0]
        if not self._is_sortable(column):
            return list(super().get_ordering(request, queryset))
        self.params[ORDER_VAR] = column
        first, *rest = super().get_ordering(request, queryset.order_by())
        if not rest:
            return [first]
        is_opposite = _find_indexed_fields(self.model)[first.removeprefix("-")]
        is_key_descending = is_opposite != first.startswith("-")
        key = "-pk" if is_key_descending else "pk"
        return [first, key]

    def _is_sortable(self, column: str) -> bool:
        number = column.removeprefix("-")
        if not number.isdecimal():
            return False
        names = dict(enumerate(self.list_display))
        return names.get(int(number)) in self.sortable_by

    def get_results(self, request: HttpRequest) -> None:
        """Read the page. Django's own attributes are set as usual."""
        # Django would skip the rows of the pages before by OFFSET.
        self.page_num = 1
        super().get_results(request)
        if not self.query and not self.has_active_filters:
            # Otherwise the page offers to "show all".
            self.full_result_count = self.result_count
        if self.show_all and self.can_show_all:
            return
        side, _colon, place = request.GET.get(PAGE_VAR, "").partition(":")
        self._read_page(side, place)

    def _read_page(self, side: str, place: str) -> None:
        """Read the rows "after" or "before" a place, the "last" ones, or ("") the first ones."""
        keys = find_keys(self.queryset)
        keyed = self.queryset.annotate(**{key.name: key.expression for key in keys})
        is_backward = side in ("before", "last")
        # A page before a place is read backward, so that it has the rows next to the place.
        sides = [key.reverse() for key in keys] if is_backward else keys
        rows = keyed.order_by(*[key.order() for key in sides])
        if side in ("after", "before"):
            values = parse_place(place, keys, keyed)
            rows = rows.filter(build_cut(sides, values))
        # One row more than the page has tells whether there is a further page.
        found = list(rows[: self.list_per_page + 1])
        # The rows beyond have been deleted, or are fewer than a page: show the nearest whole page.
        if side == "after" and not found:
            self._read_page("last", "")
            return
        if side == "before" and len(found) < self.list_per_page:
            self._read_page("", "")
            return
        has_more = len(found) > self.list_per_page
        found = found[: self.list_per_page]
        if is_backward:
            found.reverse()
        self._set_results(keyed, found)
        if is_backward:
            self._link_places(found, keys, has_previous=has_more, has_next=side == "before")
        else:
            self._link_places(found, keys, has_previous=side == "after", has_next=has_more)

    def _set_results(self, keyed: Any, found: list[Any]) -> None:
        """Show these rows, as a queryset that has been evaluated, because Django's admin and its actions expect one."""
        self.result_list = keyed._chain()
        self.result_list._result_cache = found
        self.result_list._prefetch_done = True

    def _link_places(self, found: list[Any], keys: Sequence[Key], *, has_previous: bool, has_next: bool) -> None:
        """Link to the other pages. A list of one page has no links."""
        if not has_previous and not has_next:
            return
        first = previous = following = last = None
        if has_previous:
            first = self._link_to(None)
            previous = self._link_to(f"before:{format_place(found[0], keys)}")
        if has_next:
            following = self._link_to(f"after:{format_place(found[-1], keys)}")
            last = self._link_to("last")
        self.places = (
            (_("First"), first),
            (_("Previous"), previous),
            (_("Next"), following),
            (_("Last"), last),
        )

    def _link_to(self, place: str | None) -> str:
        return str(self.get_query_string({PAGE_VAR: place}))


def _find_indexed_fields(model: type[Model]) -> dict[str, bool]:
    """Return the fields that are the first one of a complete index, except relations, which sort by other tables.

    The value tells whether the key, as the second field of the index, goes in the opposite direction.
    """
    meta = model._meta
    found = {rule.fields[0]: False for rule in meta.total_unique_constraints}
    fields: Any = meta.concrete_fields
    for field in fields:
        if field.unique or field.db_index:
            found[field.name] = False
    for index in meta.indexes:
        # An index of expressions has no fields, and one with a condition lacks rows.
        if index.fields and index.condition is None:
            name, is_opposite = _find_first_field(index, meta.pk.name)
            found[name] = is_opposite
    return {name: is_opposite for name, is_opposite in found.items() if not meta.get_field(name).is_relation}


def _find_first_field(index: Index, key: str) -> tuple[str, bool]:
    """Return the first field of an index, and whether the key is the second one in the opposite direction."""
    (name, direction), *rest = index.fields_orders
    opposite = (key, "" if direction else "DESC")
    return name, rest[:1] == [opposite]


class PagedAdmin(ModelAdmin):
    """Base of lists with bounded counts and paging by keyset.

    The address of a list filters by the lookups of ``list_filter`` and by ``linked_lookups``, those of links to it.
    """

    linked_lookups: ClassVar[Sequence[str]] = ()

    list_per_page = 50
    show_full_result_count = False
    # Counting each choice of a filter would read the whole table.
    show_facets = admin.ShowFacets.NEVER
    paginator: Any = BoundedPaginator
    change_list_template: Any = LIST_TEMPLATE

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Return the columns with an index: by another one, the database would sort the whole table."""
        indexed = _find_indexed_fields(self.model)
        sortable: list[str] = []
        for name in super().get_sortable_by(request):
            column = getattr(self, name, None)
            field = getattr(column, "admin_order_field", name)
            if field in indexed:
                sortable.append(name)
        return sortable

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return KeysetChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Return whether the list declares this lookup. Django allows all lookups of the model's own columns.

        Patterns may take seconds, and a lookup of a secret column reveals it letter by letter.
        """
        allowed = set(self.linked_lookups)
        for each in self.get_list_filter(request):
            # A filter class has a parameter of its own.
            if isinstance(each, type):
                allowed.add(getattr(each, "parameter_name", ""))
                continue
            name = each if isinstance(each, str) else each[0]
            allowed.update(f"{name}__{ending}" for ending in FILTER_ENDINGS)
        return lookup in allowed

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the page of the list. Raises IncorrectLookupParameters for values that no link has."""
        for _name, values in request.GET.lists():
            if not all(map(_is_possible, values)):
                raise IncorrectLookupParameters
        try:
            return super().get_changelist_instance(request)
        except (OverflowError, DataError) as error:
            # A number or date that the database cannot represent.
            raise IncorrectLookupParameters(error) from error

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return a row, or None for a key that no row can have. Django would ask SQL for some of them, which fails."""
        if from_field is None and not self._are_keys([object_id]):
            return None
        return super().get_object(request, object_id, from_field)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Return the list. Raises SuspiciousOperation for an action on rows with impossible keys."""
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if not self._are_keys(chosen):
            raise SuspiciousOperation("Impossible keys of rows")
        return super().changelist_view(request, extra_context)

    def _are_keys(self, texts: Sequence[str]) -> bool:
        return all(_is_possible(text) and can_hold(self.opts.pk, text) for text in texts)


def _is_possible(value: str) -> bool:
    return "\0" not in value and len(value) <= MAX_VALUE_CHARACTERS
