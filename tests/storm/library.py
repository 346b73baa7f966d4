"""What simulated people do with their libraries: progress, first steps, an ordered list, and imports."""

from collections.abc import Callable

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.storm.people import BOOKS, JSON, REVIEWED_BOOKS, TAGS, Person

READING_BOOKS = range(REVIEWED_BOOKS.stop, REVIEWED_BOOKS.stop + 3)  # they stay on the shelf "reading"
IMPORTED_BOOKS = range(READING_BOOKS.stop, READING_BOOKS.stop + 4)
ORDERED_BOOKS = BOOKS[:6]
LIST_NAME = "ordered in a storm"
COLUMNS = ("Title", "Author", "Exclusive Shelf", "Bookshelves")  # of Goodreads
# What may be done with an import in each state, and whether its books are on shelves afterwards.
NEXT_ACTIONS = {"ready": ("confirm", True), "done": ("undo", False), "undone": ("confirm", True)}


class Librarian(Person):
    """A person with a library. list_id, import_id: 0 before the first one."""

    list_id = import_id = 0

    def list_acts(self) -> list[tuple[Callable[[], None], int]]:
        """Return the acts with their weights."""
        more = [(self.note_progress, 2), (self.order_list, 2), (self.choose_genres, 1), (self.import_books, 2)]
        return [*super().list_acts(), *more, (self.rate_in_first_steps, 1)]

    def note_progress(self) -> None:
        """Note a page in a book, which is put on the shelf "reading" first."""
        pk = self.random.choice(READING_BOOKS)
        fields: dict[str, object] = {"action": "shelf", "shelf": "reading"}
        if self.write(("shelf", self.name, pk), "reading", f"/books/{pk}/shelf/", fields):
            self.memory.number += 1
            note = f"{self.name} notes number {self.memory.number}"
            fields = {"action": "progress", "amount": self.random.randint(1, 40), "unit": "page", "note": note}
            self.write(("note", note), True, f"/books/{pk}/shelf/", fields)

    def order_list(self) -> None:
        """Add a book to the ordered list, move it, or remove it, and sometimes undo the removal."""
        pk, action = self.random.choice(ORDERED_BOOKS), self.random.choice(("add", "move", "move", "remove"))
        cell = ("ordered", self.name, pk)
        if not self.list_id:
            answer = self.write(cell, True, "/lists/", {"name": LIST_NAME, "book": pk})
            self.list_id = int(answer.json["id"]) if answer else 0
            return
        path = f"/lists/{self.list_id}/books/"
        fields: dict[str, object] = {"action": action, "book": pk, "place": self.random.randint(1, 6)}
        if action == "move":
            # A book that is not on the list cannot be moved.
            self.ask(self.pick_visit(), path, fields, JSON)
            return
        answer = self.write(cell, action == "add", path, fields)
        if answer and answer.json.get("undo") and self.random.random() < 0.5:
            self.write(cell, True, f"/lists/{self.list_id}/undo/", {"snapshot": answer.json["undo"]})

    def choose_genres(self) -> None:
        chosen = tuple(sorted(self.random.sample(TAGS, self.random.randint(0, len(TAGS)))))
        self.write(
            ("genres", self.name), chosen, "/welcome/genres/", {"genre": chosen},
            accept="text/html", is_done=lambda answer: answer.path == "/welcome/books/",
        )  # fmt: skip

    def rate_in_first_steps(self) -> None:
        pk, halves = self.random.choice(BOOKS[::2]), self.random.randint(1, 10)
        self.write(
            ("stars", self.name, pk), halves, "/welcome/books/", {f"stars-{pk}": f"{halves / 2:g}"},
            accept="text/html", is_done=lambda answer: answer.path == "/welcome/readers/",
        )  # fmt: skip

    def import_books(self) -> None:
        """Upload a file, and later import its books, undo that, and so on."""
        if not self.import_id:
            self.import_id = self._upload()
            return
        state = self.ask(self.pick_visit(), f"/library/{self.import_id}/", accept=JSON).json["state"]
        if state in NEXT_ACTIONS:
            verb, is_there = NEXT_ACTIONS[state]
            self.write(("imported", self.name), is_there, f"/library/{self.import_id}/{verb}/", {})

    def _upload(self) -> int:
        """Return the id of the import. A file whose answer was lost is found in the list of imports."""
        page = self.ask(self.pick_visit(), "/library/", accept=JSON).json
        if page["results"]:
            return int(page["results"][0]["id"])
        lines = [",".join(COLUMNS)]
        for pk in IMPORTED_BOOKS:
            book = self.ask(self.pick_visit(), f"/books/{pk}/", accept=JSON).json
            lines.append(f'"{book["title"]}","{book["authors"][0]}",read,')
        file = SimpleUploadedFile("library.csv", "\n".join(lines).encode())
        answer = self.ask(self.pick_visit(), "/library/", {"file": file}, JSON)
        return int(answer.json["id"]) if answer.status == 201 else 0
