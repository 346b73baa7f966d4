"""All rows of a table, whatever the managers of its model leave out.

A row that leaves a manager (a soft deletion) is no change that a trigger could see as one. Only ``where`` of a
declaration leaves rows out, because its columns are watched.
"""

from typing import Any

from django.db import models

from mirror.conf import setting


def all_rows(model: type[models.Model], using: str | None = None) -> "models.QuerySet[Any, Any]":
    """Return all rows of a model's table. using: an alias; default: the mirrored database."""
    return models.QuerySet(model, using=using or setting("DATABASE"))
