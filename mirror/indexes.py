"""Indexes that PostgreSQL uses only where they are meant."""

from typing import Any

from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.ddl_references import Statement


class NarrowIndex(models.Index):
    """A partial index with one more condition on PostgreSQL, ``narrowed_by``, that all rows meet.

    PostgreSQL takes a partial index for any statement that implies its condition. As long as its statistics know of no
    pending change, it takes whichever index is smaller and reads all of it for each key. So each index has a condition
    that only its own statements imply. SQLite has no such choice: it prefers the index with more of the columns.
    """

    def __init__(self, *expressions: Any, narrowed_by: models.Q, **options: Any) -> None:
        super().__init__(*expressions, **options)
        self.narrowed_by = narrowed_by

    def create_sql(
        self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor, using: str = "", **options: Any
    ) -> Statement:
        condition = self.condition
        if schema_editor.connection.vendor == "postgresql":
            condition = self.narrowed_by if condition is None else condition & self.narrowed_by
        plain = models.Index(fields=self.fields, name=self.name, condition=condition)
        return plain.create_sql(model, schema_editor, using, **options)

    def deconstruct(self) -> tuple[str, Any, dict[str, Any]]:
        path, expressions, options = super().deconstruct()
        return path, expressions, {**options, "narrowed_by": self.narrowed_by}
