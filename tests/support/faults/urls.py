"""The site's URLs, and a page that reads an item through the mirror and renames it."""

import orjson
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from mirror.read.reads import read
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


urlpatterns = [path("item/<int:pk>/", item), path("", include("config.urls"))]
