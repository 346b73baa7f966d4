"""Addresses of the reader's own lists. ``social`` serves the page of a list, because it knows blocks and follows."""

from django.urls import path

from catalog.lists import views

app_name = "lists"
urlpatterns = [
    path("", views.own_lists, name="own"),
    path("with/<int:pk>/", views.lists_with_book, name="with_book"),
    path("<int:pk>/change/", views.change, name="change"),
    path("<int:pk>/delete/", views.delete, name="delete"),
    path("<int:pk>/books/", views.change_book, name="books"),
    path("<int:pk>/undo/", views.undo_removal, name="undo"),
]
