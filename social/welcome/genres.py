"""Names of genres, which the first steps suggest: the most frequent tags are not all genres."""

from typing import Final

GENRES: Final = {
    "adventure", "art", "biography", "business", "childrens-books", "classics", "comedy", "comics",
    "contemporary", "cookbooks", "cozy-mystery", "crime", "detective", "drama", "dystopia", "dystopian",
    "economics", "epic-fantasy", "erotica", "essays", "fairy-tales", "fantasy", "folklore", "graphic-novels",
    "health", "historical", "historical-fiction", "historical-romance", "history", "horror", "humor", "humour",
    "literary-fiction", "magical-realism", "manga", "memoir", "middle-grade", "music", "mystery", "mythology",
    "nature", "non-fiction", "nonfiction", "paranormal", "paranormal-romance", "philosophy", "picture-books",
    "plays", "poetry", "politics", "psychology", "religion", "romance", "romantic-comedy", "satire", "sci-fi",
    "science", "science-fiction", "self-help", "short-stories", "space-opera", "spirituality", "sports", "spy",
    "steampunk", "suspense", "theology", "thriller", "thrillers", "time-travel", "travel", "true-crime",
    "urban-fantasy", "vampires", "war", "westerns", "women", "young-adult", "zombies", "武侠", "科幻", "言情", "悬疑",
    "历史", "推理", "诗歌", "散文", "奇幻", "仙侠", "传记", "哲学", "童话",
}  # fmt: skip


def is_genre(tag: str) -> bool:
    """Return whether a tag's name is that of a genre, with blanks or with hyphens."""
    return tag.replace(" ", "-") in GENRES
