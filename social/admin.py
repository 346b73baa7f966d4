"""Posts in the admin. Staff read them and open cases, whose decisions hide or delete posts and tell the author why.

``social.admin_people`` has the pages about readers.
"""

from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin, PermittedLinks
from accounts.models import User
from common.ids import parse_id
from common.text import fold
from common.web import redirect_to
from social import admin_people as _people  # noqa: F401  (registers its pages)
from social.content.tokens import fold_hashtag
from social.models import Hashtag, Mention, Post
from social.moderation.models import Reason
from social.moderation.services.reports import Reporter, report_target
from social.moderation.targets import make_post_target
from social.services import posts

MAX_SEARCHED_POSTS: Final = 50_000  # newest posts that a search for words reads
MAX_SHOWN_CHARACTERS: Final = 90  # characters of a post in the list


class _ReadOnlyInline(PermittedLinks, TabularInline):
    """A read-only list of items found in a post's text, for staff with permission to view posts."""

    extra = 0
    can_delete = False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm("social.view_post") or request.user.has_perm("social.change_post"))

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class MentionInline(_ReadOnlyInline):
    """The readers that a post mentions."""

    model = Mention
    fields = readonly_fields = ["user", "name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Mention]:
        return super().get_queryset(request).select_related("user")


class HashtagInline(_ReadOnlyInline):
    """The hashtags of a post."""

    model = Hashtag
    fields = readonly_fields = ["name"]


class AboutBookFilter(admin.SimpleListFilter):
    """A filter that separates posts about a book from other posts."""

    title = _("book")
    parameter_name = "about"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("book", _("a book")), ("none", _("no book"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Post]) -> QuerySet[Post]:
        if self.value() not in ("book", "none"):
            return queryset
        return queryset.filter(book__isnull=self.value() == "none")


@admin.register(Post)
class PostAdmin(BigTableAdmin):
    """Staff search posts here, open cases about them, and show hidden ones again."""

    list_display = ["excerpt", "author", "about", "created_at", "status"]
    list_filter = ["is_hidden", "kind", AboutBookFilter]
    linked_lookups = ["user__id__exact", "book__id__exact"]  # links in the list and on a user's page
    list_select_related = ["user", "book"]
    search_fields = ["text"]
    search_help_text = _("words from the last 50,000 posts, @name, #hashtag, or the number of a post")
    fields = ["text", "kind", "user", "book", "created_at", "is_hidden", "is_pulled"]
    readonly_fields = ["text", "kind", "user", "created_at", "is_hidden", "is_pulled"]
    autocomplete_fields = ["book"]
    inlines = [MentionInline, HashtagInline]
    actions = ["open_cases", "unhide"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Post], search_term: str
    ) -> tuple[QuerySet[Post], bool]:
        """Search by author, hashtag or id through an index; search for words in the newest posts only."""
        term = search_term.strip()
        if term.startswith(("@", "＠")):
            author = User.objects.filter(name_key=fold(term[1:])).values_list("pk", flat=True).first()
            return queryset.filter(user=author or 0), False
        if term.startswith(("#", "＃")) and (name := fold_hashtag(term[1:])):
            return queryset.filter(hashtags__name=name), False
        if (number := parse_id(term)) is not None:
            return queryset.filter(pk=number), False
        newest = Post.objects.order_by("-pk").values_list("pk", flat=True).first() if term else None
        if newest is not None:
            queryset = queryset.filter(pk__gt=newest - MAX_SEARCHED_POSTS)
        return super().get_search_results(request, queryset, search_term)

    def save_model(self, request: HttpRequest, obj: Post, form: ModelForm, change: bool) -> None:
        if "book" in form.changed_data:
            obj.save(update_fields=["book"])

    def has_delete_permission(self, request: HttpRequest, obj: Post | None = None) -> bool:
        return False

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Return whether the request's user decides cases."""
        return bool(request.user.has_perm("moderation.change_case"))

    @display(description=_("post"))
    def excerpt(self, post: Post) -> str:
        # A rating has no text, and a link without one could not be opened.
        if not post.text:
            return post.get_kind_display()
        return post.text if len(post.text) <= MAX_SHOWN_CHARACTERS else f"{post.text[:MAX_SHOWN_CHARACTERS].rstrip()}…"

    @display(description=_("author"))
    def author(self, post: Post) -> SafeString:
        return _link_to_posts("user", post.user_id, post.user.username)

    @display(description=_("book"))
    def about(self, post: Post) -> SafeString | str:
        return _link_to_posts("book", post.book_id, post.book.title) if post.book else "–"

    @display(description=_("status"), label={"hidden": "danger", "fetched": "info", "shown": "success"})
    def status(self, post: Post) -> tuple[str, Any]:
        """Return whether the post is visible and how its readers receive it."""
        if post.is_hidden:
            return "hidden", _("hidden")
        return ("fetched", _("pulled")) if post.is_pulled else ("shown", _("visible"))

    @admin.action(description=_("Open cases about selected posts"), permissions=["decide"])
    def open_cases(self, request: HttpRequest, rows: QuerySet[Post]) -> HttpResponse | None:
        found = self.chosen(request, rows.select_related("user"))
        by = Reporter(request.user.pk)
        reports = [report_target(make_post_target(one), by, Reason.OTHER, is_confirmed=False) for one in found]
        self.log(request, found, CHANGE, gettext("Case opened."))
        if len(reports) == 1:
            return redirect_to(reverse("admin:moderation_case_change", args=[reports[0].case_id]))
        self.done(request, ngettext("%(n)d case is open.", "%(n)d cases are open.", len(found)), len(found))
        return redirect_to(reverse("admin:moderation_case_changelist")) if found else None

    @admin.action(description=_("Show selected posts again"), permissions=["change"])
    def unhide(self, request: HttpRequest, rows: QuerySet[Post]) -> None:
        found = [post for post in self.chosen(request, rows) if posts.unhide_post(post.pk)]
        self.log(request, found, CHANGE, gettext("Visible again."))
        text = ngettext("%(n)d post is visible again.", "%(n)d posts are visible again.", len(found))
        self.done(request, text, len(found))


def _link_to_posts(column: str, pk: int | None, name: str) -> SafeString:
    """Return a link to the posts of one author or about one book."""
    address = reverse("admin:social_post_changelist")
    return format_html('<a class="underline" href="{}?{}__id__exact={}">{}</a>', address, column, pk, name)
