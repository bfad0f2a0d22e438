"""Accounts of privacy budgets, as their owner looks at them."""

from __future__ import annotations

import html
import os
from typing import Any

from . import driver


class Statement(str):
    """A text that a notebook shows as a page."""

    page: str

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 40em; border: 0"></iframe>'


class Ledger:
    """The file (SQLite) that keeps what was released about each population. Each look verifies all of its hash chain.

    As a context manager: at the end of the block the chain must still have the head that it had at its beginning, so nobody
    put an old copy back or wrote it anew meanwhile.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = os.path.abspath(path)

    def open_account(self, data: str | os.PathLike, epsilon: float, delta: float = 0.0) -> dict[str, Any]:
        """Adds a dataset (HDF5) to its population's account, opened with this budget if there is none; the account."""
        return driver.run("account", "--ledger", self.path, "--data", os.path.abspath(data), "--budget", epsilon, "--budget-delta", delta)

    def spent(self, population: str) -> dict[str, Any]:
        """{"spent_epsilon", "spent_delta", "budget_epsilon", "budget_delta", "payments", …} of an account."""
        return driver.run("account", "--ledger", self.path, "--population", population)

    def populations(self) -> list[str]:
        return [one["population"] for one in self.document()["statements"]]

    def document(self) -> dict[str, Any]:
        """`holdfast statement` as an object: what was released, and under which guarantee. It may be published."""
        return driver.run("statement", "--ledger", self.path)

    def statement(self) -> Statement:
        """The same as text, which shows itself in a notebook."""
        said = Statement(driver.text("statement", "--ledger", self.path))
        said.page = self.page()
        return said

    def page(self) -> str:
        """The same as one self-contained page of HTML."""
        with driver.private_folder() as folder:
            path = os.path.join(folder, "statement.html")
            driver.text("statement", "--ledger", self.path, "--html", path)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def head(self) -> str:
        """Of the hash chain: to be kept elsewhere, and given to check() later."""
        return self.document()["ledger"]["chain_head"]

    def check(self, head: str) -> None:
        """InputError unless the chain ever had this head."""
        driver.run("account", "--ledger", self.path, "--check", "--head", head)

    def _repr_html_(self) -> str:
        return self.statement()._repr_html_()

    def __enter__(self) -> Ledger:
        self._head = self.head() if os.path.exists(self.path) else None
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is None and self._head is not None:
            self.check(self._head)
