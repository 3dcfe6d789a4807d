"""Short summaries of records for the Python prompt and for notebooks."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import ClassVar

import msgspec

MOST_NAME = 60  # characters


class Shown:
    """Base class of records whose representation is a summary of kind, name and size."""

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]
    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    def __repr__(self) -> str:
        """Return the kind, the name, the numbers, and the lengths of lists."""
        facts = [
            f"{value} {key}" if counted else f"{key} {value}"
            for key, value, counted in self._facts()
        ]
        return f"<{self.__struct_config__.tag} {self._name()!r}: {', '.join(facts)}>"

    def _repr_html_(self) -> str:
        """Return the summary as an HTML table."""
        name = (str(self.__struct_config__.tag), self._name())
        return table([name, *((key, value) for key, value, _ in self._facts())])

    def _name(self) -> str:
        return str(getattr(self, "name", ""))[:MOST_NAME]

    def _facts(self) -> Iterator[tuple[str, str, bool]]:
        for key in self.__struct_fields__:
            value = getattr(self, key)
            if isinstance(value, tuple | list | Mapping):
                if value:
                    yield key, f"{len(value):,}", True
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield key, f"{value:,.10g}", False


def table(facts: Iterable[tuple[str, str]]) -> str:
    """Return names and values as an HTML table with escaped cells."""
    rows = (f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in facts)
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
