"""Which address leads where."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("accounts/", include("accounts.urls")),
    path("books/", include("catalog.urls")),
    path("admin/", admin.site.urls),
]
