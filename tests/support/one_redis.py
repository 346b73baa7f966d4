"""Tests that do not apply to a Redis Cluster, with the reason. ``--redis cluster`` leaves them out."""

from itertools import accumulate
from typing import Final

import pytest

# By reason: tests, classes or whole files below ``tests/``.
REASONS: Final[dict[str, tuple[str, ...]]] = {
    "its own write breaks a WATCH, and a cluster has fences": (
        "mirror/test_apply.py::test_drain_that_is_always_overtaken_raises_conflict",
        "mirror/test_layouts.py::test_drain_that_began_before_migrate_writes_nothing_after_it",
        "mirror/test_push_windows.py::test_repeated_delivery_still_breaks_watches",
        "mirror/test_shapes.py::test_writing_a_missing_row_leaves_no_key_and_breaks_watches",
        "mirror/test_shapes.py::test_writing_an_equal_value_breaks_watches",
        "mirror/test_window.py::test_warm_up_gives_up_after_constant_conflicts",
    ),
    "it counts the commands or round trips of one Redis": (
        "mirror/test_apply.py::test_many_changes_of_a_summary_take_one_write",
        "mirror/test_contention.py::test_own_rows_are_drained_before_shared_summaries",
        "mirror/test_metrics.py::test_each_round_trip_is_timed_once",
        "mirror/test_modes.py::test_rows_of_several_models_in_one_transaction_are_one_drain",
        "mirror/test_modes.py::test_save_of_a_record_with_sets_and_a_ranking_costs_four_statements_one_commit_and_two_round_trips",
        "mirror/test_push_bulk.py::test_cold_windows_receive_no_commands",
        "mirror/test_relay.py::test_many_changes_of_one_row_are_one_write",
        "mirror/test_window.py::test_drain_of_an_eager_window_writes_only_the_difference",
        "site/test_metrics.py::test_a_scrape_has_few_statements_and_round_trips",
        "site/test_page_costs.py",
        "social/test_nine_faults.py::test_fault_9_a_delivery_uses_only_keys_in_the_slot_of_the_window",
        "social/test_posting.py::test_the_record_reaches_redis_before_the_windows",
    ),
    "it names the incarnation of a single server": (
        "mirror/test_marker.py::test_incarnation_is_not_checked_at_every_read",
        "mirror/test_marker.py::test_outdated_incarnation_of_a_process_is_checked_again",
        "mirror/test_redis.py::test_connection_learns_the_incarnation_without_being_recorded",
    ),
    "after a loss a cluster is rebuilt instead of replayed": (
        "mirror/test_push_tasks.py::TestReplay",
        "mirror/test_replay.py",
        "mirror/test_sentinel.py",
    ),
    "it names keys of several slots in one command": (
        "mirror/test_prefix.py",
        "mirror/test_recorder.py::test_all_keys_of_commands_are_recorded_and_nothing_else",
        "mirror/test_session.py::test_changed_watched_key_raises_conflict_and_writes_nothing",
        "mirror/test_session.py::test_error_inside_a_transaction_is_raised",
        "mirror/test_shapes.py::test_written_values_are_read_back_unchanged",
        "mirror/test_window_rebuild.py::test_number_of_windows_is_estimated_among_many_keys",
        "mirror/test_window_rebuild.py::test_rare_eager_windows_are_counted_exactly",
        "mirror/test_window_rebuild.py::test_rare_lazy_windows_are_reported_as_few",
    ),
    "it looks at the marks or keys of one Redis by name": (
        "loginlog/test_log_command.py::test_sync_expire_load_and_erase",
        "mirror/test_other_project.py::test_keys_of_killed_test_runs_are_removed_a_day_later",
        "mirror/test_window_rebuild.py::test_existing_lazy_windows_are_recomputed_and_no_others_are_made",
        "site/test_prefix.py::test_all_keys_of_all_commands_have_the_prefix",
        "site/test_scale.py::test_every_documented_family_grows_and_others_are_refused",
        "test_keysdoc.py::test_list_of_keys_is_up_to_date",
        "test_names.py::test_names_in_the_code_are_unchanged",
        "test_servers.py::test_site_returns_to_the_shared_server",
    ),
    "it checks the connections or the reply of a single server": (
        "mirror/test_doctor.py::test_unsuitable_connections_are_found",
        "mirror/test_doctor.py::test_unsuitable_servers_are_found",
        "mirror/test_lease.py::test_failing_renewal_is_logged_once",
    ),
}


def mark(items: list[pytest.Item]) -> None:
    """Mark these tests."""
    reasons = {name: reason for reason, names in REASONS.items() for name in names}
    for item in items:
        parts = item.nodeid.removeprefix("tests/").partition("[")[0].split("::")
        for name in accumulate(parts, "{}::{}".format):
            if name in reasons:
                item.add_marker(pytest.mark.one_redis(reasons[name]))
