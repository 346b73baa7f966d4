"""URLs of followed authors."""

from django.urls import path

from catalog.following import views

app_name = "following"
urlpatterns = [
    path("followed/", views.followed_authors, name="authors"),
    path("<int:pk>/follow/", views.follow, {"is_followed": True}, name="follow"),
    path("<int:pk>/unfollow/", views.follow, {"is_followed": False}, name="unfollow"),
]
