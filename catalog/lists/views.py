"""Pages of the reader's own lists, in HTML and JSON, and the forms that change them."""

from typing import Any, Final, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.ratelimit import count_at_rates
from accounts.views import render_too_often
from catalog.lists import services
from catalog.lists.forms import ListedBookForm, ListForm, UndoForm
from catalog.lists.models import Order
from catalog.lists.selectors import CountedList, find_lists, find_lists_with, get_list
from catalog.lists.undo import restore_snapshot, snapshot_book, snapshot_list
from catalog.selectors import get_book
from catalog.shelves.forms import get_today
from catalog.shelves.models import Privacy
from catalog.shelves.services import BookNotFound
from catalog.shelves.snapshots import NotUndoable
from common.paths import make_path
from common.web import (
    get_next_address,
    get_user_id,
    is_partial,
    json_error,
    json_response,
    personal_page,
    redirect_to,
    wants_json,
)
from mirror import Record
from mirror.read import read_from_sql


class MenuChange(NamedTuple):
    """What the menu of a book's lists tells about a change. takes_focus: the control of the change is gone."""

    text: str = ""
    takes_focus: bool = False


NO_CHANGE: Final = MenuChange()


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def own_lists(request: HttpRequest) -> HttpResponse:
    """Show the reader's own lists. POST: create one, and with ``book`` put this book on it."""
    user_id = get_user_id(request)
    if request.method != "POST":
        return _render_lists(request, find_lists(user_id, set(Privacy), has_books=True), ListForm())
    if refusal := _check_rate(request):
        return refusal
    form = ListForm(request.POST)
    book = ListedBookForm({"action": "add", "book": request.POST.get("book", "")})
    try:
        if not form.is_valid():
            return _refuse(request, form)
        # Before the list, which would stay without the book.
        if book.is_valid() and get_book(book.cleaned_data["book"]) is None:
            raise Http404
        made = services.create_list(user_id, form.get_draft())
        if book.is_valid():
            services.add_book(user_id, made.pk, book.cleaned_data["book"], get_today())
    except services.NameInUse as error:
        return _refuse(request, form, str(error))
    except services.TooMany as error:
        return _refuse(request, form, _describe_limit(error))
    except BookNotFound as error:
        raise Http404 from error
    if wants_json(request):
        return json_response({"id": made.pk}, 201)
    if is_partial(request) and book.is_valid():
        text = _("Now on the list “%(name)s”.") % {"name": made.name}
        return _answer_menu(request, user_id, book.cleaned_data["book"], MenuChange(text, takes_focus=True))
    return redirect_to(get_next_address(request, make_path("social:list", made.pk)))


@require_http_methods(["GET", "HEAD"])
@personal_page
def lists_with_book(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the reader's own lists with a button that puts the book on each or takes it off. htmx gets only these."""
    if is_partial(request):
        return _render_menu(request, get_user_id(request), pk, "catalog/lists/_menu.html", is_opened=True)
    return _render_menu(request, get_user_id(request), pk, "catalog/lists/with_book.html")


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the form of a list's fields. POST: change them."""
    user_id, found = get_user_id(request), _get_own(request, pk)
    if request.method != "POST":
        return render(request, "catalog/lists/change.html", {"list": found, **_list_choices(ListForm(found))})
    form = ListForm(request.POST)
    if not form.is_valid():
        return _refuse(request, form, found=found)
    try:
        services.change_list(user_id, pk, form.get_draft())
    except services.ListNotFound as error:
        raise Http404 from error
    messages.success(request, _("Saved."))
    return json_response({"id": pk}) if wants_json(request) else redirect_to(make_path("social:list", pk))


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask whether to delete a list. POST: delete it."""
    found = _get_own(request, pk)
    if request.method != "POST":
        return render(request, "catalog/lists/delete.html", {"list": found})
    # Taken before the change, and given to the page, not stored.
    snapshot = snapshot_list(get_user_id(request), pk)
    services.delete_list(get_user_id(request), pk)
    if wants_json(request):
        return json_response({"id": None, "undo": snapshot or None})
    text = _("The list “%(name)s” is deleted.") % {"name": found["name"]}
    messages.success(request, _render_undo(request, pk, text, snapshot))
    return redirect_to(make_path("lists:own"))


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def change_book(request: HttpRequest, pk: int) -> HttpResponse:
    """Add, remove or move a book: see ``ListedBookForm``. GET redirects to the list, to which the log-in leads back."""
    address = make_path("social:list", pk)
    if request.method != "POST":
        return redirect_to(address)
    if refusal := _check_rate(request):
        return refusal
    form, user_id = ListedBookForm(request.POST), get_user_id(request)
    if not form.is_valid():
        return _refuse(request, form)
    book, is_removal = form.cleaned_data["book"], form.cleaned_data["action"] == "remove"
    snapshot = snapshot_book(user_id, pk, book) if is_removal else ""
    try:
        _apply_change(user_id, pk, form.cleaned_data)
    except (services.ListNotFound, BookNotFound) as error:
        raise Http404 from error
    except services.TooMany as error:
        return _refuse(request, form, _describe_limit(error))
    if wants_json(request):
        answer = {"list": pk, "book": book, "place": services.find_place(pk, book)}
        return json_response({**answer, "undo": snapshot} if snapshot else answer)
    undo = _render_undo(request, pk, _("Removed from the list."), snapshot, book) if snapshot else ""
    if is_partial(request):
        return _answer_menu(request, user_id, book, MenuChange(undo))
    if undo:
        messages.success(request, undo)
    return redirect_to(get_next_address(request, f"{address}#book-{book}"))


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def undo_removal(request: HttpRequest, pk: int) -> HttpResponse:
    """Restore a deleted list, or a book that was removed from it: ``snapshot``. GET redirects to the list.

    htmx gets the menu of the lists with ``book``.
    """
    address = make_path("social:list", pk)
    if request.method != "POST":
        return redirect_to(address)
    if refusal := _check_rate(request):
        return refusal
    form = UndoForm(request.POST)
    try:
        restore_snapshot(get_user_id(request), pk, request.POST.get("snapshot", ""))
    except services.ListNotFound as error:
        raise Http404 from error
    except services.TooMany as error:
        return _refuse(request, form, _describe_limit(error))
    except NotUndoable as error:
        return _refuse(request, form, str(error))
    if wants_json(request):
        return json_response({"id": pk})
    if is_partial(request) and form.is_valid():
        change = MenuChange(_("Undone."), takes_focus=True)
        return _answer_menu(request, get_user_id(request), form.cleaned_data["book"], change)
    messages.success(request, _("Undone."))
    return redirect_to(address)


def _apply_change(user_id: int, list_id: int, given: dict[str, Any]) -> None:
    book = given["book"]
    match given["action"]:
        case "add":
            services.add_book(user_id, list_id, book, get_today())
        case "remove":
            services.remove_book(user_id, list_id, book)
        case "move":
            services.move_book(user_id, list_id, book, given["place"] or 1)
        case step:
            # A concurrent change may shift the book by one place more, which its reader sees.
            present = services.find_place(list_id, book) or 1
            services.move_book(user_id, list_id, book, present + (1 if step == "down" else -1))


def _get_own(request: HttpRequest, pk: int) -> Record:
    """Return one of the reader's own lists. Raises Http404."""
    found = get_list(pk)
    if found is None or found["user"] != get_user_id(request):
        raise Http404
    return found


def _render_undo(request: HttpRequest, list_id: int, text: str, snapshot: str, book_id: int = 0) -> SafeString:
    """Return the text about a removal, with a form that undoes it. book_id: of the menu that htmx replaces."""
    context = {"address": make_path("lists:undo", list_id), "text": text, "snapshot": snapshot, "book_id": book_id}
    # The page that a redirect leads to has no menu.
    target = "closest .list-menu" if is_partial(request) else ""
    return render_to_string("catalog/shelves/_undo.html", {**context, "target": target}, request)


def _answer_menu(request: HttpRequest, user_id: int, book_id: int, change: MenuChange = NO_CHANGE) -> HttpResponse:
    """Return the menu of a book's lists after a change, from SQL, because Redis may be behind."""
    with read_from_sql():
        return _render_menu(request, user_id, book_id, "catalog/lists/_menu.html", change=change)


def _render_menu(
    request: HttpRequest,
    user_id: int,
    book_id: int,
    template: str,
    *,
    is_opened: bool = False,
    change: MenuChange = NO_CHANGE,
) -> HttpResponse:
    book = get_book(book_id)
    if book is None:
        raise Http404
    lists, chosen = find_lists(user_id, set(Privacy)), find_lists_with(user_id, book_id)
    if wants_json(request):
        return json_response({"results": [{**one.json, "has_book": one.fields["id"] in chosen} for one in lists]})
    context = {"book": book, "lists": lists, "chosen": chosen, "is_opened": is_opened, "change": change}
    return render(request, template, context)


def _render_lists(request: HttpRequest, lists: list[CountedList], form: ListForm, status: int = 200) -> HttpResponse:
    if wants_json(request):
        return json_response({"results": [one.json for one in lists]})
    return render(request, "catalog/lists/own.html", {"lists": lists, **_list_choices(form)}, status=status)


def _list_choices(form: ListForm) -> dict[str, Any]:
    """Return what the form of a list shows: the values, the choices and the first error."""
    values = {name: form[name].value() or "" for name in form.fields}
    return {"values": values, "privacies": Privacy.choices, "orders": Order.choices, "error": _get_first_error(form)}


def _get_first_error(form: Form) -> str:
    return str(next(iter(form.errors.values()))[0]) if form.errors else ""


def _refuse(request: HttpRequest, form: Form, why: str = "", found: Record | None = None) -> HttpResponse:
    """Return an answer that nothing was changed, with what the reader typed."""
    why = why or _get_first_error(form)
    if wants_json(request):
        return json_error(why, 400)
    if not isinstance(form, ListForm) or is_partial(request):
        back = {"why": why, "back": make_path("lists:own")}
        template = "catalog/lists/_refused.html" if is_partial(request) else "catalog/shelves/refused.html"
        return render(request, template, back, status=400)
    if found is None:
        lists = find_lists(get_user_id(request), set(Privacy), has_books=True)
        shown: dict[str, Any] = {"lists": lists, **_list_choices(form), "error": why}
        return render(request, "catalog/lists/own.html", shown, status=400)
    return render(request, "catalog/lists/change.html", {"list": found, **_list_choices(form)}, status=400)


def _describe_limit(error: services.TooMany) -> str:
    """Return why there can be no more lists, or no more books on a list."""
    limit = error.limit
    return ngettext("There can be at most %(n)s.", "There can be at most %(n)s.", limit) % {"n": limit}


def _check_rate(request: HttpRequest) -> HttpResponse | None:
    seconds = count_at_rates("shelf", request.user.pk, settings.SHELF_RATES)
    return render_too_often(request, seconds, make_path("lists:own")) if seconds else None
