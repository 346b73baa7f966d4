"""Message catalogues: extraction, checks and compilation without GNU gettext."""

from pathlib import Path

import polib
import pytest

from tools import messages
from tools.messages import Message

CODE = """
from django.utils.translation import gettext_lazy as _, ngettext, pgettext
_("A book")
ngettext("%(n)s book", "%(n)s books", 2)
pgettext("verb", "Read")
"""
PAGE = """{% load i18n %}
<p>{% translate "Tags (all of them)" %}</p>
<p>{% blocktranslate trimmed with who=user.name %}
  Hello, {{ who }}
{% endblocktranslate %}</p>
"""
ALL = {
    Message("A book"),
    Message("%(n)s book", plural="%(n)s books"),
    Message("Read", context="verb"),
    Message("Tags (all of them)"),
    Message("Hello, %(who)s"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small project with the messages ``ALL`` and a complete catalogue."""
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    (tmp_path / "config" / "templates").mkdir(parents=True)
    (tmp_path / "config" / "code.py").write_text(CODE)
    (tmp_path / "config" / "templates" / "page.html").write_text(PAGE)
    messages.update_catalogues()
    with_entries(translate)
    return tmp_path


def with_entries(change: object) -> None:
    entries = polib.pofile(str(messages.get_catalogue_path("zh_Hans")))
    for entry in entries:
        change(entry)  # type: ignore[operator]
    entries.save()


def translate(entry: polib.POEntry) -> None:
    if entry.msgid_plural:
        entry.msgstr_plural = {0: entry.msgid_plural}
    else:
        entry.msgstr = entry.msgid


def test_messages_of_code_and_templates_are_found(project: Path) -> None:
    found, faults = messages.extract_messages()
    assert set(found) == ALL
    assert faults == []
    assert messages.check_catalogues() == []


def test_new_message_is_missing_until_it_is_translated(project: Path) -> None:
    (project / "config" / "more.py").write_text('_("A new book")\n')
    assert messages.check_catalogues() == ["config/more.py:1: 'A new book' is missing in zh_Hans"]
    messages.update_catalogues()
    assert messages.check_catalogues() == ["config/more.py:1: 'A new book' is not translated in zh_Hans"]


def test_unused_message_is_reported_then_made_obsolete(project: Path) -> None:
    (project / "config" / "code.py").write_text('_("A book")\n')
    assert "zh_Hans: 'Read' is not used any more in config" in messages.check_catalogues()
    messages.update_catalogues()
    assert messages.check_catalogues() == []


def test_message_moves_with_its_translation_into_the_catalogue_of_mirror(project: Path) -> None:
    (project / "mirror" / "code.py").write_text('_("A book")\n')
    assert messages.check_catalogues() == [
        "mirror/code.py:1: 'A book' is missing in zh_Hans",
        "zh_Hans: 'A book' is not used any more in config",
    ]
    messages.update_catalogues()
    assert messages.check_catalogues() == []
    of_mirror, of_config = (polib.pofile(messages.get_catalogue_path("zh_Hans", name)) for name in ("mirror", "config"))
    assert [entry.msgid for entry in of_mirror] == ["A book"]
    assert of_config.find("A book", include_obsolete_entries=True) is None


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("msgstr", "", "is not translated"),
        ("flags", ["fuzzy"], "is fuzzy"),
        ("msgstr", "%(whom)s!", "has other placeholders than its original"),
        ("msgstr", "您好 %(who)s", "says 您, and the site says 你"),
    ],
)
def test_bad_translation_is_reported(project: Path, field: str, value: object, fault: str) -> None:
    def spoil(entry: polib.POEntry) -> None:
        if entry.msgid == "Hello, %(who)s":
            setattr(entry, field, value)

    with_entries(spoil)
    assert messages.check_catalogues() == [f"config/templates/page.html:3: 'Hello, %(who)s' {fault} in zh_Hans"]


def test_concatenated_message_is_reported(project: Path) -> None:
    (project / "config" / "more.py").write_text('_("A " + colour)\n')
    assert messages.check_catalogues() == ["config/more.py:1: a message has to be plain text, in one piece"]


def test_compiled_catalogue_has_all_translations(project: Path) -> None:
    messages.compile_all()
    made = polib.mofile(str(messages.get_catalogue_path("zh_Hans").with_suffix(".mo")))
    assert {entry.msgid for entry in made} == {message.id for message in ALL}
