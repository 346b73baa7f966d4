"""URLs of the shop."""

from django.urls import URLPattern, path

from shop.invoices import views as invoices
from shop.returns import views as returns
from shop.views import addresses, callback, cart, checkout, guests, orders, sale, stock_alerts

app_name = "shop"
urlpatterns: list[URLPattern] = [
    path("cart/", cart.cart, name="cart"),
    path("sale/", sale.sale, name="sale"),
    path("alerts/", stock_alerts.alerts, name="alerts"),
    path("addresses/", addresses.addresses, name="addresses"),
    path("addresses/add/", addresses.EditAddress.as_view(), name="add_address"),
    path("addresses/<int:pk>/", addresses.EditAddress.as_view(), name="address"),
    path("orders/", orders.orders, name="orders"),
    path("orders/<int:pk>/", orders.order, name="order"),
    path("guest/", guests.send_link, name="guest_link"),
    path("guest/<int:pk>/<str:token>/", guests.order, name="guest_order"),
    path("guest/<int:pk>/<str:token>/pay/", guests.Pay.as_view(), name="guest_pay"),
    path("guest/<int:pk>/<str:token>/cancel/", guests.cancel, name="guest_cancel"),
    path("guest/<int:pk>/<str:token>/claim/", guests.claim, name="guest_claim"),
    path("orders/<int:pk>/return/", returns.return_books, name="return_books"),
    path("orders/<int:pk>/returns/<int:return_pk>/", returns.slip, name="return_slip"),
    path("guest/<int:pk>/<str:token>/return/", returns.return_guest_books, name="guest_return_books"),
    path("guest/<int:pk>/<str:token>/returns/<int:return_pk>/", returns.guest_slip, name="guest_return_slip"),
    path("orders/<int:pk>/invoices/<int:invoice_pk>/", invoices.invoice, name="invoice"),
    path("guest/<int:pk>/<str:token>/invoices/<int:invoice_pk>/", invoices.guest_invoice, name="guest_invoice"),
    path("checkout/", checkout.Checkout.as_view(), name="checkout"),
    path("orders/<int:pk>/pay/", checkout.Pay.as_view(), name="pay"),
    path("payments/callback/", callback.callback, name="callback"),
    path("orders/<int:pk>/cancel/", orders.cancel_order, name="cancel_order"),
]
