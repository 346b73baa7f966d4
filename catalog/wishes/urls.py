"""URLs of wishes."""

from django.urls import path

from catalog.wishes import views

app_name = "wishes"
urlpatterns = [path("", views.ask, name="ask")]
