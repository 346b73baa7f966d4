"""Addresses."""

from django.urls import path

from catalog import views

app_name = "catalog"
urlpatterns = [
    path("", views.book_list, name="list"),
    path("<int:pk>/", views.book_page, name="book"),
]
