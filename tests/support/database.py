"""Give each test process a copy of one migrated database, because all migrations take seconds of processor time."""

import fcntl
import os
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection

from common.database.request_priority import hold_file_lock

FOLDER: Final = "DIPTYCH_TESTS_FOLDER"  # environment: the folder that the processes of a run share


def copy_migrated() -> None:
    """Copy the migrated database and use the copy. The first process of a run creates the migrated database."""
    folder, creation = Path(os.environ[FOLDER]), connection.creation
    name, is_migrated = creation._get_test_db_name(), folder / "migrated"  # type: ignore[attr-defined]
    with hold_file_lock(folder / "lock", fcntl.LOCK_EX):
        if not is_migrated.exists():
            creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            is_migrated.touch()
        connection.close()
        connection.settings_dict["NAME"] = name
        creation.clone_test_db(str(os.getpid()), verbosity=0)
    connection.settings_dict.update(creation.get_test_db_clone_settings(str(os.getpid())))
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"]
