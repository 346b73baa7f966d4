"""Rows of every kind: with a parent, with links, edges; and a table with awkward names."""

from django.db import models


class Group(models.Model):
    """What items belong to."""

    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class Label(models.Model):
    """What items are tagged with."""

    name = models.CharField(max_length=100, unique=True)

    def __str__(self) -> str:
        return self.name


class Item(models.Model):
    """The row with a record. Hidden ones are filtered away."""

    name = models.CharField(max_length=100, unique=True)
    score = models.IntegerField(default=0)
    hidden = models.BooleanField(default=False)
    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="items")
    labels = models.ManyToManyField(Label, related_name="items")

    def __str__(self) -> str:
        return self.name


class Follow(models.Model):
    """An edge: it comes and goes."""

    follower = models.IntegerField()
    followed = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["follower", "followed"], name="mirrortest_follow_once")]

    def __str__(self) -> str:
        return f"{self.follower}:{self.followed}"


class Odd(models.Model):
    """Names that have to be quoted, and a key that may be unknown."""

    code = models.CharField(max_length=50, null=True, db_column="c'ödé; --")

    class Meta:
        db_table = "mirrortest o'dd 表; a name that is rather long"

    def __str__(self) -> str:
        return str(self.code)


class Best(models.Model):
    """What is backed up: a player's best score."""

    player = models.CharField(max_length=50, primary_key=True)
    score = models.IntegerField()

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(score=666), name="mirrortest_best_refused")]

    def __str__(self) -> str:
        return self.player


class Basket(models.Model):
    """What is backed up: the lines of a basket, in JSON."""

    name = models.CharField(max_length=50, primary_key=True)
    version = models.BigIntegerField()
    lines = models.TextField()

    def __str__(self) -> str:
        return self.name


class Writer(models.Model):
    """Somebody who writes notes, and reads those of others."""

    name = models.CharField(max_length=50)
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.name


class Note(models.Model):
    """What is newest is shown: of its writer, of its topic, of all, and to whoever reads its writer."""

    writer = models.ForeignKey(Writer, models.CASCADE, related_name="notes")
    topic = models.CharField(max_length=20)
    hidden = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.pk} on {self.topic}"


class Reading(models.Model):
    """Somebody reads what somebody writes."""

    reader = models.ForeignKey(Writer, models.CASCADE, related_name="+")
    writer = models.ForeignKey(Writer, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "writer"], name="mirrortest_reading_once")]

    def __str__(self) -> str:
        return f"{self.reader_id}:{self.writer_id}"


class Ignoring(models.Model):
    """Somebody does not want to see what somebody writes, for a while."""

    reader = models.ForeignKey(Writer, models.CASCADE, related_name="+")
    writer = models.ForeignKey(Writer, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "writer"], name="mirrortest_ignoring_once")]

    def __str__(self) -> str:
        return f"{self.reader_id}:{self.writer_id}"
