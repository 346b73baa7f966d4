"""A reader with a private text in every place, and one row of each admin model that belongs to this reader."""

from datetime import timedelta
from typing import Any, Final, NamedTuple

from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db.models import F, Model
from django.urls import reverse
from django.utils import timezone

from accounts.audit.log import Kind, record_event
from accounts.lockout.models import FailedLogins
from accounts.mail import addresses
from accounts.models import EmailChange, Session, Suspension, User
from accounts.notifications.emails.unsubscribing import Subscription, make_link
from accounts.notifications.models import Notification, Way
from accounts.passwords import services as passwords
from accounts.sessions.rows import hash_token
from catalog.library.formats import SERVICES, Table
from catalog.library.services import run_import, start_import
from catalog.lists.services import ListDraft, create_list
from catalog.models import Author, Tag, TagAlias
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.services import put_on_shelf
from catalog.wishes.models import BookWish
from config.roles import make_roles
from mirror.models import Change, State
from shop.invoices.models import Invoice
from shop.invoices.services import issue_invoice
from shop.models import (
    Cart,
    DeliveryMethod,
    DeliveryZone,
    FakeCharge,
    Order,
    Payment,
    PaymentState,
    Product,
    Return,
    ReturnLine,
    ReturnState,
    SavedAddress,
    StockAlert,
    View,
)
from shop.selectors.links import make_token
from shop.services import carts
from social.models import Block, Mute, Post, Pulled
from social.moderation.models import Action, Appeal, Case, Reason
from social.moderation.models import Kind as TargetKind
from social.moderation.services.appeals import appeal_decision
from social.moderation.services.decisions import Ruling, decide_case
from social.moderation.services.reports import Reporter, report_target
from social.moderation.targets import find_target
from tests.support.matrix.browser import Browser
from tests.support.shop.make import make_order, make_product
from tests.support.world import World

GUEST_VIEWS: Final = ("order", "pay", "cancel", "claim", "return_books", "return_slip", "invoice")
FEW: Final = 3  # copies of the product in the cart


class Secret(NamedTuple):
    """A text that only its owner may read, and staff with permission to view ``model`` ("": superusers only)."""

    text: str
    model: str = ""
    public: tuple[str, ...] = ()  # prefixes of the paths on which the text is public


class MatrixWorld:
    """The data of the access matrix.

    owner: the reader who owns all private rows. other: another reader. browser: a browser in which the owner is logged
    in.
    """

    def __init__(self) -> None:
        make_roles(Group, Permission)  # the flush of transactional tests deletes the groups
        self.world = world = World()
        self.staff = world.staff
        self.owner, self.other = world.readers[:2]
        self.muted, self.blocked = (User.objects.create_user(f"xq {what}") for what in ("muted", "blocked"))
        self._make_account()
        self._make_shop()
        self.hidden = Post.objects.create(user=self.owner, text="xqhidden", is_hidden=True)
        self.shown = world.post
        self.tag = "ruby"
        self.list, self.own_list = world.list, create_list(self.owner.pk, ListDraft("xqlist", privacy=Privacy.ME))
        run_import(world.load.pk)  # of the same reader, who has one import at a time
        table = Table(SERVICES["goodreads"], [{"Title": "xqtitle"}])
        self.load = start_import(self.owner.pk, "xqfile", table)
        run_import(self.load.pk)
        self._make_rows(world)
        self._make_case()

    def _make_account(self) -> None:
        self.owner.email = "xqmail@example.org"
        self.owner.set_password("xq a quiet bookshop")
        self.owner.save()
        addresses.request_change(self.owner, "xqwanted@example.org")
        self.browser = Browser(self.owner)
        self.token = self.browser.cookies["sessionid"].value
        self.digest = hash_token(self.token)
        Session.objects.filter(pk=self.digest).update(device="xqdevice")
        Mute.objects.create(user=self.owner, muted=self.muted)
        Block.objects.create(blocker=self.owner, blocked=self.blocked)
        record_event(Kind.EXPORT, "xqaudit", actor=self.owner)
        FailedLogins.objects.create(
            key="k", kind="pair", name="xqfailed", address="y", count=1, allowed=5, ends_at=_in_an_hour()
        )

    def _make_shop(self) -> None:
        product = make_product("A dear book", price=777_771, stock=FEW)
        carts.set_line(self.digest, product.pk, FEW)
        words: dict[str, Any] = {"name": "xqname", "address": "xqaddress", "email": "xqorder@example.org"}
        self.order = make_order(self.owner, Product.objects.order_by("pk")[0], key="xqkey", **words)
        self.guest_order = make_order(None, product, key="xqguestkey", email="guest@example.org")
        for order in (self.order, self.guest_order):
            issue_invoice(order)
        self.invoice, self.guest_invoice = Invoice.objects.order_by("pk")
        self.order_return, self.guest_return = (
            Return.objects.create(order=order, state=ReturnState.ACCEPTED, note=note)
            for order, note in ((self.order, "xqreturn"), (self.guest_order, ""))
        )
        ReturnLine.objects.create(order_return=self.order_return, line=self.order.lines.get(), quantity=1)
        Product.objects.filter(pk=product.pk).update(reserved=F("reserved") + 1)
        self.payment = Payment.objects.create(
            order=self.order, key="xqpayment", amount=1, state=PaymentState.FAILED, reason="xqreason"
        )

    def _make_rows(self, world: World) -> None:
        reader = self.owner
        Cart.objects.get_or_create(digest=self.digest, defaults={"user": reader, "lines": {}, "version": 1})
        View.objects.create(visitor="0" * 64, user=reader, book=world.other_book)
        FakeCharge.objects.create(key="charge", amount=1, succeeds=True)
        Pulled.objects.create(user=reader)
        put_on_shelf(reader.pk, world.other_book.pk, Shelf.READ, timezone.localdate())
        self.address = SavedAddress.objects.create(user=reader, name="xqsaved", address="Hill", country="GB")
        # Not offered, because it would change the totals of carts.
        zone = DeliveryZone.objects.create(name="Moon")
        DeliveryMethod.objects.create(zone=zone, name="Rocket", is_active=False)
        StockAlert.objects.create(user=reader, product=Product.objects.order_by("pk")[0])
        self.notification = Notification.objects.create(
            user=reader, kind="like", key="0", target=self.hidden.pk, last_at=timezone.now()
        )
        BookWish.objects.create(user=reader, title="xqwish")
        TagAlias.objects.create(name="red", tag=Tag.objects.order_by("pk")[0])
        State.objects.get_or_create(mirror="user")
        Change.objects.create(mirror="user", source="", key=str(reader.pk))

    def _make_case(self) -> None:
        """Let the owner report a post, and suffer a decision about another one."""
        target = find_target(TargetKind.POST, str(self.shown.pk), self.other.pk)
        assert target is not None
        reporter = Reporter(self.other.pk)
        mine = report_target(target._replace(text="xqcopy"), reporter, Reason.HATE, "xqaccusation")
        ruling = Ruling(Action.WARN, facts="xqfacts")
        self.decision = decide_case(mine.case_id, ruling, by=self.staff)
        self.appeal = appeal_decision(self.decision, "xqappeal")
        target = find_target(TargetKind.READER, str(self.other.pk), self.owner.pk)
        assert target is not None
        self.report = report_target(target, Reporter(self.owner.pk), Reason.SPAM, "xqdetails")
        suspended = User.objects.create_user("suspended", is_active=False)
        Suspension.objects.create(user=suspended, began_at=timezone.now(), ends_at=_in_an_hour())

    def secrets(self) -> list[Secret]:
        """Return the private texts; each occurs nowhere else."""
        pages = tuple(f"/u/{user.username.replace(' ', '%20')}/" for user in (self.muted, self.blocked))
        return [
            Secret("xqmail@", "accounts.user"),
            Secret("xqwanted@"),
            Secret("xqaudit", "accounts.auditevent"),
            Secret("xqfailed", "accounts.failedlogins"),
            Secret("xqdevice", "accounts.session"),
            Secret(self.token),
            Secret(self.digest, "accounts.session"),
            Secret(self.owner.password),
            Secret(self.owner.session_secret),
            *(Secret(text, "shop.order") for text in ("xqname", "xqaddress", "xqorder@", "xqreason", "xqreturn")),
            Secret("xqpayment", "shop.payment"),
            *(Secret(text) for text in ("2333313", "23333.13", "23,333.13")),  # the total of the cart
            Secret("xqsaved"),
            Secret("xqhidden", "social.post"),
            Secret("xqlist"),
            *(Secret(text) for text in ("xqfile", "xqtitle")),
            Secret("xqwish", "catalog.book"),
            *(Secret(text, "moderation.case") for text in ("xqcopy", "xqfacts", "xqappeal", "xqdetails")),
            Secret(self.muted.username, "accounts.user", ("/people/", *pages)),
            Secret(self.blocked.username, "accounts.user", ("/people/", *pages)),
        ]

    def samples(self) -> dict[str, tuple[Any, ...]]:
        """Return the values for the arguments of addresses, by "page argument" or "application argument"."""
        confirm = reverse(
            "accounts:email_confirm", args=[addresses._make_token(EmailChange.objects.get(user=self.owner))]
        )
        *_, uid, token, _end = passwords._make_reset_path(self.owner).split("/")
        author = Author.objects.order_by("pk")[0].pk  # the numbers of authors continue after earlier tests
        return {
            "catalog pk": (1,),
            "author pk": (author,),
            "following pk": (author,),
            "cover_file file": (f"{'0' * 24}-120.webp",),
            "author_photo file": (f"{'0' * 24}-128.webp",),
            "catalog:series author": (author,),
            "catalog:series name": ("ruby",),
            "shelves shelf": ("read",),
            "lists pk": (self.list.pk,),
            "library pk": (self.load.pk,),
            "lists:with_book pk": (1,),
            "social:list pk": (self.list.pk, self.own_list.pk),
            "notifications:open pk": (self.notification.pk,),
            "notifications:unsubscribe token": (make_link(Subscription(self.owner.pk, Way.EMAIL)).split("/")[-2],),
            "loginlog pk": (self.owner.pk,),
            "django.contrib.sitemaps.views.sitemap section": ("books",),
            "social:book_posts pk": (1,),
            "social:book_feed pk": (1,),
            "social:author_posts pk": (author,),
            "social:author_feed pk": (author,),
            "social shelf": ("read",),
            "social:year_picture year": (2026,),
            "shop pk": (self.order.pk,),
            "shop:address pk": (self.address.pk,),
            "shop:invoice invoice_pk": (self.invoice.pk,),
            "shop:guest_invoice invoice_pk": (self.guest_invoice.pk,),
            "shop:return_slip return_pk": (self.order_return.pk,),
            "shop:guest_return_slip return_pk": (self.guest_return.pk,),
            **{f"shop:guest_{view} pk": (self.guest_order.pk,) for view in GUEST_VIEWS},
            **{f"shop:guest_{view} token": (make_token(self.guest_order),) for view in GUEST_VIEWS},
            "moderation:report kind": ("post",),
            "moderation:report target": (Post.objects.filter(user=self.other)[0].pk,),
            "moderation:report_status key": (self.report.key,),
            "moderation:decision key": (self.decision.key,),
            "social pk": (self.hidden.pk, self.shown.pk),
            "reviews pk": (2,),
            "social name": (self.owner.username,),
            "social hashtag": (self.tag,),
            "social:picture file": (f"{'0' * 24}-96.webp",),
            "accounts uidb64": (uid,),
            "accounts:resume key": ("nothing",),
            "accounts:password_reset_confirm token": (token,),
            "accounts:email_confirm token": (confirm.split("/")[-2],),
            "admin:app_list app_label": tuple(sorted({model._meta.app_label for model in admin.site._registry})),
            "admin:view_on_site content_type_id": (ContentType.objects.get_for_model(Order).pk,),
            "admin:view_on_site object_id": (self.order.pk,),
            "admin url": ("nothing/",),
        }

    def row(self, model: type[Model]) -> Model:
        """Return the owner's row of this model, or any row if the model has no owner."""
        rows: dict[type[Model], Any] = {
            User: self.owner,
            Order: self.order,
            Payment: self.payment,
            Post: self.hidden,
            Session: Session.objects.get(pk=self.digest),
            Cart: Cart.objects.get(pk=self.digest),
            EmailChange: EmailChange.objects.get(user=self.owner),
            Mute: Mute.objects.get(user=self.owner),
            Case: self.report.case,
            Appeal: self.appeal,
            Block: Block.objects.get(blocker=self.owner),
        }
        found = rows.get(model) or model._default_manager.first()
        assert found is not None, f"{model.__name__}: make a row of it in {__name__}"
        return found


def _in_an_hour() -> Any:
    return timezone.now() + timedelta(hours=1)
