"""What staff see of a case: the content as it is now, its thread, the reports, and the history of both sides."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from catalog.lists.models import ReadingList
from catalog.models import Tag
from common.paths import make_path
from social.models import Post
from social.moderation.models import Action, Appeal, Case, Decision, Kind, Report
from social.moderation.selectors import ReporterHistory, read_reporter_histories
from social.reviews.models import Review

MAX_REPORTS: Final = 50
MAX_ABOVE: Final = 5  # posts above the reported one, and replies to it
MAX_POSTS: Final = 10  # newest posts of a reader, or with a hashtag
MAX_HISTORY: Final = 20


class ShownPost(NamedTuple):
    """A post with its whole text, and whether it is the reported one."""

    post: Post
    text: str
    is_reported: bool = False

    @property
    def path(self) -> str:
        """Return the path of the post in the admin."""
        return reverse("admin:social_post_change", args=[self.post.pk])

    @property
    def page_path(self) -> str:
        """Return the path of the post's own page."""
        return make_path("social:post", self.post.pk)

    @property
    def history_path(self) -> str:
        """Return the path of the former versions."""
        return make_path("social:post_history", self.post.pk)

    @property
    def report_path(self) -> str:
        """Return the path of the form with which staff open a case about the post."""
        return make_path("moderation:report", Kind.POST.value, self.post.pk)


class ShownReport(NamedTuple):
    """A report, and what became of the reporter's other reports."""

    report: Report
    history: ReporterHistory


class CasePage:
    """The values of the template of a case. posts: the reported post in its thread, or the newest posts of the target.

    is_missing: the reported post or list does not exist any more.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.posts = _find_posts(case)
        self.list = ReadingList.objects.filter(pk=int(case.target)).first() if case.kind == Kind.LIST else None
        is_there = self.list is not None or any(shown.is_reported for shown in self.posts)
        self.is_missing = case.kind in (Kind.POST, Kind.LIST) and not is_there
        self.reports = _find_reports(case)
        self.decisions = list(case.decisions.select_related("staff").order_by("-pk"))
        self.appeals = list(Appeal.objects.filter(decision__case=case).order_by("-pk"))
        self.history = _find_history(case)

    @property
    def title(self) -> str:
        """Return what was reported."""
        return describe_target(self.case)

    @property
    def list_path(self) -> str:
        """Return the path of the list's page, or ""."""
        return make_path("social:list", self.list.pk) if self.list else ""

    @property
    def tag_path(self) -> str:
        """Return the path of the tag's page in the admin, or ""."""
        tag = Tag.objects.filter(name=self.case.target).first() if self.case.kind == Kind.TAG else None
        return reverse("admin:catalog_tag_change", args=[tag.pk]) if tag else ""


def describe_target(case: Case) -> str:
    """Return what was reported, for staff."""
    match case.kind:
        case Kind.POST:
            name = case.author.username if case.author else "–"
            return _("Post by %(name)s") % {"name": name}
        case Kind.READER:
            return case.author.username if case.author else "–"
        case Kind.HASHTAG:
            return f"#{case.target}"
        case Kind.LIST:
            name = case.author.username if case.author else "–"
            return _("List by %(name)s") % {"name": name}
    return case.target


def _find_posts(case: Case) -> list[ShownPost]:
    posts = Post.objects.select_related("user")
    match case.kind:
        case Kind.POST:
            return _find_thread(int(case.target))
        case Kind.READER:
            found = posts.filter(user=case.author_id) if case.author_id else posts.none()
        case Kind.HASHTAG:
            found = posts.filter(hashtags__name=case.target)
        case _:
            return []
    return _read_texts(found.order_by("-pk")[:MAX_POSTS], None)


def _find_thread(post_id: int) -> list[ShownPost]:
    """Return the reported post, hidden or not, between the nearest posts above it and its first replies."""
    posts = Post.objects.select_related("user")
    # From SQL and not as readers see it: staff decide about hidden posts, and those of suspended authors, as well.
    post = posts.filter(pk=post_id).first()
    above = post.ancestors.split()[-MAX_ABOVE:] if post else []
    replies = posts.filter(parent_id=post_id).order_by("pk")[:MAX_ABOVE]
    return _read_texts([*posts.filter(pk__in=above).order_by("pk"), *([post] if post else []), *replies], post_id)


def _read_texts(posts: Iterable[Post], reported: int | None) -> list[ShownPost]:
    """Return posts with their whole texts: those of reviews have only the beginning. reported: the reported post."""
    found = list(posts)
    reviews = Review.objects.filter(pk__in=[post.pk for post in found]).exclude(text="")
    texts = dict(reviews.values_list("pk", "text"))
    return [ShownPost(post, texts.get(post.pk, post.text), post.pk == reported) for post in found]


def _find_reports(case: Case) -> list[ShownReport]:
    reports = list(case.reports.select_related("reporter").order_by("pk")[:MAX_REPORTS])
    histories = read_reporter_histories({report.reporter_id for report in reports if report.reporter_id})
    return [ShownReport(report, histories.get(report.reporter_id or 0, ReporterHistory())) for report in reports]


def _find_history(case: Case) -> QuerySet[Decision]:
    """Return the newest decisions about the same author, or about the same tag or hashtag, in other cases."""
    others = Decision.objects.exclude(case=case).select_related("case", "staff").order_by("-pk")
    if case.author_id:
        return others.filter(case__author=case.author_id)[:MAX_HISTORY]
    return others.filter(case__kind=case.kind, case__target=case.target)[:MAX_HISTORY]


def count_sanctions(case: Case) -> int:
    """Return how many decisions about the author were not dismissals, and were not reversed."""
    if not case.author_id:
        return 0
    return Decision.objects.filter(case__author=case.author_id, reversed_at=None).exclude(action=Action.DISMISS).count()
