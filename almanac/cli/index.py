"""``almanac index``: the vectors, which can always be made again from PostgreSQL."""

from typing import Annotated

import typer

from almanac.cli.failures import Failed
from almanac.cli.screen import screen
from almanac.cli.waiting import until_ended
from almanac.client import Client, connect

app = typer.Typer(help="The index of vectors, which can always be made again.")


@app.command()
def verify(
    full: Annotated[bool, typer.Option("--full", help="compare every vector, not a sample of 500")] = False,
) -> None:
    """Compare the index with the records: every chunk, what filters need of it, and some of the vectors."""
    compare(connect(), full)


def compare(client: Client, full: bool = False) -> None:
    found = client.verify_index(full)
    if not found["agrees"]:
        raise Failed(f"the index has {found['missing']} chunks too few and {found['orphans']} too many, "
                     f"{found['stale']} described as they were and {found['unlike']} of {found['compared']} "
                     f"with another vector: {remedy(client)}", found)
    screen.show(found, f"The index holds the {found['expected']} chunks that the records say, and no other; "
                       f"{found['compared']} vectors were compared.")


def remedy(client: Client) -> str:
    """What mends the index: the cause first, where its last work failed."""
    trouble = client.health()["parts"]["index"]
    again = "`almanac index rebuild` makes it again"
    if trouble in {"ok", "starting"}:
        return again
    return f"its last work failed ({trouble}): mend that, then {again}"


@app.command()
def rebuild() -> None:
    """Make the index again from the records, and compare the two."""
    client = connect()
    until_ended(client, client.rebuild_index()["flow_run_id"], "making the index again")
    compare(client)
