"""Decisions about cases: the rights of staff, the effects of a decision, and its reversal."""

from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.dispatch import receiver

from accounts.admin_tools import is_guarded_from
from accounts.deletion import request_deletion, reverse_deletion
from accounts.models import Suspension, User
from accounts.suspension import AccountInactive, lift_suspension, suspend_user
from accounts.users import get_email_language
from catalog.lists.services import delete_list
from catalog.models import Tag
from catalog.shelves.snapshots import NotUndoable
from catalog.signals import list_returns
from common import clock
from common.database import repeat_after_conflict
from common.paths import make_path
from social.models import Post
from social.moderation.emails import queue_email
from social.moderation.models import Action, Basis, Case, Decision, Kind
from social.moderation.services.errors import AccountAlreadyInactive, AlreadyDecided, NotAllowed, TargetMissing
from social.services import posts


class Ruling(NamedTuple):
    """What a member of staff decides. days: of a suspension. hides_post: also hide the post of a warned author."""

    action: Action
    basis: Basis = Basis.TERMS
    rule: str = ""
    facts: str = ""
    days: int = 0
    hides_post: bool = False


def list_actions(case: Case, staff: User) -> list[Action]:
    """Return what this member of staff may decide. Nobody decides about themselves."""
    if case.author_id == staff.pk:
        return []
    found = [Action.DISMISS]
    match case.kind:
        case Kind.POST:
            found += [Action.HIDE] if staff.has_perm("social.change_post") else []
            found += [Action.DELETE] if staff.has_perm("social.delete_post") else []
        case Kind.TAG:
            found.append(Action.HIDE)
        case Kind.LIST:
            # With the permission for posts, which existing groups of moderators have.
            found += [Action.DELETE] if staff.has_perm("social.delete_post") else []
    # Nothing about staff is changed by anyone who could not change that member.
    if case.author is not None and not is_guarded_from(case.author, staff):
        found.append(Action.WARN)
        found += [Action.SUSPEND] if staff.has_perm("accounts.add_suspension") else []
        found += [Action.CLOSE_ACCOUNT] if staff.has_perm("accounts.delete_user") else []
    return found


@repeat_after_conflict
def decide_case(case_id: int, ruling: Ruling, *, by: User) -> Decision:
    """Decide a case, carry the decision out, and send the reasons to the author and the result to the reporters.

    Raises a subclass of Refused.
    """
    with transaction.atomic():
        case = Case.objects.select_for_update().filter(pk=case_id, closed_at=None).first()
        # Locked: of two decisions at the same time, the second one finds the case closed.
        if case is None:
            raise AlreadyDecided
        if ruling.action not in list_actions(case, by):
            raise NotAllowed
        made = Decision(
            case=case,
            staff=by,
            action=ruling.action,
            basis=ruling.basis,
            rule=ruling.rule,
            facts=ruling.facts,
            hides_post=ruling.hides_post and case.kind == Kind.POST and Action.HIDE in list_actions(case, by),
        )
        if ruling.action == Action.SUSPEND:
            made.ends_at = clock.now() + timedelta(days=ruling.days)
        made.save()
        _carry_out(made)
        # After the effects: while one of them is refused, the case stays open.
        case.closed_at = clock.now()
        case.save(update_fields=["closed_at"])
        _queue_emails(made)
    return made


def make_notice_path(decision: Decision) -> str:
    """Return the path of the page with the reasons of a decision."""
    return make_path("moderation:decision", decision.key)


def _carry_out(decision: Decision) -> None:
    case = decision.case
    if decision.action == Action.HIDE and case.kind == Kind.TAG:
        # It may have been renamed or merged since the report.
        if not _set_tag_hidden(case.target, is_hidden=True):
            raise TargetMissing
    elif decision.action == Action.HIDE or decision.hides_post:
        _hide_post(int(case.target))
    match decision.action:
        case Action.DELETE:
            if not _delete_target(case):
                raise TargetMissing
        case Action.SUSPEND:
            assert case.author_id is not None
            try:
                _suspend(case.author_id, decision)
            except AccountInactive as error:
                raise AccountAlreadyInactive from error
        case Action.CLOSE_ACCOUNT:
            assert case.author is not None
            # With the grace period, in which an appeal may still keep the account.
            request_deletion(case.author, by_staff=True, notice=make_notice_path(decision))


def _delete_target(case: Case) -> bool:
    """Delete the post or the list. Return False if it does not exist any more."""
    if case.kind == Kind.LIST:
        return case.author_id is not None and delete_list(case.author_id, int(case.target))
    return posts.remove_post(int(case.target))


@receiver(list_returns, dispatch_uid="moderation.keep_deleted_list")
def keep_deleted_list(list_id: int, **kwargs: object) -> None:
    """Refuse the undo of an earlier deletion by the reader, after staff have deleted the list and stand by it."""
    deleted = Decision.objects.filter(case__kind=Kind.LIST, case__target=str(list_id), action=Action.DELETE)
    if deleted.filter(reversed_at=None).exists():
        raise NotUndoable


def _hide_post(post_id: int) -> None:
    # A post that is hidden already stays so.
    if not posts.hide_post(post_id) and not Post.objects.filter(pk=post_id).exists():
        raise TargetMissing


def _set_tag_hidden(name: str, *, is_hidden: bool) -> bool:
    """Hide or show a tag. Return False if it does not exist any more."""
    # Saved, not updated by a query: only signals of saved rows send a hint.
    tag = Tag.objects.select_for_update().filter(name=name).first()
    if tag is not None and tag.hidden != is_hidden:
        tag.hidden = is_hidden
        tag.save(update_fields=["hidden"])
    return tag is not None


def _queue_emails(decision: Decision) -> None:
    author = decision.case.author
    if decision.action != Action.DISMISS and author is not None:
        queue_email("decision", decision.pk, get_email_language(author))
    # Staff are the reporters of the cases that they open, and know the decision.
    others = decision.case.reports.exclude(reporter=decision.staff)
    for pk, language in others.values_list("pk", "language"):
        queue_email("result", pk, language)


def reverse_decision(decision: Decision) -> None:
    """Undo the effects of a decision, as far as possible: a deleted post or list is lost. Needs a transaction."""
    case = decision.case
    if (decision.action == Action.HIDE or decision.hides_post) and not _is_hidden_by_others(decision):
        if case.kind == Kind.TAG:
            _set_tag_hidden(case.target, is_hidden=False)
        else:
            posts.unhide_post(int(case.target))
    if decision.action == Action.SUSPEND and case.author_id is not None:
        _lift_suspension(case.author_id, decision)
    if decision.action == Action.CLOSE_ACCOUNT and case.author is not None:
        reverse_deletion(case.author, make_notice_path(decision))
    decision.reversed_at = clock.now()
    decision.save(update_fields=["reversed_at"])


def _suspend(user_id: int, decision: Decision) -> None:
    assert decision.ends_at is not None
    notice = make_notice_path(decision)
    suspend_user(user_id, decision.ends_at, notice=notice, began_at=decision.made_at)


def _lift_suspension(user_id: int, decision: Decision) -> None:
    """End the suspension of a decision, but not a later one. One that it replaced goes on until its own end."""
    running = Suspension.objects.filter(user=user_id).first()
    if running is None or not lift_suspension(user_id, notice=make_notice_path(decision)):
        return
    # Staff have lifted those that were made before the start.
    replaced = Decision.objects.filter(case__author=user_id, action=Action.SUSPEND, made_at__gte=running.began_at)
    replaced = replaced.filter(reversed_at=None, ends_at__gt=clock.now()).exclude(pk=decision.pk)
    if former := replaced.order_by("made_at").last():
        _suspend(user_id, former)


def _is_hidden_by_others(decision: Decision) -> bool:
    """Return whether another decision hides the same post or tag and was not reversed, as after a reopened case."""
    case = decision.case
    others = Decision.objects.filter(case__kind=case.kind, case__target=case.target, reversed_at=None)
    return others.filter(Q(action=Action.HIDE) | Q(hides_post=True)).exclude(pk=decision.pk).exists()


def reopen_case(case: Case) -> None:
    """Open a case again for a new decision, unless a newer one of its target is open."""
    # The constraint allows one open case of a target. It has the new reports as well.
    with suppress(IntegrityError), transaction.atomic():
        case.closed_at = None
        case.save(update_fields=["closed_at"])
