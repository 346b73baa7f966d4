"""Where the samples are: invented data in the formats of the real data, with the flaws of the real files.

Few tags are on most books and most tags are on one or two, readers keep to series and genres, few people write most of
the messages. There are odd tags, tags in many scripts and in mixed case, titles with quotes and commas, missing years
and titles, years below zero, ISBNs that lost digits, and ties in every column.
"""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "samples"
GOODBOOKS: Final = FOLDER / "goodbooks"
COLLEGEMSG: Final = FOLDER / "collegemsg" / "CollegeMsg.txt"
