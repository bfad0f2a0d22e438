"""Rows of a table as the features that a model takes: dist/data/schema.hpp, by the columns' names."""

import datetime
import hashlib
import math

import numpy as np

from . import layers as network_layers

MISSING = {"", "na", "n/a", "nan", "null", "?"}
HASH_KEY = b"holdfast record id".ljust(24, b"\0") + b"\1" + bytes(7)  # of texts
SHOWN = 3  # rows of each problem


def features_of(schema, frame):
    """float64 [n, features] of a DataFrame or {column: values}: clipped to the public ranges, mapped to [0, 1].

    Columns are found by name, in any order; others are left out. ModelError, with every problem at once: columns that
    are not there, texts that are no number or date, categories that are not listed, gaps without a rule.
    """
    if schema.get("withheld"):
        raise network_layers.ModelError("the ranges of its columns were found in private records, and stayed with their owner")
    lacking = [name for name in map(cells_of, schema["column"]) if name not in frame]
    if lacking:
        raise network_layers.ModelError(f"columns are missing: {', '.join(lacking)}")
    problems, parts = [], []
    for column in schema["column"]:
        cells = [text_of(cell) for cell in frame[cells_of(column)]]
        parts.append(features_of_column(schema, column, cells, problems))
    if problems:
        raise network_layers.ModelError("; ".join(problems))
    return np.column_stack(parts)


def cells_of(column):
    """The table's column: a column without a type has two parts, its number and the bucket of its text."""
    return column.get("reads", column["name"])


def text_of(cell):
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or str(cell) in ("NaT", "<NA>"):
        return ""
    if isinstance(cell, (datetime.date, np.datetime64)) or hasattr(cell, "strftime"):
        return cell
    return cell if isinstance(cell, (bool, int, float, np.number)) else str(cell).strip()


def features_of_column(schema, column, cells, problems):
    category = column["type"] == "category"
    read = (lambda cell: place_of(schema, column, cell)) if category else lambda cell: number_of(schema, column, cell)
    values, wrong = np.zeros(len(cells)), []
    for row, cell in enumerate(cells):
        value = read(cell)
        values[row] = math.nan if value is None else value
        if value is None:
            wrong.append(row)
    if wrong:
        rows = ", ".join(str(row) for row in wrong[:SHOWN])
        problems.append(f"column {column['name']!r}: {len(wrong)} values that it does not know, as {cells[wrong[0]]!r}, first in rows {rows}")
        return values[:, None]
    if category and column.get("encoding") != "integer":
        return (values[:, None] == np.arange(len(column["values"]))).astype(np.float64)
    low, high = (0, max(1, len(column["values"]) - 1)) if category else column.get("range", (None, None))
    if low is None:
        return values[:, None]
    return np.clip((np.clip(values, low, high) - low) / (high - low), 0, 1)[:, None]


def is_missing(schema, cell):
    return isinstance(cell, str) and (cell.lower() in MISSING or cell in schema.get("missing_words", []))


def undeclared_number(schema, cell):
    """The number of a cell whose column has no type, as dist/data/import_csv.hpp has it; None: it is text or missing."""
    if is_missing(schema, cell) or isinstance(cell, (bool, np.bool_)):
        return None
    if isinstance(cell, str):
        stated = schema.get("decimal", ".") != "." or schema.get("thousands")
        if not stated and schema.get("delimiter", ",") in (";", "\t") and cell.count(",") == 1 and "." not in cell:
            cell = cell.replace(",", ".")
    number = number_of({key: value for key, value in schema.items() if key != "missing_words"}, {"type": "number"}, cell)
    dates = ({"type": "date", "format": form} for form in ("%Y-%m-%d", "%d.%m.%Y"))
    return number if number is not None else next((days for date in dates if (days := number_of(schema, date, cell)) is not None), None)


def bucket_of(schema, column, cell):
    """Of a public hash: dist/data/record_id.cpp."""
    text = "" if is_missing(schema, cell) else str(cell)
    if "reads" in column and undeclared_number(schema, cell) is not None:
        text = "(a number)"
    else:
        text = "true" if text.lower() in ("true", "t", "1") else "false" if text.lower() in ("false", "f", "0") else text
    digest = hashlib.blake2b(text.encode(), digest_size=16, key=HASH_KEY).digest()
    return f"#{int.from_bytes(digest[:8], 'little') % column['buckets']}"


def place_of(schema, column, cell):
    """The place of a category's value; None: it is not listed."""
    if column.get("buckets"):
        bucket = bucket_of(schema, column, cell)
        return column["values"].index(bucket) if bucket in column["values"] else len(column["values"]) - 1
    text = cell if isinstance(cell, str) else f"{cell:g}" if isinstance(cell, (float, np.floating)) else str(cell)
    if text in column["values"]:
        return column["values"].index(text)
    if column.get("named"):  # under privacy: the last stands for all others
        text = "" if is_missing(schema, text) else text
        return column["values"].index(text) if text in column["values"] else len(column["values"]) - 1
    if is_missing(schema, text):
        return column["values"].index("") if "" in column["values"] else column.get("missing")
    return None


def number_of(schema, column, cell):
    """A number, of a date the days since 1970-01-01; None: the cell is neither."""
    if "reads" in column:
        number = undeclared_number(schema, cell)
        return column.get("missing", 0.0) if number is None else number
    if is_missing(schema, cell):
        return column.get("missing")
    try:
        if column["type"] == "date":
            if isinstance(cell, str):
                cell = datetime.datetime.strptime(cell, column["format"])
            days = np.datetime64(str(cell)[:10], "D") - np.datetime64("1970-01-01", "D")
            return float(days.astype(int))
        if isinstance(cell, str):
            cell = cell.replace(schema.get("thousands", ""), "") if schema.get("thousands") else cell
            cell = cell.replace(schema.get("decimal", "."), ".")
        value = float(cell)
        return value if math.isfinite(value) else None
    except (ValueError, TypeError):
        return None
