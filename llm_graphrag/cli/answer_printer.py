"""An answer on a terminal: its sentences as they come, then what each number stands for, and what it cost.

Nothing is printed that a terminal would obey: sentences were cleaned when they were
checked, and everything else goes through ``routes.snippets.visible``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ..text.counted import counted
from .options import ProgressLine

if TYPE_CHECKING:
    from ..answer.ask import Answer, Citation, Deepened, Explored
    from ..answer.citations import Sentence
    from ..answer.facts import Fact
    from .model_options import ModelChoice

__all__ = ["Printer"]

EXPLORED_UNTIL = {
    "enough": "the model had enough", "none taken": "the model took none of what led on",
    "nothing new": "nothing more led on", "cap": "as far as it may go", "budget": "the budget ended it",
    "stopped": "interrupted", "unreadable": "the model's choice could not be used", "error": "the model failed",
}  # fmt: skip
BROKEN_OFF = "(Here the answer broke off: it is not complete. The passages it was made from are:)"


class Printer:
    """Prints an answer: its sentences as they come, unless that is not wanted, and then what it rests on."""

    def __init__(self, stream: bool) -> None:
        self.on_text = self._say if stream else None
        self.progress: ProgressLine | None = None
        self._said = False
        self._waiting = ""

    def wait_for(self, model: ModelChoice, deep: bool) -> None:
        """Show on a terminal what is being waited for; it goes when something else is printed."""
        if deep:
            self.progress = ProgressLine()
        elif sys.stderr.isatty():
            self._waiting = f"Asking {model.name} …"
            click.echo(self._waiting, err=True, nl=False)

    def finish(self, answer: Answer, as_json: bool) -> None:
        if as_json:
            from .search import dump

            click.echo(dump(asdict(answer), indent=2))
        else:
            self._print(answer)
        for line in _troubles(answer):
            click.echo(line, err=True)

    def clear(self) -> None:
        """Take away what was shown while waiting."""
        if self.progress is not None:
            self.progress.close()
            self.progress = None
        if self._waiting:
            click.echo("\r" + " " * len(self._waiting) + "\r", err=True, nl=False)
            self._waiting = ""

    def _say(self, piece: str) -> None:
        from ..answer.citations import UNSUPPORTED

        self.clear()
        marked = piece.endswith(UNSUPPORTED)
        click.echo(piece.removesuffix(UNSUPPORTED) if marked else piece, nl=False)
        if marked:
            click.echo(click.style(UNSUPPORTED, fg="yellow"), nl=False)
        self._said = True

    def _print(self, answer: Answer) -> None:
        from ..answer.citations import printed

        if answer.sentences and not self._said:
            for sentence in answer.sentences:
                self._say(printed(sentence))
        if self._said:
            click.echo(f"\n{BROKEN_OFF}" if answer.trouble else "\n")
        if answer.hint:
            click.echo(_visible(answer.hint))
        for citation in answer.citations:
            _print_citation(citation, answer.sentences)
        if answer.facts and not answer.sentences:
            click.echo("How they are joined:")
            for fact in answer.facts:
                _print_fact(fact)
        for line in _wanting(answer):
            click.echo(line)
        for line in _footer(answer):
            click.echo(click.style(line, dim=True))


def _visible(text: str) -> str:
    from ..routes.snippets import visible

    return visible(text)


def _print_citation(citation: Citation, sentences: Sequence[Sentence]) -> None:
    """Where it stands and what it says; further sentences of the same passage follow, each with its line."""
    heading = f"  {_visible(citation.heading)}" if citation.heading else ""
    stale = click.style(f"  ({citation.stale})", fg="red") if citation.stale else ""
    click.echo(f"[{citation.number}] {click.style(_place(citation), fg='cyan')}{heading}{stale}")
    click.echo(f"    {_visible(citation.quote)}")
    others = {s.start: s for sentence in sentences for s in sentence.citations if s.number == citation.number}
    for start in sorted(others.keys() - {citation.start}):
        line = "" if citation.column else click.style(f"  (line {others[start].line})", dim=True)
        click.echo(f"    {_visible(others[start].quote)}{line}")


def _place(citation: Citation) -> str:
    """Document and line, or for a row of a table document, row and column."""
    cell = [f"row {citation.row}"] if citation.row is not None else []
    cell += [f"column {_visible(citation.column)}"] if citation.column else []
    return f"{_visible(citation.uri)}" + (f" ({', '.join(cell)})" if cell else f":{citation.line}")


def _print_fact(fact: Fact) -> None:
    number = f"[{fact.number}]" if fact.number else f"({_visible(fact.uri)}:{fact.line})"
    click.echo(f"  {_visible(fact.head)} —{_visible(fact.relation).replace('_', ' ')}→ {_visible(fact.tail)} {number}")
    click.echo(click.style(f"    {_visible(fact.quote)}", dim=True))


def _wanting(answer: Answer) -> Iterator[str]:
    """What has no support, and what is missing."""
    unsupported = [sentence for sentence in answer.sentences if not sentence.supported]
    if unsupported:
        reasons = "; ".join(dict.fromkeys(_visible(sentence.why) for sentence in unsupported))
        yield f"(unsupported) {len(unsupported):,} of {counted(len(answer.sentences), 'sentence')}: {reasons}."
    if answer.missing:
        yield f"Not in the notes, says the model: {_visible(answer.missing)}"


def _footer(answer: Answer) -> Iterator[str]:
    """What was looked through, and what the model used."""
    searched = answer.searched
    said = (
        f"Searched {counted(searched.chunks, 'passage')} of {counted(searched.documents, 'note')} and "
        f"{counted(searched.entities, 'entity', 'entities')}"
    )
    if searched.words:
        said += f" for {_visible(', '.join(searched.words))}"
    if searched.linked:
        said += f"; named: {_visible(', '.join(searched.linked))}"
    if searched.unknown:
        said += f"; not known by name: {_visible(', '.join(searched.unknown))}"
    yield said + "."
    if answer.deep is not None:
        yield f"Read before: {_read(answer.deep)}."
    if answer.explored is not None:
        explored = answer.explored
        yield (
            f"Explored before: {counted(explored.rounds, 'round')}, {_explored(explored)}"
            f" ({EXPLORED_UNTIL[explored.stop]})."
        )
    if answer.usage is not None and answer.usage.calls:
        usage = answer.usage
        cost = f"${usage.cost:.4f}" if usage.cost is not None else "price not known"
        calls = counted(usage.calls, "call")
        tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
        lost = f"; {usage.lost:,} cut off, which may be charged" if usage.lost else ""
        yield f"{_visible(answer.model or '')}: {calls}{lost}, {tokens}, {cost}."


def _explored(explored: Explored) -> str:
    """What was found in the graph, what of it the model was not shown, and what was not even walked over."""
    said = f"{counted(explored.facts, 'fact')} found"
    if explored.unshown:
        said += f", of which {explored.unshown:,} had no room in what the model was shown"
    if explored.left_out:
        from ..routes.agentic import Caps

        said += f", and {explored.left_out:,} or more passed over, since a round takes {Caps().triples}"
    return said


def _read(deep: Deepened) -> str:
    """How much of what was to be read was."""
    if not deep.read:
        return "nothing" if deep.windows or deep.stopped else "nothing, for nothing was new"
    of = counted(deep.windows, "window")
    return f"{of if not deep.unread else f'{deep.read:,} of {of}'}; {counted(deep.facts, 'statement')} kept"


def _unread(deep: Deepened) -> str:
    """What was to be read before the answer and was not, and why."""
    said = "Nothing could be read before the answer."
    if deep.read:
        said = f"Of {counted(deep.windows, 'window')} to be read before the answer, {deep.unread:,} could not be."
    if deep.failed and deep.error != deep.stopped:
        said += f" Failed: {_visible(deep.error)}."
    if deep.stopped:
        said += f" It stopped: {_visible(deep.stopped)}"
    elif deep.unread > deep.failed:
        said += " A reply did not fit; what is left is read with the next question."
    return said


def _troubles(answer: Answer) -> Iterator[str]:
    """What went wrong, for standard error."""
    late = sorted({_visible(citation.uri) for citation in answer.citations if citation.stale})
    if late:
        yield f"No longer as it was read: {', '.join(late)}. Bring it up to date with: llm graphrag add"
    deep = answer.deep
    if deep is not None and (deep.unread or deep.stopped):
        yield _unread(deep)
    if answer.explored is not None and answer.explored.trouble:
        yield f"The graph was not explored to the end: {_visible(answer.explored.trouble)}"
    if answer.trouble is not None:
        yield f"Error: No model has answered, so the evidence is shown. {_visible(answer.trouble.message)}"
