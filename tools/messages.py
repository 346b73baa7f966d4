"""Message catalogues without GNU gettext: ``python -m tools.messages compile|check|update``.

``mirror`` has a catalogue of its own, which its wheel contains. That of ``config`` has all other messages.

compile: write the ``.mo`` files for Django, which are not committed.
check: exit with 1 unless every message of the code is translated in every catalogue.
update: add new messages to the catalogues, and mark unused messages as obsolete.
"""

import ast
import os
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import polib

ROOT: Final = Path(__file__).resolve().parent.parent
LANGUAGES: Final = ("zh_Hans",)
CATALOGUES: Final = ("mirror", "config")  # folders with a catalogue; a message belongs to the first that uses it
FOLDERS: Final = ("mirror", "config", "common", "accounts", "catalog", "shop", "social", "loginlog", "demo")
GETTEXT_CALL: Final = re.compile(r"\b(n?p?gettext|_)\(")
# The meaning of arguments, by the rest of a function's name without "gettext" and "_lazy".
ARGUMENTS_BY_KIND: Final = {
    "": ("id",),
    "n": ("id", "plural"),
    "p": ("context", "id"),
    "np": ("context", "id", "plural"),
}
ARGUMENTS_BY_FUNCTION: Final = {
    name: parts
    for kind, parts in ARGUMENTS_BY_KIND.items()
    for name in (f"{kind}gettext", f"{kind}gettext_lazy", f"{kind}gettext_noop")
} | {"_": ARGUMENTS_BY_KIND[""]}
PLACEHOLDER: Final = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")
KEPT_PREFIX: Final = "kept:"  # the beginning of a translator's comment on a message that only a library uses


class Message(NamedTuple):
    """A message in a catalogue. Context and plural are "" if the message lacks them."""

    id: str
    plural: str = ""
    context: str = ""


MessagePlaces = dict[Message, list[tuple[str, str]]]


def get_catalogue_path(language: str, folder: str = "config") -> Path:
    """Return the path of the file with a folder's translations into ``language``."""
    return ROOT / folder / "locale" / language / "LC_MESSAGES" / "django.po"


def _find_catalogue(places: list[tuple[str, str]]) -> str:
    """Return the folder of the catalogue for a message with these places."""
    return "mirror" if any(name.startswith("mirror/") for name, _ in places) else "config"


def compile_all() -> None:
    """Write each ``.mo`` file that is missing or older than its ``.po`` file."""
    for source in ROOT.glob("*/locale/*/LC_MESSAGES/*.po"):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            unfinished = target.with_suffix(f".{os.getpid()}.tmp")
            polib.pofile(str(source)).save_as_mofile(str(unfinished))
            unfinished.replace(target)


def _parse_message(name: str, arguments: list[ast.expr]) -> Message | None:
    """Return the message of a call of ``name``, or None if an argument is not a string literal."""
    values = {}
    for part, node in zip(ARGUMENTS_BY_FUNCTION[name], arguments, strict=False):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return None
        values[part] = node.value
    return Message(**values) if len(values) == len(ARGUMENTS_BY_FUNCTION[name]) else None


def _extract_from_python(text: str) -> Iterator[tuple[int, Message | None]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ARGUMENTS_BY_FUNCTION:
                yield node.lineno, _parse_message(called, node.args)


def _extract_from_template(text: str) -> Iterator[tuple[int, Message | None]]:
    """Yield the messages of a template. Django converts it to text in which only the calls of gettext are Python."""
    from django.utils.translation.template import templatize

    code = templatize(text)
    for found in GETTEXT_CALL.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        for end in (m.end() for m in re.finditer(r"\)", code[found.start() :])):
            try:
                call = ast.parse(code[found.start() :][:end].strip(), mode="eval").body
            except SyntaxError:
                continue
            if isinstance(call, ast.Call):
                yield line, _parse_message(found[1], call.args)
            break


def _find_source_files() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            template = "templates" in path.parts and path.suffix in (".html", ".txt")
            if template or (path.suffix == ".py" and "migrations" not in path.parts):
                yield path


def extract_messages() -> tuple[MessagePlaces, list[str]]:
    """Return all messages of the code with their places, and errors for calls without plain text."""
    messages: MessagePlaces = {}
    faults = []
    for path in _find_source_files():
        read = _extract_from_python if path.suffix == ".py" else _extract_from_template
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
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def _find_fault(entry: polib.POEntry | None) -> str:
    """Return the fault of a translation, or ""."""
    if entry is None:
        return "is missing"
    if entry.fuzzy:
        return "is fuzzy"
    if not all(_get_translations(entry)) or not _get_translations(entry):
        return "is not translated"
    wanted = set(PLACEHOLDER.findall(entry.msgid_plural or entry.msgid))
    if any(set(PLACEHOLDER.findall(text)) != wanted for text in _get_translations(entry)):
        return "has other placeholders than its original"
    return ""


def check_catalogues() -> list[str]:
    """Return the faults of the catalogues, one line for each."""
    messages, faults = extract_messages()
    for language, folder in product(LANGUAGES, CATALOGUES):
        own = {message: places for message, places in messages.items() if _find_catalogue(places) == folder}
        known = {_build_message(entry): entry for entry in _read_entries(language, folder) if not entry.obsolete}
        for message, places in own.items():
            if fault := _find_fault(known.get(message)):
                faults.append(f"{':'.join(places[0])}: {message.id!r} {fault} in {language}")
        for message in known.keys() - own.keys():
            if not known[message].tcomment.startswith(KEPT_PREFIX):
                faults.append(f"{language}: {message.id!r} is not used any more in {folder}")
    return faults


def update_catalogues() -> None:
    """Update the catalogues from the code, and keep existing translations."""
    messages, _ = extract_messages()
    for language in LANGUAGES:
        catalogues = {folder: _read_entries(language, folder) for folder in CATALOGUES}
        translated = {_build_message(entry): entry for entries in catalogues.values() for entry in entries}
        for folder, entries in catalogues.items():
            own = {message: places for message, places in messages.items() if _find_catalogue(places) == folder}
            known = {_build_message(entry): entry for entry in entries}
            for message, places in own.items():
                entry = known.get(message) or _add_entry(entries, message, translated.get(message))
                entry.obsolete, entry.occurrences = False, [(name, "") for name in dict(places)]
            for message in known.keys() - own.keys():
                if message in messages:  # of the other catalogue
                    entries.remove(known[message])
                else:
                    known[message].obsolete = not known[message].tcomment.startswith(KEPT_PREFIX)
            path = get_catalogue_path(language, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            entries.save(str(path))


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
