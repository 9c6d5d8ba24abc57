"""``llm graphrag query``: one SELECT or openCypher query over the file, written by hand or by a model."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .model_options import ModelChoice, model_options, refuse_without_model
from .options import EXIT_BUDGET, EXIT_INTERRUPTED, database_option, errors_in_one_line, json_option, refuse
from .query_printer import print_csv, print_json, print_rows, print_schema, print_written
from .values import Number

if TYPE_CHECKING:
    from ..answer.written_query import Written
    from ..store.query import Rows

MODEL_HELP = "A model of llm, or an alias, that writes the query; QUERY is then a question."


@click.command()
@click.argument("query", required=False)
@database_option
@click.option("--cypher", is_flag=True, help="The query is openCypher (extra cypher), not SQL.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=200, show_default=True, help="At most this many rows."
)
@click.option(
    "--time-limit",
    type=Number(min=0.05, max=60),
    default=1,
    show_default=True,
    metavar="SECONDS",
    help="End the query after this.",
)
@click.option("--schema", is_flag=True, help="Show what can be queried: tables, and the types and relations in use.")
@model_options
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@errors_in_one_line
def query(
    query: str | None,
    database: Path,
    cypher: bool,
    limit: int,
    time_limit: float,
    schema: bool,
    model: ModelChoice,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Ask the file in SQL, or have a model write the SQL.

    QUERY is one SELECT over the tables and views that --schema lists; a QUERY of - is
    read from standard input. It cannot change anything: it runs in a process of its
    own, on a file opened read-only, may read nothing else, and is ended after a second.

    With --cypher it is openCypher over the facts, copied into memory: entities are
    nodes labelled with their type, relations are relationships.

    With -m MODEL, QUERY is a question. The model gets the list of --schema and writes
    a query, which is shown and run like any other; if it fails, or finds nothing, the
    model may mend it, once each. The rows are not sent to the model.

    Exit status: 0 done, also if there are no rows; 1 the query cannot be run, or took
    too long, or the model failed; 4 the budget did not allow the call.

    \b
    Examples:
      llm graphrag query "SELECT head, tail FROM kg_facts WHERE relation = 'employer'"
      llm graphrag query --schema
      llm graphrag query - --csv < report.sql > report.csv
      llm graphrag query --cypher "MATCH (a)-[:employer]->(b) RETURN a.name, b.name"
      llm graphrag query -m gpt-4o-mini "Which people are named in the most notes?"
    """
    if as_csv and as_json:
        raise click.UsageError("Give --csv or --json, not both.")
    if schema:
        _schema(query, database, model, as_csv, as_json)
        return
    if query is None:
        raise click.UsageError("Give a query, or --schema to see what can be queried.")
    if query == "-":
        query = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if model.name is not None:
        written = _written(database, query, model, cypher, limit, time_limit)
        print_written(written, as_csv, as_json)
        sys.exit(_exit_status(written))
    refuse_without_model()
    rows = _run(database, query, cypher, limit, time_limit)
    if as_csv:
        print_csv(rows)
    elif as_json:
        print_json(asdict(rows))
    else:
        print_rows(rows)


def _run(database: Path, query: str, cypher: bool, limit: int, seconds: float) -> Rows:
    from ..store.cypher import CypherQueries
    from ..store.query import Queries

    with CypherQueries(database) if cypher else Queries(database) as queries:
        return queries.run(query, rows=limit, seconds=seconds)


def _written(
    database: Path, question: str, model: ModelChoice, cypher: bool, limit: int, seconds: float
) -> Written:  # fmt: skip
    from ..answer.written_query import answer_by_query
    from ..failures import Stopped
    from ..ledger import BudgetExceeded

    if not question.strip():
        raise click.UsageError("The question is empty.")
    if database.exists() and not (os.access(database, os.W_OK) and os.access(database.resolve().parent, os.W_OK)):
        raise click.ClickException(
            f"{database} cannot be written, and what a model is asked is counted in that file. Write the query"
            f" yourself, or ask a copy: cp {database} copy.db; llm graphrag query -d copy.db …"
        )
    try:
        with model.caller(database) as caller:
            return answer_by_query(database, question, caller, cypher=cypher, rows=limit, seconds=seconds)
    except BudgetExceeded as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(EXIT_BUDGET)
    except Stopped:
        sys.exit(EXIT_INTERRUPTED)


def _schema(query: str | None, database: Path, model: ModelChoice, as_csv: bool, as_json: bool) -> None:
    from ..store.query import open_at_rest
    from ..store.vocabulary import vocabulary

    if query is not None or model.name is not None or as_csv:
        raise click.UsageError("--schema stands alone, or with --json.")
    refuse("does nothing with --schema, which stands alone, or with --json.", "cypher", "limit", "time_limit")
    with open_at_rest(database) as connection:
        words = vocabulary(connection)
    print_schema(words, as_json)


def _exit_status(written: Written) -> int:
    if written.trouble is not None and written.rows is None:
        return {"budget": EXIT_BUDGET, "interrupted": EXIT_INTERRUPTED}.get(written.trouble.kind, 1)
    return 0 if written.rows is not None else 1


next(parameter for parameter in query.params if parameter.name == "model").help = MODEL_HELP
