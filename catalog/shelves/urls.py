"""URLs of the reader's own shelves."""

from django.urls import path, register_converter

from catalog.readings import views as readings
from catalog.shelves import views
from catalog.shelves.models import Shelf


class ShelfConverter:
    """The name of a shelf in an address."""

    regex = "|".join(Shelf.values)

    def to_python(self, value: str) -> Shelf:
        return Shelf(value)

    def to_url(self, value: str) -> str:
        return Shelf(value).value


register_converter(ShelfConverter, "shelf")

app_name = "shelves"
urlpatterns = [
    path("", views.own_shelves, name="own"),
    path("statistics/", readings.own_statistics, name="statistics"),
    path("goal/", views.change_goal, name="goal"),
    path("<shelf:shelf>/", views.own_shelf, name="shelf"),
    path("<shelf:shelf>/privacy/", views.change_privacy, name="privacy"),
]
