"""Models with foreign keys, many-to-many links and edges, and a table with names that need quoting."""

from django.conf import settings
from django.db import models

IS_POSTGRES = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")


class Group(models.Model):
    """A group of items."""

    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class Label(models.Model):
    """A label of items."""

    name = models.CharField(max_length=100, unique=True)

    def __str__(self) -> str:
        return self.name


class Item(models.Model):
    """A row with a record. Hidden items are not mirrored."""

    name = models.CharField(max_length=100, unique=True)
    score = models.IntegerField(default=0)
    hidden = models.BooleanField(default=False)
    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="items")
    labels = models.ManyToManyField(Label, related_name="items")

    def __str__(self) -> str:
        return self.name


class Follow(models.Model):
    """An edge: it is created and deleted, but never changed."""

    follower = models.IntegerField()
    followed = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["follower", "followed"], name="mirrortest_follow_once")]

    def __str__(self) -> str:
        return f"{self.follower}:{self.followed}"


class Odd(models.Model):
    """A table with names that need quoting, and a key that may be null."""

    code = models.CharField(max_length=50, null=True, db_column="c'ödé; --")

    class Meta:
        db_table = "mirrortest o'dd 表; a name that is rather long"

    def __str__(self) -> str:
        return str(self.code)


class Visited(models.Model):
    """A visit to a page, as the consumer writes it. at: seconds since 1970."""

    number = models.BigIntegerField(unique=True)
    page = models.CharField(max_length=50)
    at = models.FloatField()

    def __str__(self) -> str:
        return self.page


class Writer(models.Model):
    """An author of notes and reader of other authors' notes."""

    name = models.CharField(max_length=50)
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.name


class Note(models.Model):
    """A note. Windows show the newest notes of its writer, of its topic, of all, and for readers of its writer."""

    writer = models.ForeignKey(Writer, models.CASCADE, related_name="notes")
    topic = models.CharField(max_length=20)
    hidden = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.pk} on {self.topic}"


class Reading(models.Model):
    """A reader reads a writer's notes."""

    reader = models.ForeignKey(Writer, models.CASCADE, related_name="+")
    writer = models.ForeignKey(Writer, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "writer"], name="mirrortest_reading_once")]

    def __str__(self) -> str:
        return f"{self.reader_id}:{self.writer_id}"


class Ignoring(models.Model):
    """A reader ignores a writer's notes."""

    reader = models.ForeignKey(Writer, models.CASCADE, related_name="+")
    writer = models.ForeignKey(Writer, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "writer"], name="mirrortest_ignoring_once")]

    def __str__(self) -> str:
        return f"{self.reader_id}:{self.writer_id}"


class Kinds(models.Model):
    """A row with a column of many kinds, of which an index can be made."""

    owner = models.ForeignKey("Group", models.CASCADE, null=True, related_name="kinds")
    text = models.CharField(max_length=100, default="")
    other = models.CharField(max_length=100, null=True)
    nocase = models.CharField(max_length=100, default="", db_collation=None if IS_POSTGRES else "NOCASE")
    price = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    ratio = models.FloatField(default=0)
    is_new = models.BooleanField(default=False)
    day = models.DateField(null=True)
    moment = models.DateTimeField(null=True)
    length = models.DurationField(null=True)
    code = models.UUIDField(null=True)
    address = models.GenericIPAddressField(null=True)
    facts = models.JSONField(null=True)

    def __str__(self) -> str:
        return str(self.pk)


if IS_POSTGRES:
    from django.contrib.postgres.fields import ArrayField

    class Listed(models.Model):
        """A row with arrays."""

        words = ArrayField(models.CharField(max_length=100), default=list)
        amounts = ArrayField(models.DecimalField(max_digits=10, decimal_places=2), default=list)

        def __str__(self) -> str:
            return str(self.pk)
