"""``almanac interest``: what the library has noticed that you ask about."""

from typing import Annotated

import typer

from almanac.cli.screen import moment, screen, table
from almanac.client import connect

app = typer.Typer(help="What you ask about, which counts a little in the ranking.")
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="a topic, name or keyword")]


@app.command("list")
def list_interests() -> None:
    """List your interests, the strongest first."""
    found = connect().interests()
    rows = [(each["topic"], f"{each['strength']:.2f}", "kept" if each["kept"] else "fades",
             moment(each["touched_at"])) for each in found]
    nothing = "No interests yet: they come from what you ask."
    screen.show({"interests": found}, table(("TOPIC", "STRENGTH", "", "SINCE"), rows, nothing))


@app.command("set")
def set_interest(
    topic: Topic,
    strength: Annotated[float, typer.Argument(min=0, max=1, metavar="0-1", help="0: no interest")] = 1.0,
) -> None:
    """Set an interest for good, whatever you ask."""
    made = connect().set_interest(topic, strength)
    screen.show(made, f"{made['topic']} counts {made['strength']:.2f} from now on")


@app.command()
def forget(topic: Topic) -> None:
    """Erase an interest; asking about it again makes it anew."""
    connect().forget_interest(topic)
    screen.show({"topic": topic, "forgotten": True}, f"Forgot {topic}")


@app.command()
def clear() -> None:
    """Erase all of your interests."""
    gone = connect().clear_interests()
    screen.show(gone, f"Forgot {gone['forgotten']} interests")
