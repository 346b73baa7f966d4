"""Addresses of the shop."""

from django.urls import URLPattern, path

from shop.views import orders

app_name = "shop"
urlpatterns: list[URLPattern] = [
    path("orders/", orders.orders, name="orders"),
    path("orders/<int:pk>/", orders.order, name="order"),
    path("orders/<int:pk>/cancel/", orders.cancel_order, name="cancel_order"),
]
