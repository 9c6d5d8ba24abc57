"""What a dry run can tell beyond the names of files: which values the schema would split at their commas.

Only keys that the schema marks as lists are split, so a person who sees "Paris, France"
here knows which key to change before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..facts.claims import Claim
from ..facts.template import Template
from .note import Note
from .report import Split


def may_split(template: Template) -> bool:
    """Whether the schema has any list, so that notes are worth reading for a preview."""
    return any(relation.is_list for relation in template.relations) or any(
        attribute.is_list for attribute in template.attributes
    )


def splits(path: str, note: Note, claims: Sequence[Claim]) -> Iterator[Split]:
    """The values of fields that became several claims without being lists of links."""
    written = [claim for claim in claims if "key" in claim.detail and "at" not in claim.detail]
    for (start, _, key), group in groupby(written, key=_field):
        values = tuple(claim.tail for claim in group)
        if len(values) > 1:
            yield Split(path, note.text.count("\n", 0, start) + 1, key, values)


def _field(claim: Claim) -> tuple[int, int, str]:
    return claim.start, claim.end, str(claim.detail["key"])
