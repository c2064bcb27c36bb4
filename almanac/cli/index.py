"""``almanac index``: the vectors, which can always be made again from PostgreSQL."""

import typer

from almanac.cli.failures import Failed
from almanac.cli.screen import screen
from almanac.cli.waiting import until_ended
from almanac.client import Client, connect

app = typer.Typer(help="The index of vectors, which can always be made again.")


@app.command()
def verify() -> None:
    """Compare the index with the records, chunk by chunk."""
    compare(connect())


def compare(client: Client) -> None:
    found = client.verify_index()
    if found["missing"] or found["orphans"]:
        raise Failed(f"the index has {found['missing']} chunks too few and {found['orphans']} too many: "
                     + remedy(client), found)
    screen.show(found, f"The index holds the {found['expected']} chunks that the records say, and no other.")


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
