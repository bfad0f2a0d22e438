"""Tables and their schemas, as files that the program reads."""

from __future__ import annotations

import csv
import datetime
import json
import math
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import driver
from .schema import MISSING

Names = list[str]


class Schema(dict[str, Any]):
    """What the columns of a table are, as `holdfast schema` writes it: whoever gives one says that it is public knowledge.

    {"column": [{"name": …, "type": "number", "range": [low, high], "missing": value}, {"name": …, "type": "category",
    "values": […]}, {"name": …, "type": "date", "format": "%d.%m.%Y", "range": […]}], "classes": […]}. Ranges and
    `missing` are in a column's own units; what lies outside counts as the nearer end.
    """

    @classmethod
    def from_public(cls, ranges: Mapping[str, Sequence] | None = None, categories: Mapping[str, Iterable] | None = None, *,
                    classes: Iterable | None = None, missing: Mapping[str, float] | None = None) -> Schema:
        """Of public facts: {column: (low, high)} of numbers, {column: values} of categories, the label's values, and
        {column: value} that a missing number counts as."""
        columns: list[dict[str, Any]] = [{"name": name, "type": "number", "range": [float(end) for end in ends]} for name, ends in (ranges or {}).items()]
        columns += [{"name": name, "type": "category", "values": [text_of(value) for value in values]} for name, values in (categories or {}).items()]
        for column in columns:
            if missing and column["name"] in missing:
                column["missing"] = float(missing[column["name"]])
        return cls(column=columns, **({} if classes is None else {"classes": [text_of(value) for value in classes]}))

    @classmethod
    def read(cls, path: str | os.PathLike) -> Schema:
        """Of a TOML file that `holdfast schema` wrote and its owner filled in."""
        with open(path, "rb") as file:
            return cls(tomllib.load(file))

    @classmethod
    def proposed(cls, X: Any, y: Any = None) -> Schema:
        """What a table looks like. It is private: ranges are left open, as `[]`, and categories and classes are those of
        the records (private_parts()). It becomes public when its owner fills in what anybody may know, strikes out the rest,
        and says so (declared_public())."""
        with driver.private_folder() as folder:
            named, columns = columns_of(X)
            label = [] if y is None else ["label"]
            write_csv(os.path.join(folder, "table.csv"), named + label, columns + [texts(y)] * len(label))
            options = [word for name in label for word in ("--label", name)]
            found = driver.run("schema", "table.csv", "--delimiter", ",", *options, "--force", "--out", "table.toml", folder=folder)
        schema = cls({**found["schema"], "found": True})
        for column in schema["column"]:
            if column["type"] != "category":
                column["range"] = []
        return schema

    def open_columns(self) -> Names:
        """Columns whose public range nobody has filled in."""
        return [column["name"] for column in self["column"] if column.get("range") == []]

    def private_parts(self) -> list[str]:
        """What of it was found in records and stays private, until it is paid for or declared_public(); and what is open."""
        said = [f"column {name!r}: no range is filled in: state one, or have it measured for a part of epsilon (schema=None, with ids)" for name in self.open_columns()]
        if self.get("found"):
            said += [f"column {column['name']!r}: its {'values' if 'values' in column else 'range'}" for column in self["column"] if column.get("values") or column.get("range")]
            said += [f"the label's {part.replace('_', ' ')}" for part in ("classes", "target_range") if self.get(part)]
        return said

    def declared_public(self) -> Schema:
        """The same, of which its owner says that all of it is public knowledge, whatever the records are."""
        return Schema({key: value for key, value in self.items() if key != "found"})

    def write(self, path: str | os.PathLike) -> None:
        """TOML, for its owner alone (0600)."""
        lines = [f"{key} = {toml(value)}" for key, value in self.items() if key != "column"]
        for column in self["column"]:
            lines += ["", "[[column]]", *(f"{key} = {toml(value)}" for key, value in column.items())]
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(entry) for entry in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_parquet(path: str | os.PathLike) -> Any:
    """The table of a Parquet file, by pyarrow or else by pandas: as any other for fit and predict."""
    try:
        from pyarrow import parquet
    except ImportError:
        try:
            import pandas
            return pandas.read_parquet(path)
        except ImportError as error:
            raise ImportError("Parquet is read by pyarrow: pip install pyarrow") from error
    return parquet.read_table(path)


def eager(X: Any) -> Any:
    """A table whose cells are there: of a lazy frame what it collects."""
    return X.collect() if hasattr(X, "collect") else X


def is_frame(X: Any) -> bool:
    return not hasattr(X, "toarray") and (isinstance(X, Mapping) or hasattr(X, "columns"))


def columns_of(X: Any) -> tuple[Names, list[list[str]]]:
    """(names, cells of each column) of a DataFrame of pandas or polars, a pyarrow Table, {column: values}, or an array
    [n, columns], whose columns are x0, x1, …"""
    if not is_frame(X):
        return [f"x{place}" for place in range(X.shape[1])], [texts(column) for column in X.T]
    named = list(X) if isinstance(X, Mapping) else list(getattr(X, "column_names", X.columns))
    return [str(name) for name in named], [texts(X[name]) for name in named]


def category_columns(X: Any) -> Names:
    """Names of a table's columns that their owner declared to be categories by their type. Other types are often inferred
    from the cells, as a reader of files does, so that one cell changes them: they say nothing."""
    def type_of(column: Any) -> str:
        return str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if not is_frame(X):
        return []
    named = list(X) if isinstance(X, Mapping) else list(getattr(X, "column_names", X.columns))
    return [str(name) for name in named if type_of(X[name]).startswith(("category", "categorical", "enum", "dictionary"))]


def texts(values: Iterable) -> list[str]:
    cells = values.tolist() if hasattr(values, "tolist") else values
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "f":
        return [number_text(cell) for cell in cells]
    return [text_of(cell) for cell in cells]


def id_texts(ids: Any) -> list[str]:
    """The ids of records as cells that the program reads, which refuses missing ones and fractions."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise TypeError(f"ids is a list of ids, not {ids!r}: write [{ids!r}]")
    kind = getattr(ids, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize < 8 and (np.abs(np.asarray(ids)) >= 2 ** (np.finfo(kind).nmant + 1)).any():
        raise ValueError(f"ids of type {kind} are rounded: give integers or text")
    return texts(ids if hasattr(ids, "tolist") else list(ids))


def text_of(value: Any) -> str:
    """A cell: empty where the value is missing, numbers with all their digits. Text that the program would read as a
    missing cell, or without its outer spaces, is quoted: 'NA'."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, str):
        quoted = len(value) > 1 and value[0] == value[-1] == "'"
        return f"'{value}'" if value and (quoted or value != value.strip() or value.lower() in MISSING) else value
    if value is None or str(value) in ("NaT", "<NA>"):
        return ""
    if isinstance(value, datetime.date) or hasattr(value, "strftime"):
        return value.strftime("%Y-%m-%d")
    return number_text(value) if isinstance(value, (float, np.floating)) else str(value)


def number_text(value: Any) -> str:
    """A number by its value alone, whichever type its column has: 7.0 is 7. Empty: it is none."""
    value = float(value)
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def write_csv(path: str, names: Names, columns: Sequence[Sequence[str]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def fresh(name: str, taken: Iterable[str]) -> str:
    """The name, or with so many _ behind it that no other is equal."""
    while name in taken:
        name += "_"
    return name
