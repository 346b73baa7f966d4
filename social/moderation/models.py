"""Cases, the reports in them, decisions about them, and appeals.

A case collects the reports of one target, a post for example, until staff decide about it. It has no foreign key to the
target, because it outlives it.
"""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext_lazy as _

KEY_LENGTH: Final = 22  # characters; nobody guesses the address of a report or of a decision
MAX_DETAILS: Final = 4_000  # characters of a text that visitors or staff write
MAX_RULE: Final = 200


def new_key() -> str:
    """Return a random key for an address: a new ``SECRET_KEY`` would end signed ones, and the time for appeals."""
    return get_random_string(KEY_LENGTH)


class Kind(models.TextChoices):
    """What may be reported."""

    POST = "post", _("post")
    READER = "reader", _("reader")
    HASHTAG = "hashtag", _("hashtag")
    TAG = "tag", _("tag")
    LIST = "list", _("list of books")


# What has an author. In these cases no author means that the account is deleted.
AUTHORED_KINDS: Final = (Kind.POST, Kind.READER, Kind.LIST)


class Reason(models.TextChoices):
    """Why something is reported."""

    SPAM = "spam", _("Spam or advertising")
    HARASSMENT = "harassment", _("Insult or harassment")
    HATE = "hate", _("Hatred of a group of people")
    VIOLENCE = "violence", _("Threat or call for violence")
    IMPERSONATION = "impersonation", _("Pretends to be somebody else")
    ILLEGAL = "illegal", _("Illegal content")
    CHILD = "child", _("Sexual abuse of children")
    OTHER = "other", _("Another violation of the terms")


class Severity(models.IntegerChoices):
    """How urgent a case is."""

    LOW = 1, _("low")
    MEDIUM = 2, _("medium")
    HIGH = 3, _("high")


SEVERITIES: Final = {
    Reason.HARASSMENT: Severity.MEDIUM,
    Reason.HATE: Severity.MEDIUM,
    Reason.ILLEGAL: Severity.HIGH,
    Reason.VIOLENCE: Severity.HIGH,
    Reason.CHILD: Severity.HIGH,
}


class Action(models.TextChoices):
    """What staff decide."""

    DISMISS = "dismiss", _("Dismiss")
    WARN = "warn", _("Warn")
    HIDE = "hide", _("Hide")
    DELETE = "delete", _("Delete")
    SUSPEND = "suspend", _("Suspend")
    CLOSE_ACCOUNT = "close", _("Delete the account")


class Basis(models.TextChoices):
    """What a decision is based on."""

    TERMS = "terms", _("our terms")
    LAW = "law", _("law")


class Outcome(models.TextChoices):
    """The result of an appeal."""

    GRANTED = "granted", _("granted")
    REJECTED = "rejected", _("rejected")


class Case(models.Model):
    """The reports of one target until a decision. A granted appeal of a reporter opens it again."""

    kind = models.CharField(_("kind"), max_length=8, choices=Kind)
    target = models.CharField(_("target"), max_length=200)  # the id, or the name of a hashtag or tag
    # Whoever wrote the post or made the list, or the reported reader. None after the deletion of the account.
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("author"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
    )
    severity = models.PositiveSmallIntegerField(_("severity"), choices=Severity, default=Severity.LOW)
    opened_at = models.DateTimeField(_("opened"), default=timezone.now)
    closed_at = models.DateTimeField(_("decided"), null=True, blank=True)

    class Meta:
        verbose_name = _("case")
        verbose_name_plural = _("cases")
        constraints = [
            models.UniqueConstraint(fields=["kind", "target"], condition=Q(closed_at=None), name="moderation_open_once")
        ]
        indexes = [
            models.Index(
                fields=["-severity", "opened_at", "-id"], condition=Q(closed_at=None), name="moderation_queue"
            ),
            models.Index(fields=["kind", "target", "-id"], name="moderation_of_target"),
            models.Index(fields=["author", "-id"], name="moderation_of_author"),
            models.Index(fields=["closed_at"], name="moderation_closed"),
        ]

    @property
    def is_author_gone(self) -> bool:
        """Return whether the account of the author is deleted."""
        return self.author_id is None and self.kind in AUTHORED_KINDS

    def __str__(self) -> str:
        # Without names: the admin's log keeps this text after the deletion of an account.
        return str(_("case %(number)d")) % {"number": self.pk}


class Report(models.Model):
    """A report by a reader, or by a visitor with name and address."""

    case = models.ForeignKey(Case, verbose_name=_("case"), on_delete=models.CASCADE, related_name="reports")
    reporter = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reporter"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
    )
    name = models.CharField(_("name"), max_length=100, blank=True)
    email = models.EmailField(_("email address"), blank=True)
    reason = models.CharField(_("reason"), max_length=13, choices=Reason)
    details = models.TextField(_("explanation"), blank=True, max_length=MAX_DETAILS)
    copy = models.TextField(_("reported text"), blank=True)  # the author may edit or delete it
    language = models.CharField(_("language"), max_length=10, blank=True)
    created_at = models.DateTimeField(_("reported"), default=timezone.now)
    key = models.CharField(_("key"), max_length=KEY_LENGTH, unique=True, default=new_key, editable=False)

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("reports")
        constraints = [
            models.UniqueConstraint(
                fields=["case", "reporter"], condition=Q(reporter__isnull=False), name="moderation_report_once"
            )
        ]
        indexes = [models.Index(fields=["reporter", "-id"], name="moderation_by_reporter")]

    def __str__(self) -> str:
        return str(_("report %(number)d")) % {"number": self.pk}


class Decision(models.Model):
    """A decision of staff about a case, with the reasons that its author reads."""

    case = models.ForeignKey(Case, verbose_name=_("case"), on_delete=models.CASCADE, related_name="decisions")
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("decided by"), on_delete=models.SET_NULL, null=True, related_name="+"
    )
    action = models.CharField(_("decision"), max_length=8, choices=Action)
    hides_post = models.BooleanField(_("hides the post"), default=False)
    basis = models.CharField(_("based on"), max_length=5, choices=Basis)
    rule = models.CharField(_("rule or law"), max_length=MAX_RULE, blank=True)
    facts = models.TextField(_("facts"), blank=True, max_length=MAX_DETAILS)
    made_at = models.DateTimeField(_("time"), default=timezone.now)
    ends_at = models.DateTimeField(_("end of the suspension"), null=True, blank=True)
    reversed_at = models.DateTimeField(_("reversed"), null=True, blank=True)
    key = models.CharField(_("key"), max_length=KEY_LENGTH, unique=True, default=new_key, editable=False)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")

    def __str__(self) -> str:
        return str(_("decision %(number)d")) % {"number": self.pk}


class Appeal(models.Model):
    """An objection to a decision, by the author or (with ``report``) by a reporter."""

    decision = models.ForeignKey(
        Decision, verbose_name=_("decision"), on_delete=models.CASCADE, related_name="appeals", db_index=False
    )
    report = models.ForeignKey(
        Report, verbose_name=_("report"), on_delete=models.CASCADE, null=True, blank=True, related_name="appeals"
    )
    text = models.TextField(_("text"), max_length=MAX_DETAILS)
    language = models.CharField(_("language"), max_length=10, blank=True)
    made_at = models.DateTimeField(_("time"), default=timezone.now)
    outcome = models.CharField(_("result"), max_length=8, choices=Outcome, blank=True)
    answer = models.TextField(_("answer"), blank=True, max_length=MAX_DETAILS)
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("decided by"), on_delete=models.SET_NULL, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)

    class Meta:
        verbose_name = _("appeal")
        verbose_name_plural = _("appeals")
        constraints = [
            models.UniqueConstraint(
                fields=["decision"], condition=Q(report=None), name="moderation_appeal_of_author_once"
            ),
            models.UniqueConstraint(fields=["decision", "report"], name="moderation_appeal_once"),
        ]
        indexes = [
            models.Index(fields=["made_at", "-id"], condition=Q(decided_at=None), name="moderation_open_appeals")
        ]

    def __str__(self) -> str:
        return str(_("appeal %(number)d")) % {"number": self.pk}
