"""Rows of a table as the features that a model takes: dist/data/schema.hpp, by the columns' names."""

import datetime
import math

import numpy as np

from . import layers as network_layers

MISSING = {"", "na", "n/a", "nan", "null", "?"}
SHOWN = 3  # rows of each problem


def features_of(schema, frame):
    """float64 [n, features] of a DataFrame or {column: values}: clipped to the public ranges, mapped to [0, 1].

    Columns are found by name, in any order; others are left out. ModelError, with every problem at once: columns that
    are not there, texts that are no number or date, categories that are not listed, gaps without a rule.
    """
    if schema.get("withheld"):
        raise network_layers.ModelError("the ranges of its columns were found in private records, and stayed with their owner")
    lacking = [column["name"] for column in schema["column"] if column["name"] not in frame]
    if lacking:
        raise network_layers.ModelError(f"columns are missing: {', '.join(lacking)}")
    problems, parts = [], []
    for column in schema["column"]:
        cells = [text_of(cell) for cell in frame[column["name"]]]
        parts.append(features_of_column(schema, column, cells, problems))
    if problems:
        raise network_layers.ModelError("; ".join(problems))
    return np.column_stack(parts)


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


def place_of(schema, column, cell):
    """The place of a category's value; None: it is not listed."""
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
