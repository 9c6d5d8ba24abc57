"""How merges, and the entities that they are about, look on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..sources.files import printable
from ..text.counted import counted
from .proposals_printer import logged, print_log

if TYPE_CHECKING:
    from ..review.merge_details import Detail, Listed, Side, Stated
    from ..review.merge_rows import Decided

__all__ = [
    "decided", "described", "described_whole", "logged", "print_decided", "print_list", "print_log", "print_whole",
]  # fmt: skip

STATED = 12  # facts of an entity that are printed
ARROWS = {"out": "{relation} → {other}", "in": "← {relation} {other}", "attribute": "{relation}: {other}"}


# -- as JSON --------------------------------------------------------------------------


def described(row: Listed) -> dict[str, Any]:
    """A pair, as JSON."""
    return asdict(row)


def described_whole(found: Detail) -> dict[str, Any]:
    """A pair with both entities and what was decided, as JSON."""
    sides: dict[str, Any] = {
        "kept_entity": asdict(found.kept),
        "merged_entity": asdict(found.merged),
        "shared": [asdict(item) for item in found.shared],
        "between": [asdict(item) for item in found.between],
        "differing": [{"attribute": name, "kept": one, "merged": other} for name, one, other in found.differing],
    }
    return described(found.listed) | sides | {"decisions": [logged(row) for row in found.log]}


def decided(done: Decided) -> dict[str, Any]:
    """What a decision changed, as JSON."""
    return asdict(done)


# -- on a terminal --------------------------------------------------------------------


def print_list(rows: Sequence[Listed], numbers: Mapping[str, int], shown: Collection[str]) -> None:
    """Pairs, and how many there are that are not shown."""
    for row in rows:
        click.echo(f"{row.id:>4}  " + click.style(_pair(row), bold=True))
        click.echo("      " + "; ".join(_measures(row)))
    if not rows:
        click.echo("No pair waits for a decision." if set(shown) == {"suggested"} else "There is no such pair.")
    others = [f"{n:,} {status}" for status, n in sorted(numbers.items()) if status not in shown]
    if others:
        click.echo("Also there: " + ", ".join(others) + " (--status).")
    left = sum(n for status, n in numbers.items() if status in shown) - len(rows)
    if left > 0:
        click.echo(f"… and {left:,} more; --limit 0 lists all")
    if not rows and not others:
        click.echo("Look for names that are alike with: llm graphrag merges suggest")
    elif any(row.status == "suggested" for row in rows):
        click.echo("Both side by side: llm graphrag merges show NUMBER")


def print_whole(found: Detail) -> None:
    """A pair with all that there is to see of it."""
    row = found.listed
    click.echo(click.style(_pair(row), bold=True))
    click.echo("; ".join(_measures(row)))
    for word, side in (("Kept", found.kept), ("Merged", found.merged)):
        click.echo("")
        _print_side(word, side)
    click.echo("")
    _print_facts("Stated of both, one fact if they are joined:", found.shared)
    _print_facts("Stated between the two, of itself if they are joined:", found.between)
    for name, one, other in found.differing:
        click.echo(f"They differ: {printable(name)} {printable(', '.join(one))} and {printable(', '.join(other))}")
    if row.status in ("suggested", "undone"):
        click.echo(f"Decide: llm graphrag merges approve|reject {row.id}")
    print_log(found.log)


def _print_side(word: str, side: Side) -> None:
    type_ = f" ({printable(side.type)})" if side.type else ""
    click.echo(f"{word}: " + click.style(printable(side.name), bold=True) + type_)
    if side.id is None:
        click.echo("  No note names it any more; the decision holds for when one does.")
        return
    for label, values in (("also called", side.aliases), ("notes", side.notes), ("merged with", side.with_it)):
        if values:
            click.echo(f"  {label}: {printable(', '.join(values))}")
    for passage in side.passages:
        name = click.style(_line(passage.name), underline=True)
        click.echo(f"  {printable(passage.uri)}:{passage.line}" + (" (private)" if passage.private else ""))
        click.echo(f"    {_line(passage.before)}{name}{_line(passage.after)}")
    if side.chunks > len(side.passages):
        click.echo(f"  … named in {counted(side.chunks, 'passage')} in all")
    for item in side.stated[:STATED]:
        click.echo("  " + _fact(item))
    if len(side.stated) > STATED:
        click.echo(f"  … and {counted(len(side.stated) - STATED, 'more fact')}; --json has them")


def _print_facts(title: str, facts: Sequence[Stated]) -> None:
    if facts:
        click.echo(title)
    for item in facts:
        click.echo("  " + _fact(item))


def print_decided(done: Sequence[Decided]) -> None:
    """What decisions changed."""
    for item in done:
        if item.action == "undo":
            click.echo(f"Taken back: {printable(item.subject)} is {item.status} again.{_change(item.facts)}")
        elif item.action == "approve":
            click.echo(f"Joined: {printable(item.subject)}.{_change(item.facts)}")
        elif item.action == "split":
            click.echo(f"Split: {printable(item.subject.replace(' = ', ' and '))} are two.")
        else:
            click.echo(f"Never to be joined: {printable(item.subject)}.")
    if any(item.action != "undo" for item in done):
        click.echo("To take it back: llm graphrag merges undo " + " ".join(str(item.merge) for item in done))


def _change(facts: int) -> str:
    if not facts:
        return ""
    number = counted(abs(facts), "fact")
    return f" {number} fewer, which both had." if facts < 0 else f" {number} more."


def _pair(row: Listed) -> str:
    ends = ((row.kept, row.kept_type), (row.merged, row.merged_type))
    return printable(" = ".join(f"{name} ({type_})" if type_ else name for name, type_ in ends))


def _measures(row: Listed) -> list[str]:
    measures = [row.status]
    if row.doubt is not None:
        measures.append(f"doubt {row.doubt:.2f}")
    measures.append(printable(row.reason))
    if row.decided_by:
        measures.append(f"by {printable(row.decided_by)} on {row.decided_at}")
    if row.status == "approved" and not row.joined:
        measures.append("not in force: not both are there")
    return measures


def _fact(item: Stated) -> str:
    text = ARROWS[item.direction].format(relation=item.relation.replace("_", " "), other=item.other)
    return printable(text) + (f"  ({item.evidence:,} times)" if item.evidence > 1 else "")


def _line(text: str) -> str:
    """Text of a note on one line."""
    return printable("".join(" " if char.isspace() else char for char in text))
