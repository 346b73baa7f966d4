"""The appearance of the admin: django-unfold in the site's colours (``static/css/admin.css``)."""

from typing import Any, Final

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def _link_static(path: str) -> Any:
    return lambda request: static(path)


def _build_item(title: Any, icon: str, model: str) -> dict[str, Any]:
    """Return a line of the sidebar, shown to users with permission to view the model ("app.name")."""
    app, name = model.split(".")

    def may_see(request: HttpRequest) -> bool:
        return admin.site.get_model_admin(apps.get_model(model)).has_view_permission(request)

    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{app}_{name}_changelist"), "permission": may_see}


UNFOLD: Final[dict[str, Any]] = {
    "SITE_TITLE": "Diptych",
    "SITE_HEADER": "Diptych",
    "SITE_SUBHEADER": _("Bookshop administration"),
    "SITE_SYMBOL": "menu_book",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _link_static("favicon.svg")}],
    "SHOW_LANGUAGES": True,
    "BORDER_RADIUS": None,
    # None prevents unfold's inline style, which the policy forbids; the style sheet sets the radius.
    # COLORS is a function, because unfold would merge a dict into its own colours.
    "COLORS": lambda request: {},
    "STYLES": [
        _link_static("css/tokens.css"),
        _link_static("css/layout.css"),
        _link_static("css/admin.css"),
        _link_static("css/loginlog.css"),
    ],
    "DASHBOARD_CALLBACK": "config.admin.add_figures",
    "SIDEBAR": {
        "show_search": True,
        "show_all_applications": False,
        "navigation": [
            {
                "title": _("Catalogue"),
                "items": [
                    _build_item(_("Books"), "menu_book", "catalog.book"),
                    _build_item(_("Authors"), "ink_pen", "catalog.author"),
                    _build_item(_("Tags"), "sell", "catalog.tag"),
                    _build_item(_("Aliases of tags"), "label", "catalog.tagalias"),
                    _build_item(_("Books on shelves"), "shelves", "catalog.shelfentry"),
                    _build_item(_("Lists of books"), "list", "lists.readinglist"),
                    _build_item(_("Wishes for books"), "playlist_add", "wishes.bookwish"),
                ],
            },
            {
                "title": _("Shop"),
                "items": [
                    _build_item(_("Orders"), "receipt_long", "shop.order"),
                    _build_item(_("Returns"), "assignment_return", "shop.return"),
                    _build_item(_("Invoices"), "request_quote", "invoices.invoice"),
                    _build_item(_("Payments"), "payments", "shop.payment"),
                    _build_item(_("Fake payments"), "science", "shop.fakecharge"),
                    _build_item(_("Products"), "inventory_2", "shop.product"),
                    _build_item(_("Sales"), "percent", "shop.sale"),
                    _build_item(_("Delivery zones"), "public", "shop.deliveryzone"),
                    _build_item(_("Methods of delivery"), "local_shipping", "shop.deliverymethod"),
                    _build_item(_("Carts"), "shopping_cart", "shop.cart"),
                    _build_item(_("Views"), "visibility", "shop.view"),
                    _build_item(_("Recommendations"), "recommend", "shop.recommendation"),
                    _build_item(_("Stock alerts"), "notification_add", "shop.stockalert"),
                ],
            },
            {
                "title": _("Community"),
                "items": [
                    _build_item(_("Posts"), "forum", "social.post"),
                    _build_item(_("Reviews"), "rate_review", "reviews.review"),
                    _build_item(_("Follows"), "group", "social.follow"),
                    _build_item(_("Blocks"), "block", "social.block"),
                    _build_item(_("Mutes"), "volume_off", "social.mute"),
                    _build_item(_("Pulled authors"), "campaign", "social.pulled"),
                    _build_item(_("Cases"), "flag", "moderation.case"),
                    _build_item(_("Appeals"), "gavel", "moderation.appeal"),
                    _build_item(_("Notifications"), "notifications", "notifications.notification"),
                ],
            },
            {
                "title": _("Redis"),
                "items": [
                    _build_item(_("Mirrors"), "sync_alt", "mirror.state"),
                    _build_item(_("Changes"), "list_alt", "mirror.change"),
                ],
            },
            {
                "title": _("People"),
                "items": [
                    _build_item(_("Users"), "person", "accounts.user"),
                    _build_item(_("Groups"), "groups", "auth.group"),
                    _build_item(_("Sessions"), "devices", "accounts.session"),
                    _build_item(_("Suspensions"), "person_off", "accounts.suspension"),
                    _build_item(_("Failed logins"), "lock_person", "accounts.failedlogins"),
                    _build_item(_("Audit log"), "policy", "accounts.auditevent"),
                    {
                        "title": _("Login report"),
                        "icon": "monitoring",
                        "link": reverse_lazy("loginlog:report"),
                        "permission": lambda request: request.user.has_perm("loginlog.view_report"),
                    },
                ],
            },
        ],
    },
}
