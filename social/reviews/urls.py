"""Addresses of reviews."""

from django.urls import path

from social.reviews import views

app_name = "reviews"
urlpatterns = [
    path("<int:pk>/reviews/", views.book_reviews, name="book"),
    path("<int:pk>/review/", views.write, name="write"),
]
