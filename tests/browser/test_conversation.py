"""Replies, likes, notifications, reports and decisions: by keyboard, in both languages, with JavaScript and without."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.notifications.emails.unsubscribing import Subscription, make_link
from accounts.notifications.models import Way
from accounts.notifications.services import get_ways, set_ways
from mirror.relay.drains import drain_all
from social.models import Follow, Like
from social.moderation.models import Action, Appeal, Decision, Outcome, Reason, Report
from tests.browser.conftest import PHONE, Audit, Look, OpenPage, tab_to
from tests.browser.test_admin import FOREIGN
from tests.browser.test_loginlog import sign_in
from tests.support.social.cases import Dispute
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
MOST_STEPS: Final = 150
Role = Literal["button", "link", "radio", "combobox", "textbox", "checkbox"]


class Setting(NamedTuple):
    """How all visitors of a walk browse."""

    language: str
    has_scripts: bool
    look: Look


# With scripts, where axe runs, each language, width and scheme; without scripts, the narrow page.
SETTINGS: Final = (
    Setting("en", True, (390, "light")),
    Setting("zh-hans", True, (1280, "dark")),
    Setting("zh-hans", False, (390, "dark")),
)


class Visitor:
    """A reader or a member of staff who uses only the keyboard."""

    def __init__(self, page: Page, setting: Setting, audit: Audit) -> None:
        self.page, self.setting, self.audit = page, setting, audit

    def focus(self, role: Role, name: str) -> Locator:
        """Press Tab until the element has the focus."""
        target = self.page.get_by_role(role, name=name).first
        tab_to(self.page, target, most=MOST_STEPS)
        return target

    def press(self, role: Role, name: str, key: str = "Enter") -> None:
        self.focus(role, name)
        self.page.keyboard.press(key)

    def type(self, name: str, text: str) -> None:
        """Replace the text of a field."""
        self.focus("textbox", name)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def follow(self, path: str) -> None:
        """Open the first row of the list with this path, which the home page of the admin links to."""
        self.page.locator(f"#content a[href^='{path}']:visible").first.press("Enter")
        self.page.locator("#result_list th a").first.press("Enter")

    def unfold(self, name: str, place: int = 0) -> None:
        """Open a part that is closed."""
        tab_to(self.page, self.page.locator("summary").filter(has_text=name).nth(place), most=MOST_STEPS)
        self.page.keyboard.press("Enter")

    def pick(self, first: str, name: str) -> None:
        """Choose from radio buttons, of which Tab reaches the first one, and arrows the others."""
        self.focus("radio", first)
        self.page.keyboard.press("Space")
        target = self.page.get_by_role("radio", name=name).first
        while not target.is_checked():
            self.page.keyboard.press("ArrowDown")

    def choose(self, name: str, value: str) -> None:
        """Choose from a list, whose keys differ by system."""
        self.focus("combobox", name).select_option(value)

    def see(self, *texts: str, foreign: Sequence[str] = ()) -> None:
        """Check that the texts are visible on an accessible page that fits."""
        for text in texts:
            expect(self.page.get_by_text(text).first).to_be_visible()
        # axe needs timers, which pages without JavaScript lack.
        if self.setting.has_scripts:
            assert self.audit(self.page, [self.setting.look], foreign=foreign) == []


class Visitors:
    """Opens the windows of visitors."""

    def __init__(self, open_page: OpenPage, live_server: LiveServer, audit: Audit, setting: Setting) -> None:
        self.open_page, self.server, self.audit, self.setting = open_page, live_server, audit, setting

    def enter(self, user: User, path: str, *, has_scripts: bool = False) -> Visitor:
        """Log a user in and open a page. has_scripts: also in a walk without JavaScript."""
        setting = self.setting._replace(has_scripts=self.setting.has_scripts or has_scripts)
        width, scheme = setting.look
        viewport = PHONE if width == PHONE["width"] else {"width": width, "height": 900}
        page = self.open_page(java_script_enabled=setting.has_scripts, viewport=viewport, color_scheme=scheme)
        page.context.add_cookies(
            [{"name": settings.LANGUAGE_COOKIE_NAME, "value": setting.language, "url": self.server.url}]
        )
        sign_in(page, user, self.server).goto(path)
        return Visitor(page, setting, self.audit)


@pytest.fixture(
    params=SETTINGS, ids=lambda one: f"{one.language} {one.look} {'scripts' if one.has_scripts else 'plain'}"
)
def visitors(request: pytest.FixtureRequest, open_page: OpenPage, live_server: LiveServer, audit: Audit) -> Visitors:
    return Visitors(open_page, live_server, audit, request.param)


@pytest.fixture
def dispute(transactional_db: None) -> Dispute:
    made = Dispute()
    rebuild()
    return made


def test_a_conversation_is_led_and_notified(dispute: Dispute, visitors: Visitors) -> None:
    alice, bob, post = dispute.alice, dispute.bob, dispute.post
    Follow.objects.create(follower=dispute.carol, followee=alice)
    set_ways(alice.pk, {"like": Way.EMAIL})
    with translation.override(visitors.setting.language):
        like = _("Like the post by %(name)s") % {"name": "alice"}
        guest = visitors.enter(bob, f"/posts/{post.pk}/")
        guest.press("button", like)
        expect(guest.page.get_by_role("button", name=like)).to_have_attribute("aria-pressed", "true")
        guest.type(_("Reply to %(name)s") % {"name": "alice"}, "The butler did it, @alice ")
        guest.unfold(_("Content note"))
        guest.type(_("Content note"), "the end")
        guest.press("button", _("Reply"))
        reply = guest.page.get_by_text("The butler did it")
        expect(reply).not_to_be_visible()
        guest.unfold("the end")
        guest.see("The butler did it")
        guest.press("link", _("Edit"))
        guest.type(_("Text"), "The gardener did it, @alice")
        if visitors.setting.has_scripts:
            expect(guest.page.get_by_role("option", name="alice")).to_be_visible()
        guest.press("button", _("Save"))
        guest.press("link", _("edited"))
        guest.unfold("the end", place=1)
        guest.see("The butler did it")
        drain_all()
        # Like, reply and mention, and follower
        author = visitors.enter(alice, "/home/")
        author.press("link", _("Notifications"))
        sentences = [
            _("%(people)s liked your post.") % {"people": "bob"},
            _("%(people)s followed you.") % {"people": "carol"},
            _("%(people)s replied to your post.") % {"people": "bob"},
        ]
        author.see(*sentences)
        unread = author.page.locator(".notification.unread")
        shown = unread.count()
        assert shown >= len(sentences)
        expect(author.page.locator(".bell-count")).to_have_text(str(shown))
        author.press("button", _("Mark all as read"))
        expect(unread).to_have_count(0)
        expect(author.page.locator(".bell-count")).to_have_count(0)
        author.press("link", _("Notification settings"))
        author.see()
        author.choose(_("Someone replies to your post"), Way.OFF)
        author.press("button", _("Save"))
        expect(author.page.get_by_role("status").first).to_be_visible()
        assert get_ways(alice.pk)["reply"] == Way.OFF
        author.page.goto(make_link(Subscription(alice.pk, Way.EMAIL)).removeprefix(settings.SITE_URL))
        author.press("button", pgettext("emails", "Stop"))
        author.see(_("You will not get these emails any more."))
    assert get_ways(alice.pk)["like"] == Way.SITE
    assert Like.objects.filter(user=bob, post=post).exists()


def test_a_report_is_decided_and_the_decision_reversed(dispute: Dispute, visitors: Visitors) -> None:
    alice, bob, carol, dora, post = dispute.alice, dispute.bob, dispute.carol, dispute.dora, dispute.post
    with translation.override(visitors.setting.language):
        reporter = visitors.enter(bob, "/global/")
        reporter.press("link", _("Report the post by %(name)s") % {"name": "alice"})
        reporter.press("button", _("Send report"))
        expect(reporter.page.locator("#id_reason-errors, .errors").first).to_be_visible()
        reporter.choose(_("Reason"), Reason.ILLEGAL)
        reporter.type(_("Explanation"), "It insults us.")
        reporter.press("checkbox", _("I believe in good faith that what I report is accurate and complete."), "Space")
        reporter.press("button", _("Send report"))
        reporter.page.wait_for_url("**/reports/*/")
        report = Report.objects.get()
        reporter.see(_("Report %(number)s") % {"number": report.pk}, "It insults us.")
        # The admin needs JavaScript.
        moderator = visitors.enter(carol, "/admin/", has_scripts=True)
        moderator.follow("/admin/moderation/case/")
        moderator.see("It insults us.", "You are all fools", foreign=FOREIGN)
        moderator.pick(str(Action.DISMISS.label), str(Action.HIDE.label))
        moderator.press("button", _("Decide"))
        moderator.see(_("The author must know the facts."), foreign=FOREIGN)
        moderator.type(_("Facts"), "The post insults readers.")
        moderator.press("button", _("Decide"))
        moderator.page.wait_for_url("**/admin/moderation/case/")
        decision = Decision.objects.get()
        assert (decision.action, decision.staff) == (Action.HIDE, carol)
        drain_all()
        reporter.page.goto(f"/posts/{post.pk}/")
        expect(reporter.page.get_by_text("You are all fools")).to_have_count(0)
        author = visitors.enter(alice, "/notifications/")
        author.see(_("We made a decision about you or what you wrote."))
        author.press("link", pgettext("link of a notification", "Open"))
        author.press("link", _("Decision %(number)s") % {"number": decision.pk})
        author.see(_("We hid your post."), "The post insults readers.")
        author.type(_("Why is the decision wrong?"), "It was a joke.")
        author.press("button", _("Send appeal"))
        author.see(_("A member of staff will decide it."))
        judge = visitors.enter(dora, "/admin/", has_scripts=True)
        judge.follow("/admin/moderation/appeal/")
        judge.see("It was a joke.", foreign=FOREIGN)
        judge.type(_("Answer"), "It was one.")
        judge.pick(str(Outcome.GRANTED.label), str(Outcome.GRANTED.label))
        judge.press("button", _("Decide"))
        judge.page.wait_for_url("**/admin/moderation/appeal/")
        assert Appeal.objects.get().staff == dora
        author.page.reload()
        author.see(_("This decision was reversed."), _("Your appeal was granted."), "It was one.")
        drain_all()
        reporter.page.goto(f"/posts/{post.pk}/")
        reporter.see("You are all fools")
        reporter.page.goto(reverse("moderation:notices"))
        reporter.see(_("reversed after an appeal"))
