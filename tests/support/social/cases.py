"""Reports, cases and decisions for tests of moderation."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.core.mail import EmailMultiAlternatives
from django.test import Client

from accounts.models import User
from config.roles import make_roles
from social.models import Post
from social.moderation.models import Action, Appeal, Basis, Case, Decision, Kind, Reason, Report
from social.moderation.services.appeals import appeal_decision
from social.moderation.services.decisions import Ruling, decide_case
from social.moderation.services.reports import Reporter, report_target
from social.moderation.targets import find_target
from social.services.posts import create_post
from tests.support.accounts.mail import deliver_emails


class Dispute:
    """alice has written a post, which bob reports to the moderators carol and dora."""

    def __init__(self) -> None:
        make_roles(Group, Permission, ["moderator"])  # the flush of transactional tests deletes the groups
        self.alice, self.bob = (make_reader(name) for name in ("alice", "bob"))
        self.carol, self.dora = (make_moderator(name) for name in ("carol", "dora"))
        self.post: Post = create_post(self.alice.pk, "You are all fools <b>")

    def report(self, reporter: User | None = None, reason: Reason = Reason.HARASSMENT, **fields: str) -> Report:
        return make_report(Kind.POST, str(self.post.pk), Reporter((reporter or self.bob).pk), reason, **fields)

    def decide(self, action: Action, case: Case | None = None, by: User | None = None, **fields: Any) -> Decision:
        """Decide a case, by default the only one, by carol."""
        return decide(case or Case.objects.get(), action, by or self.carol, **fields)

    def appeal(self, action: Action = Action.HIDE, **fields: Any) -> Appeal:
        """Report and decide, and let alice appeal."""
        self.report()
        return appeal_decision(self.decide(action, **fields), "It was a joke.")


def make_reader(name: str) -> User:
    return User.objects.create_user(name, email=f"{name}@example.org")


def make_moderator(name: str) -> User:
    user = User.objects.create_user(name, email=f"{name}@example.org", is_staff=True)
    user.groups.add(Group.objects.get(name="moderator"))
    return user


def make_report(
    kind: Kind, target: str, reporter: Reporter, reason: Reason = Reason.SPAM, details: str = "Insults us."
) -> Report:
    found = find_target(kind, target, reporter.user_id)
    assert found is not None
    return report_target(found, reporter, reason, details)


def decide(case: Case, action: Action, by: User, **fields: Any) -> Decision:
    given: dict[str, Any] = {"basis": Basis.TERMS, "facts": "The post insults readers.", "days": 7}
    return decide_case(case.pk, Ruling(action, **(given | fields)), by=by)


def enter(user: User) -> Client:
    """Return a browser in which the user is logged in."""
    client = Client()
    client.force_login(user)
    return client


def deliver() -> list[EmailMultiAlternatives]:
    """Send the emails that wait, as a worker would, and return them."""
    return deliver_emails(start="moderation.")
