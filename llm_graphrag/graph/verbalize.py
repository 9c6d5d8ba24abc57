"""Paths and facts as text: ``Night Train —directed by→ Lena Holt —born in→ Graz [3]``.

Written from rows, never parsed again; still nobody can be misled by a name: one that holds an
arrow, a bracket or a quotation mark stands in double quotes, with ``\\`` before a quote or a
backslash. A hop against the direction of its triple is drawn ``←directed by—``. Names are shown
on one line, without what would steer a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..text.shortened import shortened
from .hops import Joined
from .paths import Path

__all__ = ["also_text", "arrow", "fact_text", "merged", "path_parts", "path_text", "shown"]

LONGEST = 120  # letters of a name
SPECIAL = frozenset('—→←[]"\\')
SHOWN = 2  # names of many before "and 12 more"


def shown(name: str) -> str:
    """A name as it stands in a text.

    >>> print(shown("Ana"), shown('The "A → B" rule'))
    Ana "The \\"A → B\\" rule"
    """
    name = shortened(name, LONGEST)
    if SPECIAL & set(name) or not name:
        name = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return name


def arrow(relation: str, forward: bool = True) -> str:
    """A relation as a hop in the direction of reading.

    >>> arrow("born_in"), arrow("born_in", False)
    ('—born in→', '←born in—')
    """
    text = shown(relation.replace("_", " "))
    return f"—{text}→" if forward else f"←{text}—"


def path_parts(path: Path) -> list[tuple[str, str]]:
    """A path as pieces to be joined by spaces, each ``("entity", name)`` or ``("hop", arrow)``: for pages."""
    parts = [("entity", shown(path.nodes[0].name))]
    for node, hop in zip(path.nodes[1:], path.hops, strict=True):
        parts += [("hop", arrow(hop.by.relation, hop.by.forward)), ("entity", shown(node.name))]
    return parts


def path_text(path: Path, number: int | None = None) -> str:
    """A path on one line, with the number by which it is cited, if it has one."""
    text = " ".join(piece for _, piece in path_parts(path))
    return text if number is None else f"{text} [{number}]"


def also_text(others: Iterable[Joined]) -> str:
    """What else joins two entities: ``—met→, ←paid—``."""
    return ", ".join(dict.fromkeys(arrow(other.relation, other.forward) for other in others))


def fact_text(head: str, relation: str, tails: Sequence[str], forward: bool = True, number: int | None = None) -> str:
    """Facts of one entity and relation on one line, their other ends merged.

    >>> fact_text("Night Train", "starred", ["Ana", "Ben", "Cleo", "Dan"], number=2)
    'Night Train —starred→ Ana, Ben and 2 more [2]'
    """
    text = f"{shown(head)} {arrow(relation, forward)} {merged(tails)}"
    return text if number is None else f"{text} [{number}]"


def merged(names: Sequence[str], most: int = SHOWN) -> str:
    """Names in their order, each once; past ``most`` they are only counted. One more is not worth hiding.

    >>> merged(["C", "D", "C"]), merged(["C", "D", "E"]), merged(["C", "D", "E", "F"])
    ('C and D', 'C, D and E', 'C, D and 2 more')
    """
    texts = [shown(name) for name in dict.fromkeys(names)]
    if len(texts) > most + 1:
        texts[most:] = [f"{len(texts) - most:,} more"]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]])) if texts else ""
