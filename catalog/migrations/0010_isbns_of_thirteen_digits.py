from django.db import migrations

from catalog.values.isbns import is_isbn

ROWS = 1000  # in one statement


def write_thirteen_digits(apps, schema_editor):
    """Store each valid ISBN as thirteen digits. Other texts stay for staff to see."""
    books = apps.get_model("catalog", "Book").objects.using(schema_editor.connection.alias).exclude(isbn="")
    rows, last = True, 0
    while rows:
        rows = list(books.filter(pk__gt=last).order_by("pk").only("isbn")[:ROWS])
        last = rows[-1].pk if rows else last
        # The field converts the values that it writes.
        books.bulk_update([row for row in rows if len(row.isbn) != 13 and is_isbn(row.isbn)], ["isbn"])


class Migration(migrations.Migration):
    dependencies = [("catalog", "0009_original_titles_and_isbns")]

    operations = [migrations.RunPython(write_thirteen_digits, migrations.RunPython.noop)]
