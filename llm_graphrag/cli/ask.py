"""``llm graphrag ask``: the evidence for a question, or a model's answer out of it, cited."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..store.connection import cannot_be_written, is_writable
from .answer_printer import Printer
from .model_options import ModelChoice, model_options, refuse_without_model
from .options import (
    EXIT_BUDGET,
    EXIT_INTERRUPTED,
    EXIT_SKIPPED,
    database_option,
    errors_in_one_line,
    json_option,
    open_knowledge_base,
    refuse,
)

if TYPE_CHECKING:
    from ..answer.ask import Answer, Trouble
    from ..models import Caller

NOT_COUNTED = ", and what a model is asked is counted there. Leave out -m to see the evidence"
MODEL_HELP = "A model of llm, or an alias, that answers from the passages. Without it no model is asked."


@click.command()
@click.argument("question")
@database_option
@click.option("-k", "--k", "k", type=click.IntRange(1, 100), help="How many passages.  [default: 5; 10 for a model]")
@click.option(
    "--where", metavar="SQL", help="Only documents that meet this SQL condition, such as \"folder = 'work'\"."
)
@click.option("--tag", help="Only documents with this tag, or one nested in it.")
@click.option("--since", metavar="DATE", help="Only documents updated on this day or later.")
@click.option("--strict", is_flag=True, help="Refuse if a note to be cited has changed or is gone since it was read.")
@click.option("--no-vectors", is_flag=True, help="Compare words and names only, not meaning.")
@model_options
@click.option("--deep", is_flag=True, help="Have the model first read the best passages it has not read (extract).")
@click.option(
    "--deep-windows",
    type=click.IntRange(1, 100),
    default=4,
    show_default=True,
    help="With --deep: at most this many, one call each.",
)
@click.option("--explore", is_flag=True, help="Have the model first walk the graph from what the question names.")
@click.option("--no-stream", is_flag=True, help="Print the answer when it is complete, not sentence by sentence.")
@click.option("--no-llm", is_flag=True, help="Ask no model, even where -m is given: show the evidence.")
@click.option(
    "-n",
    "--no-log",
    is_flag=True,
    help="Keep the question and its answer neither in the knowledge base nor in llm's log.",
)
@json_option
@errors_in_one_line
def ask(
    question: str,
    database: Path,
    model: ModelChoice,
    no_llm: bool,
    deep: bool,
    deep_windows: int,
    explore: bool,
    no_stream: bool,
    no_log: bool,
    no_vectors: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer a question with cited passages.

    Without a model the evidence is shown: the passages that fit best, and the facts
    that join them. Each citation gives the document, the heading, the line and the
    sentence as it stands there. If the notes do not seem to hold an answer, that is
    said first. A QUESTION of - is read from standard input.

    With -m MODEL the passages are sent to that model, in one call, and it answers
    from them. Every citation is checked before it is printed, and a sentence that
    no passage supports is marked; if no citation holds, the evidence is shown.
    Unless -m is given, no model is asked, whatever llm's default model is.

    With --explore the model first goes from what the question names along the facts
    of the graph, a hop at a time: at most 3 rounds of 5 relations, 3 things or
    groups of things and 50 facts, in at most 5 calls before that for the answer. What
    it found is shown to it with the passages, each fact with its sentence.

    Exit status: 0 answered, or said that the notes hold no answer; 1 the model
    failed; 3 answered, but not all was read that --deep was to read, or --explore
    was cut off; 4 the budget did not allow the call. Where no model answered, the evidence is shown.

    \b
    Examples:
      llm graphrag ask "Who repaired the harbour clock?"
      llm graphrag ask "What did we agree with the printer?" --tag work -k 3
      echo "Where is the Heron kept?" | llm graphrag ask - --json
      llm graphrag ask "Who repaired the Heron?" -m gpt-4o-mini --budget 0.01usd
      llm graphrag ask "Who paid for the dome?" -m qwen2.5 --deep
      llm graphrag ask "Where was the dome's architect born?" -m qwen2.5 --explore
    """
    if question == "-":
        question = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if model.name is None:
        refuse_without_model("deep", "explore")
    if not deep:
        refuse("is of --deep; add that, or leave it out.", "deep_windows")
    model = replace(model, name=None if no_llm else model.name, log=model.log and not no_log)
    log = not no_log and is_writable(database)
    if model.name and database.exists() and not is_writable(database):
        raise click.ClickException(cannot_be_written(database, NOT_COUNTED))
    printer = Printer(stream=not (no_stream or as_json))
    with open_knowledge_base(database, readonly=not (model.name or log)) as kb, ExitStack() as stack:
        caller, trouble = _caller(model, kb.path, stack)
        if caller is not None:
            printer.wait_for(model, deep)
            options |= {"caller": caller, "on_text": printer.on_text, "deep": deep, "deep_windows": deep_windows}
            options["explore"] = explore
            options["progress"] = printer.progress
        chosen = kb.schema.name
        try:
            answer = kb.ask(question, vectors=not no_vectors, log=log, **options)
        finally:
            printer.clear()
        answer = replace(answer, trouble=answer.trouble or trouble)
        printer.finish(answer, as_json)
        if not chosen and kb.schema.name:
            click.echo(f"To read, a schema is needed, and {kb.schema.name} is now in force.", err=True)
    if status := _exit_status(answer):
        sys.exit(status)


def _caller(model: ModelChoice, path: Path, stack: ExitStack) -> tuple[Caller | None, Trouble | None]:
    """The model, if one is to be asked, or why it cannot be."""
    if model.name is None:
        return None, None
    from ..answer.ask import Trouble
    from ..models import ModelError

    try:
        return stack.enter_context(model.caller(path)), None
    except ModelError as error:
        return None, Trouble("call", str(error))


def _exit_status(answer: Answer) -> int:
    if answer.trouble is not None:
        return {"budget": EXIT_BUDGET, "interrupted": EXIT_INTERRUPTED}.get(answer.trouble.kind, 1)
    unread = answer.deep is not None and (answer.deep.unread or answer.deep.stopped)
    cut_off = answer.explored is not None and answer.explored.trouble
    return EXIT_SKIPPED if unread or cut_off else 0


next(parameter for parameter in ask.params if parameter.name == "model").help = MODEL_HELP
