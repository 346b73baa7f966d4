"""URLs of the catalogue."""

from django.urls import path

from catalog import views
from catalog.readings import views as readings
from catalog.shelves import views as shelves
from catalog.tags import combining
from catalog.tags import views as tag_views

app_name = "catalog"
urlpatterns = [
    path("", views.book_list, name="list"),
    path("combine/", combining.combine_tags, name="combine"),
    path("tags/", combining.complete_tag, name="tag_names"),
    path("series/<int:author>/<path:name>/", views.series_page, name="series"),
    path("<int:pk>/", views.book_page, name="book"),
    path("<int:pk>/cover.png", views.book_cover, name="cover"),
    path("<int:pk>/tags/", tag_views.give_tag, name="tag"),
    path("<int:pk>/tags/remove/", tag_views.take_tag, name="untag"),
    path("<int:pk>/shelf/", shelves.change_entry, name="shelf"),
    path("<int:pk>/shelf/undo/", shelves.undo_change, name="undo"),
    path("<int:pk>/readings/", readings.readings_page, name="readings"),
]
