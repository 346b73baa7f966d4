"""Pages of a reader's imports, and the files of exports."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates, give_back_at_rates
from accounts.views import render_too_often
from catalog.library import services
from catalog.library.export import write_csv, write_json
from catalog.library.formats import SERVICES, FileRefused, Table, read_table
from catalog.library.models import Step
from catalog.library.selectors import Progress, find_imports, find_rows, get_progress
from common.csv import write_lines
from common.ids import MAX_ID, parse_id
from common.paths import make_path
from common.web import (
    accept_files,
    get_user_id,
    is_partial,
    json_error,
    json_response,
    personal_page,
    redirect_to,
    redirect_to_view,
    wants_json,
)

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
SHOWN_STEPS: Final = (Step.DOUBT, Step.FOUND, Step.MISSING, Step.APPLIED)
ACTIONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "confirm": services.confirm_import,
    "undo": services.undo_import,
    "discard": services.discard_import,
}


@accept_files(MAX_FILE_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def overview(request: HttpRequest) -> HttpResponse:
    """Show the reader's imports, the form for a file and links to the exports. POST ``file``: start an import."""
    if request.method != "POST":
        return _render_overview(request)
    user_id = get_user_id(request)
    # Reading a file costs time, also if it is refused then.
    if seconds := count_at_rates("upload", user_id, settings.UPLOAD_RATES):
        return render_too_often(request, seconds, make_path("library:overview"))
    file = request.FILES.get("file")
    if file is None or not file.size:
        return _render_overview(request, _("Choose a file."))
    # Its content was not kept.
    if file.size > MAX_FILE_BYTES:
        return _render_overview(request, _("This file is larger than 20 MB. Choose a smaller one."))
    try:
        table = read_table(file.read())
    except FileRefused as error:
        return _render_overview(request, str(error))
    return _start_import(request, user_id, str(file.name), table)


def _start_import(request: HttpRequest, user_id: int, file_name: str, table: Table) -> HttpResponse:
    # Only an import that begins counts. An undo or the end of another one gives nothing back.
    if seconds := count_at_rates("import", user_id, settings.IMPORT_RATES):
        return render_too_often(request, seconds, make_path("library:overview"))
    try:
        made = services.start_import(user_id, file_name, table)
    except services.ImportRefused as error:
        give_back_at_rates("import", user_id, settings.IMPORT_RATES)
        return _render_overview(request, str(error))
    return json_response({"id": made.pk}, 201) if wants_json(request) else redirect_to_view("library:import", made.pk)


@require_safe
@personal_page
def one_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an import and the rows of one step: ``?step=&after=``. htmx gets only the progress."""
    progress = _get_progress(request, pk)
    load = progress.load
    if is_partial(request):
        response = render(request, "catalog/library/_progress.html", {"progress": progress})
        # The page has more to show when the work is done.
        if not load.is_working:
            response.headers["HX-Refresh"] = "true"
        return response
    wanted = request.GET.get("step", "")
    present = [step for step in SHOWN_STEPS if progress.counts[step]]
    step = next((one for one in present if one == wanted), present[0] if present else Step.FOUND)
    page = find_rows(load, step, parse_id(request.GET.get("after", "")) or 0)
    if wants_json(request):
        return json_response({"id": load.pk, "state": load.state, "total": load.total, "counts": progress.counts})
    shown = {
        "progress": progress,
        "service": SERVICES[load.service],
        "steps": present,
        "step": step,
        "page": page,
        "address": make_path("library:import", pk),
    }
    return render(request, "catalog/library/import.html", shown)


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def choose(request: HttpRequest, pk: int) -> HttpResponse:
    """POST ``row``, ``book``: choose a candidate for a row in doubt; without a book, none of them."""
    address = f"{make_path('library:import', pk)}?step={Step.DOUBT.value}"
    if request.method != "POST":
        return redirect_to(address)
    number, book = (parse_id(request.POST.get(name, "")) for name in ("row", "book"))
    if not services.choose_book(get_user_id(request), min(pk, MAX_ID), number or 0, book or None):
        messages.error(request, _("This row is not in doubt any more."))
    return redirect_to(address)


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def run_action(request: HttpRequest, pk: int, verb: str) -> HttpResponse:
    """Start, undo or discard an import."""
    progress = _get_progress(request, pk)
    is_done = request.method == "POST" and ACTIONS[verb](get_user_id(request), pk)
    if wants_json(request):
        return json_response({"id": progress.load.pk}) if is_done else json_error(_("This is not possible now."), 409)
    if request.method == "POST" and not is_done:
        messages.error(request, _("This is not possible now."))
    if is_done and verb == "discard":
        return redirect_to_view("library:overview")
    return redirect_to_view("library:import", pk)


@require_safe
@personal_page
def missing_csv(request: HttpRequest, pk: int) -> Any:
    """Return the rows without a book as they were in the file."""
    load = _get_progress(request, pk).load
    columns = sorted(SERVICES[load.service].columns)
    rows = load.rows.filter(step__in=(Step.MISSING, Step.DOUBT)).order_by("number").values_list("raw", flat=True)
    empty = [""] * len(columns)
    lines = write_lines(columns, (list(map(raw.get, columns, empty)) for raw in rows.iterator(chunk_size=500)))
    return _stream(lines, "missing.csv", "text/csv; charset=utf-8")


@require_safe
@personal_page
def export_csv(request: HttpRequest) -> Any:
    """Return the reader's library with the columns of Goodreads."""
    return _stream(write_csv(get_user_id(request)), "library.csv", "text/csv; charset=utf-8")


@require_safe
@personal_page
def export_json(request: HttpRequest) -> Any:
    """Return the reader's library as JSON."""
    return _stream(write_json(get_user_id(request)), "library.json", "application/json")


def _stream(lines: Any, name: str, content_type: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=content_type, headers=headers)


def _get_progress(request: HttpRequest, pk: int) -> Progress:
    """Return one of the reader's own imports. Raises Http404."""
    found = get_progress(get_user_id(request), pk) if pk <= MAX_ID else None
    if found is None:
        raise Http404
    return found


def _render_overview(request: HttpRequest, error: str = "") -> HttpResponse:
    found = find_imports(get_user_id(request))
    status = 400 if error else 200
    if wants_json(request):
        listed = [{"id": one.pk, "state": one.state, "total": one.total} for one in found]
        return json_error(error, status) if error else json_response({"results": listed})
    shown = {"imports": found, "error": error, "services": SERVICES}
    return render(request, "catalog/library/overview.html", shown, status=status)
