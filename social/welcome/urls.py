"""Addresses of the first steps."""

from django.urls import path

from social.welcome import views

app_name = "welcome"
urlpatterns = [
    path("", views.overview, name="overview"),
    path("genres/", views.genres, name="genres"),
    path("books/", views.books, name="books"),
    path("readers/", views.readers, name="readers"),
    path("library/", views.library, name="library"),
]
