"""URLs and middleware of child processes: a page that reads and renames an item, and the cost of each response."""

import os
from collections.abc import Callable

import orjson
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from mirror.read.reads import read
from mirror.redis.recorder import record
from tests.projects.mirrortest.models import Item


@csrf_exempt
def item(request: HttpRequest, pk: int) -> JsonResponse:
    """Return the item's name, from Redis or else from SQL. POST ``name`` renames it, with ``bulk`` without signals."""
    if request.method == "POST" and "bulk" in request.POST:
        Item.objects.filter(pk=pk).update(name=request.POST["name"])
    elif request.method == "POST":
        row = Item.objects.get(pk=pk)
        row.name = request.POST["name"]
        row.save()
    found = read(["titem"], lambda pipe: pipe.get(f"titem:{pk}"))
    name = orjson.loads(found.replies[0])["name"] if found else Item.objects.get(pk=pk).name
    return JsonResponse({"name": name, "by": "redis" if found else "sql"})


class WriteCosts:
    """Append ``[seconds of time-outs, round trips, SQL statements]`` to the file named by ``COSTS_FILE``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with record() as seen:
            response = self.get_response(request)
        if "COSTS_FILE" in os.environ:
            with open(os.environ["COSTS_FILE"], "ab") as file:
                file.write(orjson.dumps([seen.timeout_seconds, seen.round_trips, len(seen.sql)]) + b"\n")
        return response


urlpatterns = [path("item/<int:pk>/", item), path("", include("config.urls"))]
