"""Encode the state of the list of runs as its address, so a shared link shows the same list."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from assay.questions.runs.runs import NEWEST_FIRST


@dataclass(frozen=True, slots=True)
class RunsAddress:
    """State of the list of runs. ``page_size``: number of runs per page."""

    where: tuple[str, ...]
    sort: str
    offset: int
    columns: tuple[str, ...]
    page_size: int
    default_sort: str = NEWEST_FIRST
    """Default order, which the address omits."""
    picked_run_ids: tuple[str, ...] = ()
    """Ids of the runs selected for comparison."""

    def address(self) -> str:
        """Return the address of the list."""
        pairs = [
            *(("where", text) for text in self.where),
            *(("columns", name) for name in self.columns),
            *(("pick", run_id) for run_id in self.picked_run_ids),
        ]
        if self.sort != self.default_sort:
            pairs.append(("sort", self.sort))
        if self.offset:
            pairs.append(("offset", str(self.offset)))
        return f"/runs?{urlencode(pairs)}" if pairs else "/runs"

    def address_sorted_by(self, name: str) -> str:
        """Return the address of the list sorted by a column, or in reverse order if that is the current order."""
        return replace(self, sort=f"-{name}" if self.sort == name else name, offset=0).address()

    def direction(self, name: str) -> str:
        """Return the sort direction of a column as an ARIA value."""
        return "ascending" if self.sort == name else "descending" if self.sort == f"-{name}" else "none"

    def address_without(self, condition: str) -> str:
        """Return the address without a condition."""
        return replace(self, where=tuple(text for text in self.where if text != condition), offset=0).address()

    def page_address(self, pages: int) -> str:
        """Return the address ``pages`` pages further (negative: back)."""
        return replace(self, offset=max(0, self.offset + pages * self.page_size)).address()

    def address_without_conditions(self) -> str:
        """Return the address without conditions."""
        return replace(self, where=(), offset=0).address()

    def address_without_picked_runs(self) -> str:
        """Return the address without runs selected for comparison."""
        return replace(self, picked_run_ids=()).address()

    def query(self) -> str:
        """Return the conditions as a query string for the API."""
        return urlencode([("where", text) for text in self.where])
