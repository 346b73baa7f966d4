"""URLs of search."""

from django.urls import path

from catalog.search import views

app_name = "search"
urlpatterns = [path("", views.search_page, name="search")]
