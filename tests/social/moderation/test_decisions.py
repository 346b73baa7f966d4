"""Decisions: every action, what it does, the reasons for the author, and the answer to the reporters."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from accounts.deletion import request_deletion
from accounts.deletion.tokens import make_token
from accounts.models import AccountDeletion, Suspension, User
from accounts.notifications.models import Notification
from catalog.lists.models import ReadingList
from catalog.lists.services import ListDraft, create_list, delete_list
from catalog.lists.undo import restore_snapshot, snapshot_list
from catalog.models import Tag
from catalog.shelves.snapshots import NotUndoable
from mirror.relay.drains import drain_all
from social.models import Post
from social.moderation.models import Action, Basis, Case, Decision, Kind, Reason
from social.moderation.services.decisions import list_actions
from social.moderation.services.errors import AccountAlreadyInactive, AlreadyDecided, NotAllowed, TargetMissing
from social.moderation.services.reports import Reporter
from social.moderation.tasks import send_email
from social.services.posts import hide_post
from tests.support.accounts.mail import deliver_emails
from tests.support.accounts.sessions import PASSWORD
from tests.support.social.cases import Dispute, decide, deliver, enter, make_moderator, make_reader, make_report
from tests.support.social.notifications import read_sentences
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


def read(client: Client, decision: Decision) -> str:
    response = client.get(f"/decisions/{decision.key}/")
    assert response.status_code == 200
    return response.content.decode()


def test_a_dismissed_case_tells_only_the_reporters(dispute: Dispute) -> None:
    report = dispute.report()
    decision = dispute.decide(Action.DISMISS)
    assert [(letter.to, letter.subject) for letter in deliver()] == [
        (["bob@example.org"], f"We got your report {report.pk}"),
        (["bob@example.org"], f"We decided about your report {report.pk}"),
    ]
    assert "We found no violation" in enter(dispute.bob).get(f"/reports/{report.key}/").content.decode()
    assert enter(dispute.alice).get(f"/decisions/{decision.key}/").status_code == 404
    assert Post.objects.get().is_hidden is False


def test_the_author_is_notified_also_without_an_address(dispute: Dispute) -> None:
    User.objects.filter(pk=dispute.alice.pk).update(email="")
    rebuild()
    assert read_sentences(dispute.alice) == []
    dispute.report()
    dispute.decide(Action.DISMISS)
    assert read_sentences(dispute.alice) == []
    dispute.report()
    decision = dispute.decide(Action.WARN, Case.objects.get(closed_at=None))
    assert read_sentences(dispute.alice) == ["We made a decision about you or what you wrote."]
    client = enter(dispute.alice)
    opened = client.get(f"/notifications/{Notification.objects.get().pk}/")
    assert opened.headers["Location"] == "/reports/"
    assert f"/decisions/{decision.key}/" in client.get("/reports/").content.decode()
    assert read_sentences(dispute.bob) == []


def test_a_warning_leaves_the_post(dispute: Dispute) -> None:
    dispute.report()
    page = read(enter(dispute.alice), dispute.decide(Action.WARN))
    assert "We warn you because of your post." in page
    assert Post.objects.get().is_hidden is False


def test_a_hidden_post_disappears(dispute: Dispute) -> None:
    dispute.report()
    decision = dispute.decide(Action.HIDE)
    drain_all()
    assert Client().get(f"/posts/{dispute.post.pk}/").status_code == 404
    assert "We hid your post." in read(enter(dispute.alice), decision)


def test_a_post_that_is_hidden_already_stays_hidden(dispute: Dispute) -> None:
    dispute.report()
    hide_post(dispute.post.pk)
    dispute.decide(Action.HIDE)
    assert Post.objects.get().is_hidden


def test_a_deleted_post_is_gone_and_its_text_is_in_the_reasons(dispute: Dispute) -> None:
    dispute.report()
    decision = dispute.decide(Action.DELETE)
    assert not Post.objects.exists()
    page = read(enter(dispute.alice), decision)
    assert "We deleted your post." in page
    assert "You are all fools &lt;b&gt;" in page


@pytest.mark.parametrize("hides_post", [False, True])
def test_a_suspended_reader_reads_the_reasons_without_a_login(dispute: Dispute, hides_post: bool) -> None:
    User.objects.filter(pk=dispute.alice.pk).update(password=make_hash(dispute.alice))
    dispute.report()
    decision = dispute.decide(Action.SUSPEND, days=7, hides_post=hides_post)
    assert decision.ends_at is not None
    assert abs(decision.ends_at - timezone.now() - timedelta(days=7)) < timedelta(minutes=1)
    assert Suspension.objects.get().ends_at == decision.ends_at
    assert Post.objects.get().is_hidden is hides_post
    login = Client().post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert f'href="/decisions/{decision.key}/"' in login.content.decode()
    page = read(Client(), decision)
    assert "We suspended your account. Until " in page
    assert ("We hid your post." in page) is hides_post


def make_hash(user: User) -> str:
    user.set_password(PASSWORD)
    return user.password


def test_a_deleted_account_has_the_grace_period(dispute: Dispute) -> None:
    make_admin(dispute.carol)
    carol = User.objects.get(pk=dispute.carol.pk)
    make_report(Kind.READER, str(dispute.alice.pk), Reporter(dispute.bob.pk))
    decision = dispute.decide(Action.CLOSE_ACCOUNT, by=carol)
    assert AccountDeletion.objects.get().user == dispute.alice
    assert "We will delete your account" in read(Client(), decision)


def test_only_an_appeal_keeps_an_account_that_staff_close(dispute: Dispute) -> None:
    User.objects.filter(pk=dispute.alice.pk).update(password=make_hash(dispute.alice))
    alice = User.objects.get(pk=dispute.alice.pk)
    dispute.report()
    request_deletion(alice)
    alice.refresh_from_db()
    token = make_token(alice)  # of the offer to keep the account, which alice has opened before the decision
    deliver_emails()
    make_admin(dispute.carol)
    decision = dispute.decide(Action.CLOSE_ACCOUNT, by=User.objects.get(pk=dispute.carol.pk))
    # The email of the decision tells it. This one would offer to keep the account.
    assert deliver_emails() == []
    login = Client().post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    page = login.content.decode()
    assert login.status_code == 403
    assert "Your account will be deleted on" in page
    assert "If you appeal before that day, nothing is deleted until staff have decided." in page
    assert f'href="/decisions/{decision.key}/"' in page
    assert "Keep account" not in page
    Client().post("/accounts/keep/", {"token": token})
    assert AccountDeletion.objects.filter(user=alice).exists()
    assert not User.objects.get(pk=alice.pk).is_active


def make_admin(user: User) -> None:
    user.user_permissions.add(find_permission("delete_user"))


def find_permission(codename: str) -> Permission:
    return Permission.objects.get(codename=codename)


def test_a_tag_is_hidden(dispute: Dispute) -> None:
    dispute.carol.user_permissions.add(find_permission("change_tag"))
    carol = User.objects.get(pk=dispute.carol.pk)
    Tag.objects.create(name="moss")
    rebuild()
    make_report(Kind.TAG, "moss", Reporter(dispute.bob.pk))
    dispute.decide(Action.HIDE, by=carol)
    assert Tag.objects.get().hidden


def test_a_tag_that_was_renamed_is_not_hidden_by_its_former_name(dispute: Dispute) -> None:
    Tag.objects.create(name="moss")
    rebuild()
    case = make_report(Kind.TAG, "moss", Reporter(dispute.bob.pk)).case
    Tag.objects.update(name="lichen")
    with pytest.raises(TargetMissing):
        dispute.decide(Action.HIDE)
    assert not Decision.objects.filter(case=case).exists()  # the case stays open


def test_a_list_is_deleted_and_the_appeal_cannot_restore_it(dispute: Dispute) -> None:
    made = create_list(dispute.alice.pk, ListDraft("Fools", "All of them"))
    undo = snapshot_list(dispute.alice.pk, made.pk)
    delete_list(dispute.alice.pk, made.pk)
    restore_snapshot(dispute.alice.pk, made.pk, undo)
    rebuild()
    case = make_report(Kind.LIST, str(made.pk), Reporter(dispute.bob.pk)).case
    page = enter(dispute.carol).get(f"/admin/moderation/case/{case.pk}/change/").content.decode()
    for wanted in ("List by alice", f'href="/lists/{made.pk}/"', "All of them"):
        assert wanted in page
    decision = dispute.decide(Action.DELETE)
    assert not ReadingList.objects.exists()
    with pytest.raises(NotUndoable):  # the reader kept the form of an earlier deletion
        restore_snapshot(dispute.alice.pk, made.pk, undo)
    assert not ReadingList.objects.exists()
    letter = next(letter for letter in deliver() if letter.to == ["alice@example.org"])
    assert letter.subject == "We decided about your list on Diptych"
    for text in (read(enter(dispute.alice), decision), str(letter.body)):
        assert "We deleted your list." in text
    made = create_list(dispute.alice.pk, ListDraft("Fools again"))
    rebuild()
    case = make_report(Kind.LIST, str(made.pk), Reporter(dispute.bob.pk)).case
    made.delete()
    with pytest.raises(TargetMissing):
        dispute.decide(Action.DELETE, case)
    decision = dispute.decide(Action.WARN, case)
    assert "We warn you because of your list." in read(enter(dispute.alice), decision)


def test_the_reasons_name_facts_basis_and_redress_but_no_reporter(dispute: Dispute) -> None:
    dispute.report(details="A secret of bob")
    decision = dispute.decide(Action.WARN, basis=Basis.LAW, rule="§ 185 StGB", facts="It says <fools>.")
    page = read(enter(dispute.alice), decision)
    letter = next(letter for letter in deliver() if letter.to == ["alice@example.org"])
    for text in (page, str(letter.body)):
        for wanted in ("§ 185 StGB", "The law: we consider it illegal.", "out-of-court dispute settlement"):
            assert wanted in text
        assert "bob" not in text.replace("combobox", "")
        assert "A secret" not in text
    assert "It says &lt;fools&gt;." in page
    assert "It says <fools>." in str(letter.body)
    assert "without automated means" in page
    assert "Somebody reported it." in page
    assert 'name="details"' in page  # the appeal
    assert f"/decisions/{decision.key}/" in str(letter.body)


def test_staff_who_report_and_decide_act_for_the_site(dispute: Dispute) -> None:
    dispute.report(dispute.carol)
    assert "We found it ourselves." in read(enter(dispute.alice), dispute.decide(Action.WARN))


def test_a_case_is_decided_once(dispute: Dispute) -> None:
    case = dispute.report().case
    dispute.decide(Action.WARN)
    with pytest.raises(AlreadyDecided):
        decide(case, Action.HIDE, dispute.dora)
    assert Post.objects.get().is_hidden is False


def test_a_missing_post_is_neither_hidden_nor_deleted_but_its_author_is_warned(dispute: Dispute) -> None:
    case = dispute.report().case
    dispute.post.delete()
    for action in (Action.HIDE, Action.DELETE):
        with pytest.raises(TargetMissing):
            decide(case, action, dispute.carol)
    assert not Decision.objects.exists()
    decide(case, Action.WARN, dispute.carol)


def test_an_account_that_staff_deactivated_is_not_suspended(dispute: Dispute) -> None:
    case = dispute.report().case
    User.objects.filter(pk=dispute.alice.pk).update(is_active=False)
    with pytest.raises(AccountAlreadyInactive):
        decide(case, Action.SUSPEND, dispute.carol, hides_post=True)
    assert Post.objects.get().is_hidden is False
    assert not Decision.objects.exists()


def test_staff_decide_what_their_permissions_allow(dispute: Dispute) -> None:
    case = dispute.report().case
    superuser = User.objects.create_superuser("zoe")
    everything = list(Action)
    assert list_actions(case, dispute.carol) == [
        Action.DISMISS, Action.HIDE, Action.DELETE, Action.WARN, Action.SUSPEND,
    ]  # fmt: skip
    assert set(list_actions(case, superuser)) == set(everything)
    assert list_actions(case, dispute.bob) == [Action.DISMISS, Action.WARN]  # the page is for staff alone
    with pytest.raises(NotAllowed):
        decide(case, Action.CLOSE_ACCOUNT, dispute.carol)


def test_nobody_decides_about_themselves_and_only_superusers_about_staff(dispute: Dispute) -> None:
    erin = make_moderator("erin")
    case = make_report(Kind.READER, str(erin.pk), Reporter(dispute.bob.pk)).case
    assert list_actions(case, erin) == []
    assert list_actions(case, dispute.carol) == [Action.DISMISS]
    assert Action.SUSPEND in list_actions(case, User.objects.create_superuser("zoe"))
    for by, action in ((erin, Action.DISMISS), (dispute.carol, Action.WARN), (dispute.carol, Action.SUSPEND)):
        with pytest.raises(NotAllowed):
            decide(case, action, by)


def test_authors_read_the_reasons_in_their_language(dispute: Dispute) -> None:
    User.objects.filter(pk=dispute.alice.pk).update(language="zh-hans")
    case = dispute.report().case
    deliver()
    with override("en"):
        decide(case, Action.WARN, dispute.carol)
    letters = {letter.to[0]: letter.subject for letter in deliver()}
    assert "帖子" in letters["alice@example.org"]
    assert "帖子" not in letters["bob@example.org"]


def test_all_reporters_learn_the_result_in_their_language(dispute: Dispute) -> None:
    dispute.report()
    erin = make_reader("erin")
    report = dispute.report(erin)
    type(report).objects.filter(pk=report.pk).update(language="zh-hans")
    deliver()
    dispute.decide(Action.HIDE)
    subjects = {letter.to[0]: letter.subject for letter in deliver()}
    assert set(subjects) == {"alice@example.org", "bob@example.org", "erin@example.org"}
    assert subjects["bob@example.org"].startswith("We decided")
    assert subjects["erin@example.org"] == f"我们已处理你的举报 {report.pk}"


def test_forged_messages_of_the_broker_send_nothing(dispute: Dispute) -> None:
    report = dispute.report()
    deliver()
    assert [send_email(about, report.pk, "en") for about in ("result", "decision", "appeal", "nonsense")] == [0] * 4
    assert send_email("received", 0, "en") == 0


def test_cases_of_one_target_follow_one_another(dispute: Dispute) -> None:
    dispute.report()
    dispute.decide(Action.DISMISS)
    dispute.report(reason=Reason.SPAM)
    assert Case.objects.filter(closed_at=None).count() == 1
    assert Case.objects.count() == 2
