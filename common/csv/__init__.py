"""CSV files: lines for spreadsheets and programs, and tables that staff edit."""

from common.csv.lines import (
    CsvReader,
    CsvRow,
    UnreadableRow,
    decode,
    escape_formula,
    find_delimiter,
    unescape_formula,
    write_lines,
)
from common.csv.tables import (
    KEY,
    MAX_ROWS,
    RowEdit,
    Table,
    TableError,
    TableRow,
    parse_whole_number,
    read_table_rows,
)

__all__ = [
    "KEY",
    "MAX_ROWS",
    "CsvReader",
    "CsvRow",
    "RowEdit",
    "Table",
    "TableError",
    "TableRow",
    "UnreadableRow",
    "decode",
    "escape_formula",
    "find_delimiter",
    "parse_whole_number",
    "read_table_rows",
    "unescape_formula",
    "write_lines",
]
