"""Message catalogues without GNU gettext: ``python -m tools.messages compile|check|update``.

``mirror`` has a catalogue of its own, which its wheel contains. That of ``config`` has all other messages.
The English catalogue of ``config`` has other words for errors of Django's forms, and nothing else.

compile: write the ``.mo`` files for Django, which are not committed.
check: exit with 1 unless every message of the code is translated in every catalogue.
update: add new messages to the catalogues, and mark unused messages as obsolete.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import polib
from jinja2 import Environment, nodes

from tools.compile_messages import compile_catalogues

ROOT: Final = Path(__file__).resolve().parent.parent
LANGUAGES: Final = ("zh_Hans",)
CATALOGUES: Final = ("mirror", "config")  # folders with a catalogue; a message belongs to the first that uses it
FOLDERS: Final = ("mirror", "config", "common", "accounts", "catalog", "shop", "social", "loginlog", "demo")
GETTEXT_CALL: Final = re.compile(r"\b(n?p?gettext|_)\(")
# The meaning of a function's arguments, without the ending "_lazy" or "_noop".
ARGUMENTS_BY_FUNCTION: Final = {
    "_": ("id",),
    "gettext": ("id",),
    "ngettext": ("id", "plural"),
    "pgettext": ("context", "id"),
    "npgettext": ("context", "id", "plural"),
}
PLACEHOLDER: Final = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")
FORMAL_YOU: Final = "您"
KEPT_PREFIX: Final = "kept:"  # the beginning of a translator's comment on a message that only a library uses


class Message(NamedTuple):
    """A message in a catalogue. Context and plural are "" if the message lacks them."""

    id: str
    plural: str = ""
    context: str = ""


ReadMessages = Callable[[str], Iterator[tuple[int, Message | None]]]
MessagePlaces = dict[Message, list[tuple[str, str]]]


def get_catalogue_path(language: str, folder: str = "config") -> Path:
    """Return the path of the file with a folder's translations into ``language``."""
    return ROOT / folder / "locale" / language / "LC_MESSAGES" / "django.po"


def _find_catalogue(places: list[tuple[str, str]]) -> str:
    """Return the folder of the catalogue for a message with these places."""
    # The wheel of ``mirror`` must contain all of its messages, also those that the site uses as well.
    is_of_mirror = any(name.startswith("mirror/") for name, _ in places)
    return "mirror" if is_of_mirror else "config"


def compile_all() -> None:
    """Write each ``.mo`` file that is missing or older than its ``.po`` file."""
    compile_catalogues(ROOT)


def _parse_message(name: str, arguments: list[ast.expr]) -> Message | None:
    """Return the message of a call of ``name``, or None if an argument is not a string literal."""
    return _make_message(name, [node.value if isinstance(node, ast.Constant) else None for node in arguments])


def _make_message(name: str, arguments: Sequence[object]) -> Message | None:
    """Return the message of a call of ``name``, or None if one of its parts is not a text."""
    parts = ARGUMENTS_BY_FUNCTION[_strip_ending(name)]
    # Not strict: the number of a plural form follows the texts.
    texts = {part: value for part, value in zip(parts, arguments, strict=False) if isinstance(value, str)}
    if len(texts) < len(parts):
        return None
    return Message(**texts)


def _strip_ending(name: str) -> str:
    return name.removesuffix("_lazy").removesuffix("_noop")


def _extract_from_python(text: str) -> Iterator[tuple[int, Message | None]]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if _strip_ending(called) in ARGUMENTS_BY_FUNCTION:
            yield node.lineno, _parse_message(called, node.args)


def _extract_from_template(text: str) -> Iterator[tuple[int, Message | None]]:
    """Yield the messages of a template of Django's language, which Django converts to calls of gettext among text."""
    from django.utils.translation.template import templatize

    code = templatize(text)
    for found in GETTEXT_CALL.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        call = _parse_call(code[found.start() :])
        if call is not None:
            yield line, _parse_message(found[1], call.args)


def _extract_from_page(text: str) -> Iterator[tuple[int, Message | None]]:
    """Yield the messages of a template of Jinja2."""
    parsed = Environment(extensions=["jinja2.ext.i18n"]).parse(text)
    for call in parsed.find_all(nodes.Call):
        called = call.node
        if isinstance(called, nodes.Name) and called.name in ARGUMENTS_BY_FUNCTION:
            values = [argument.value if isinstance(argument, nodes.Const) else None for argument in call.args]
            yield call.lineno, _make_message(called.name, values)


def _parse_call(text: str) -> ast.Call | None:
    """Return the call at the start of a text, or None."""
    # A bracket may belong to the message itself, so the call ends with the first one that makes it valid Python.
    for bracket in re.finditer(r"\)", text):
        try:
            expression = ast.parse(text[: bracket.end()].strip(), mode="eval").body
        except SyntaxError:
            continue
        return expression if isinstance(expression, ast.Call) else None
    return None


SOURCES: Final = (
    ("**/*.py", _extract_from_python),
    ("**/jinja2/**/*.html", _extract_from_page),
    ("**/templates/**/*.html", _extract_from_template),
    ("**/templates/**/*.txt", _extract_from_template),
)


def _find_source_files() -> Iterator[tuple[Path, ReadMessages]]:
    """Yield each file with messages, and the function that extracts them."""
    for folder, (pattern, read) in product(FOLDERS, SOURCES):
        for path in sorted((ROOT / folder).glob(pattern)):
            if "migrations" not in path.parts:  # they repeat the labels of models, also of former ones
                yield path, read


def extract_messages() -> tuple[MessagePlaces, list[str]]:
    """Return all messages of the code with their places, and errors for calls without plain text."""
    messages: MessagePlaces = {}
    faults = []
    for path, read in _find_source_files():
        name = str(path.relative_to(ROOT))
        for line, message in read(path.read_text(encoding="utf-8")):
            if message is None:
                faults.append(f"{name}:{line}: a message has to be plain text, in one piece")
            else:
                messages.setdefault(message, []).append((name, str(line)))
    return messages, faults


def _build_message(entry: polib.POEntry) -> Message:
    return Message(entry.msgid, entry.msgid_plural or "", entry.msgctxt or "")


def _get_translations(entry: polib.POEntry) -> list[str]:
    if entry.msgid_plural:
        return list(entry.msgstr_plural.values())
    return [entry.msgstr]


def _find_fault(entry: polib.POEntry | None) -> str:
    """Return the fault of a translation, or ""."""
    if entry is None:
        return "is missing"
    if entry.fuzzy:
        return "is fuzzy"
    texts = _get_translations(entry)
    if not texts or not all(texts):
        return "is not translated"
    # A missing placeholder hides a value, and an unknown one is an error when the page is rendered.
    wanted = set(PLACEHOLDER.findall(entry.msgid_plural or entry.msgid))
    for text in texts:
        if set(PLACEHOLDER.findall(text)) != wanted:
            return "has other placeholders than its original"
    if any(FORMAL_YOU in text for text in texts):
        return f"says {FORMAL_YOU}, and the site says 你"
    return ""


def check_catalogues() -> list[str]:
    """Return the faults of the catalogues, one line for each."""
    messages, faults = extract_messages()
    for language, folder in product(LANGUAGES, CATALOGUES):
        faults += _check_catalogue(language, folder, _pick_messages(messages, folder))
    return faults


def _check_catalogue(language: str, folder: str, own: MessagePlaces) -> Iterator[str]:
    known = {_build_message(entry): entry for entry in _read_entries(language, folder) if not entry.obsolete}
    for message, places in own.items():
        fault = _find_fault(known.get(message))
        if fault:
            yield f"{':'.join(places[0])}: {message.id!r} {fault} in {language}"
    for message in known.keys() - own.keys():
        if not _is_kept(known[message]):
            yield f"{language}: {message.id!r} is not used any more in {folder}"


def _pick_messages(messages: MessagePlaces, folder: str) -> MessagePlaces:
    """Return the messages that belong to the catalogue of a folder."""
    return {message: places for message, places in messages.items() if _find_catalogue(places) == folder}


def _is_kept(entry: polib.POEntry) -> bool:
    return bool(entry.tcomment.startswith(KEPT_PREFIX))


def update_catalogues() -> None:
    """Update the catalogues from the code, and keep existing translations."""
    messages, _ = extract_messages()
    for language in LANGUAGES:
        catalogues = {folder: _read_entries(language, folder) for folder in CATALOGUES}
        translated: dict[Message, polib.POEntry] = {}
        for entries in catalogues.values():
            translated.update(_index_entries(entries))
        for folder, entries in catalogues.items():
            _update_entries(entries, _pick_messages(messages, folder), messages, translated)
            path = get_catalogue_path(language, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            entries.save(str(path))


def _index_entries(entries: polib.POFile) -> dict[Message, polib.POEntry]:
    return {_build_message(entry): entry for entry in entries}


def _update_entries(
    entries: polib.POFile, own: MessagePlaces, messages: MessagePlaces, translated: Mapping[Message, polib.POEntry]
) -> None:
    known = _index_entries(entries)
    for message, places in own.items():
        entry = known.get(message) or _add_entry(entries, message, translated.get(message))
        entry.obsolete = False
        # Without line numbers, which would change with each edit of the code.
        entry.occurrences = [(name, "") for name in dict(places)]
    for message in known.keys() - own.keys():
        if message in messages:  # of the other catalogue
            entries.remove(known[message])
        else:
            known[message].obsolete = not _is_kept(known[message])


def _read_entries(language: str, folder: str) -> polib.POFile:
    path = get_catalogue_path(language, folder)
    return polib.pofile(str(path), wrapwidth=100) if path.exists() else _create_catalogue(language)


def _create_catalogue(language: str) -> polib.POFile:
    entries = polib.POFile(wrapwidth=100)
    entries.metadata = {
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Language": language,
        "Plural-Forms": "nplurals=1; plural=0;",
    }
    return entries


def _add_entry(entries: polib.POFile, message: Message, translated: polib.POEntry | None) -> polib.POEntry:
    """Add a message, with the translation of another catalogue, if there is one."""
    plural = {0: ""} if message.plural else {}
    entry = polib.POEntry(
        msgid=message.id,
        msgid_plural=message.plural,
        msgctxt=message.context or None,
        msgstr=translated.msgstr if translated else "",
        msgstr_plural=translated.msgstr_plural if translated else plural,
        # No format flag, because some messages contain "%" that is no placeholder.
    )
    entries.append(entry)
    return entry


def main(arguments: list[str]) -> int:
    """Run the command line, and return the exit code."""
    if arguments == ["compile"]:
        compile_all()
    elif arguments == ["update"]:
        update_catalogues()
    elif arguments == ["check"]:
        faults = check_catalogues()
        print("\n".join(faults), end="\n" if faults else "")
        return 1 if faults else 0
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
