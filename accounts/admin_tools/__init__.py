"""Base classes for the admin of all applications: bounded actions, big tables, audit entries."""

from accounts.admin_tools.base import AuditedAdmin, BigTableAdmin
from accounts.admin_tools.completion import CompletedInput
from accounts.admin_tools.concurrent_edits import ConcurrentEditForm, SerialisedEdits
from accounts.admin_tools.confirmation import Question, ask_for_confirmation, is_confirmed
from accounts.admin_tools.export import Column, ExportAdmin
from accounts.admin_tools.importing import ImportAdmin
from accounts.admin_tools.links import PermittedLinks, link_to_rows, may_view_list
from accounts.admin_tools.related import (
    RelatedRows,
    RelatedRowsAdmin,
    count_related,
    link_to_list,
    register_related_rows,
)
from accounts.admin_tools.staff import is_guarded_from

__all__ = [
    "AuditedAdmin",
    "BigTableAdmin",
    "Column",
    "CompletedInput",
    "ConcurrentEditForm",
    "ExportAdmin",
    "ImportAdmin",
    "PermittedLinks",
    "Question",
    "RelatedRows",
    "RelatedRowsAdmin",
    "SerialisedEdits",
    "ask_for_confirmation",
    "count_related",
    "is_confirmed",
    "is_guarded_from",
    "link_to_list",
    "link_to_rows",
    "may_view_list",
    "register_related_rows",
]
