"""Kinds of many-to-many relations: a mirror is equal to SQL after every write, or a check refuses it."""

from typing import Any

import pytest
from django.db import models
from django.db.models.fields.related import RelatedField

from mirror import Count, Ids, Names, registry
from tests.mirror.schemas import Create, Declare, Sample, assert_equal, refuse

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated"),
    pytest.mark.also_on("sqlite"),
]


class TagsField(RelatedField):
    """A relation of a library over a model with links, like the manager of taggit."""

    many_to_many, many_to_one, one_to_many, one_to_one = True, False, False, False

    def __init__(self, through: type[models.Model], related_name: str) -> None:
        this: Any = self
        to: Any = through._meta.get_field("tag").related_model
        rel = models.ManyToManyRel(this, to, related_name=related_name, through=through)
        super().__init__(rel=rel, related_name=related_name, serialize=False, null=True)

    def contribute_to_class(self, cls: type[models.Model], name: str, *args: Any, **kwargs: Any) -> None:
        self.set_attributes_from_name(name)
        self.model, self.opts = cls, cls._meta
        cls._meta.add_field(self)


class TestManyToMany:
    def test_relations_to_the_model_itself_are_equal(self, tables: Create, declare: Declare) -> None:
        class Person(Sample):
            name = models.TextField()
            friends = models.ManyToManyField("self")
            idols = models.ManyToManyField("self", symmetrical=False, related_name="fans")

        tables(Person)
        a, b, c = (Person._base_manager.create(name=name) for name in "abc")
        mirror = declare(Person, fields=["name", Names("friends"), Names("idols"), Names("fans"), Count("fans")])
        a.friends.add(b)
        a.idols.add(b, c)
        found = assert_equal(mirror)
        assert found[str(a.pk)] == {"name": "a", "friends": ["b"], "idols": ["b", "c"], "fans": [], "fans_count": 0}
        assert found[str(b.pk)] == {"name": "b", "friends": ["a"], "idols": [], "fans": ["a"], "fans_count": 1}
        Person._base_manager.filter(pk=b.pk).update(name="B")
        Person._base_manager.filter(pk=a.pk).update(name="A")
        found = assert_equal(mirror)
        assert found[str(a.pk)]["friends"] == ["B"]
        assert found[str(b.pk)]["fans"] == ["A"]
        Person.friends.through._base_manager.all().delete()
        a.idols.remove(c)
        assert assert_equal(mirror)[str(a.pk)] == {
            "name": "A", "friends": [], "idols": ["B"], "fans": [], "fans_count": 0,
        }  # fmt: skip

    def test_a_name_of_a_related_rows_own_relation(self, tables: Create, declare: Declare) -> None:
        class Press(Sample):
            name = models.TextField()

        class Poet(Sample):
            name = models.TextField()

        class Poem(Sample):
            poet = models.ForeignKey(Poet, models.CASCADE, related_name="poems")
            press = models.ForeignKey(Press, models.CASCADE)

        tables(Press, Poet, Poem)
        one, two = (Press._base_manager.create(name=name) for name in ("one", "two"))
        poet = Poet._base_manager.create(name="w")
        poem = Poem._base_manager.create(poet=poet, press=one)
        mirror = declare(Poet, fields=["name", Names("poems", "press__name", name="houses")])
        assert assert_equal(mirror)[str(poet.pk)]["houses"] == ["one"]
        Press._base_manager.filter(pk=one.pk).update(name="new")
        assert assert_equal(mirror)[str(poet.pk)]["houses"] == ["new"]
        Poem._base_manager.filter(pk=poem.pk).update(press=two)
        assert assert_equal(mirror)[str(poet.pk)]["houses"] == ["two"]
        Poem._base_manager.all().delete()
        assert assert_equal(mirror)[str(poet.pk)]["houses"] == []

    def test_through_fields_choose_between_two_foreign_keys(self, tables: Create, declare: Declare) -> None:
        class Member(Sample):
            name = models.TextField()

        class Club(Sample):
            members = models.ManyToManyField(
                Member, through="Joining", through_fields=("club", "member"), related_name="clubs"
            )

        class Joining(Sample):
            inviter = models.ForeignKey(Member, models.CASCADE, related_name="+")
            club = models.ForeignKey(Club, models.CASCADE)
            member = models.ForeignKey(Member, models.CASCADE)

        tables(Member, Club, Joining)
        a, b = (Member._base_manager.create(name=name) for name in "ab")
        club = Club._base_manager.create()
        mirror = declare(Club, fields=[Names("members"), Ids("members", name="ids")])
        Joining._base_manager.create(club=club, member=a, inviter=b)
        Member._base_manager.update(name="new")
        assert [*assert_equal(mirror).values()] == [{"members": ["new"], "ids": [a.pk]}]
        Joining._base_manager.update(member=b, inviter=a)
        assert [*assert_equal(mirror).values()] == [{"members": ["new"], "ids": [b.pk]}]
        Joining._base_manager.all().delete()
        assert [*assert_equal(mirror).values()] == [{"members": [], "ids": []}]

    def test_relations_to_a_proxy_are_equal_from_both_ends(self, tables: Create, declare: Declare) -> None:
        class Genre(Sample):
            name = models.TextField()

        class Style(Genre):
            class Meta:
                app_label, proxy = "mirrortest", True

        class Song(Sample):
            name = models.TextField()
            styles = models.ManyToManyField(Style, related_name="songs")
            genre = models.ForeignKey(Genre, models.CASCADE, null=True, related_name="+")
            style = models.ForeignKey(Style, models.CASCADE, null=True, related_name="+")

        tables(Genre, Song)
        genre = Genre._base_manager.create(name="old")
        song = Song._base_manager.create(name="s", genre=genre, style=Style(pk=genre.pk))
        mirror = declare(Song, fields=[Names("styles"), "genre__name", "style__name"])
        song.styles.add(genre.pk)
        Genre._base_manager.update(name="new")
        assert [*assert_equal(mirror).values()] == [{"styles": ["new"], "genre__name": "new", "style__name": "new"}]
        for number, model in enumerate((Genre, Style)):
            other = declare(model, name=f"odd{number}", key=f"tkind{number}:" + "{pk}", fields=[Names("songs")])
            Song._base_manager.update(name=str(number))
            assert [*assert_equal(other).values()] == [{"songs": [str(number)]}]

    def test_through_model_with_inherited_foreign_keys_is_refused(self) -> None:
        class Tag(Sample):
            name = models.TextField()

        class Tagging(Sample):
            tag = models.ForeignKey(Tag, models.CASCADE)

        class PageTagging(Tagging):
            page = models.ForeignKey("Page", models.CASCADE)

            class Meta:
                app_label = "mirrortest"

        class Page(Sample):
            tags = models.ManyToManyField(Tag, through=PageTagging)

        reason = refuse(Page, fields=[Names("tags")])
        assert "mirrortest.PageTagging inherits 'tag' from mirrortest.Tagging" in reason

    def test_relation_of_a_library_is_refused_with_the_relation_to_its_links(self) -> None:
        class Tag(Sample):
            name = models.TextField()

        class Tagging(Sample):
            tag = models.ForeignKey(Tag, models.CASCADE, related_name="taggings")
            page = models.ForeignKey("Page", models.CASCADE, related_name="tagged")

        class Note(Sample):
            tag = models.ForeignKey(Tag, models.CASCADE)
            page_id = models.IntegerField()

        class Page(Sample):
            tags = TagsField(Tagging, "pages")
            notes = TagsField(Note, "noted")

        reason = refuse(Page, fields=[Names("tags")])
        assert "Page.tags is a TagsField and no ManyToManyField; name a column behind its links, as in" in reason
        assert 'Values("tagged", "tag__name", name="tags")' in reason
        registry._refused.clear()
        reason = refuse(Page, fields=[Count("notes")])
        assert "Page.notes is a TagsField and no ManyToManyField; write load() and record(), with a Watch" in reason

    def test_through_model_with_an_inherited_key_is_equal(self, tables: Create, declare: Declare) -> None:
        class Noted(Sample):
            note = models.TextField()

        class Tag(Sample):
            name = models.TextField()

        class Page(Sample):
            tags = models.ManyToManyField(Tag, through="Tagging")

        class Tagging(Noted):
            tag = models.ForeignKey(Tag, models.CASCADE)
            page = models.ForeignKey(Page, models.CASCADE)

            class Meta:
                app_label = "mirrortest"

        tables(Noted, Tag, Page, Tagging)
        page, tag = Page._base_manager.create(), Tag._base_manager.create(name="a")
        mirror = declare(Page, fields=[Names("tags"), Count("tags")])
        Tagging._base_manager.create(page=page, tag=tag, note="n")
        Tag._base_manager.update(name="b")
        assert [*assert_equal(mirror).values()] == [{"tags": ["b"], "tags_count": 1}]
        Noted._base_manager.all().delete()
        assert [*assert_equal(mirror).values()] == [{"tags": [], "tags_count": 0}]
