"""``almanac source edit``: a source changed, and shown as it would be before that."""

from typing import Annotated, Any

from typer import Argument, Option

from almanac.cli.failures import WrongUsage
from almanac.cli.preview import agreed_to, described, map_of, someone_asked
from almanac.cli.screen import cut, screen
from almanac.cli.session import source_named
from tasks.discover.json_map import FIELDS

Id = Annotated[str, Argument(metavar="ID", help="a source's id, or the first characters of it")]
Globs = list[str] | None


def edit(
    id_: Id,
    name: Annotated[str | None, Option(metavar="N", help="what to call it")] = None,
    every: Annotated[str | None, Option(metavar="1h", help="how often to look: 30m, 1h, 2d")] = None,
    cron: Annotated[str | None, Option(metavar='"0 7 * * *"', help="when to look, in its zone")] = None,
    zone: Annotated[str | None, Option(metavar="Europe/Berlin", help="the zone of the cron line")] = None,
    priority: Annotated[int | None, Option(metavar="0-100", help="high is read first")] = None,
    weight: Annotated[float | None, Option(metavar="0-1", help="how much it counts in the ranking")] = None,
    include: Annotated[Globs, Option(metavar="GLOB", help='only addresses like this; "" for all')] = None,
    exclude: Annotated[Globs, Option(metavar="GLOB", help='no addresses like this; "" for none')] = None,
    limit: Annotated[int | None, Option(metavar="N", help="new items of one poll, at most")] = None,
    mode: Annotated[str | None, Option(metavar="everything|interesting", help="which items to read")] = None,
    fields: Annotated[Globs, Option("--map", metavar="FIELD=PATH", help="of a JSON API: the whole map anew; "
              "FIELD is " + ", ".join(FIELDS))] = None,
    tag: Annotated[Globs, Option(metavar="TAG", help='all its tags anew; "" for none')] = None,
    fragment_routes: Annotated[bool | None, Option(help="whether “#/a” and “#/b” are two pages")] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="ask nothing")] = False,
    preview: Annotated[bool, Option("--preview", help="show what it would offer; change nothing")] = False,
) -> None:
    """Change a source; what is not named stays as it is."""
    changes: dict[str, Any] = {
        "name": name, "every": every, "cron": cron, "zone": zone, "priority": priority, "weight": weight,
        "include": said(include), "exclude": said(exclude), "limit": limit, "mode": mode,
        "map": map_of(fields), "tags": said(tag), "fragment_routes": fragment_routes,
    }
    changes = {what: to for what, to in changes.items() if to is not None}
    if not changes:
        raise WrongUsage("say what to change: `almanac source edit --help` lists it")
    client, identity = source_named(id_)
    if preview:
        there = client.preview_source_edit(identity, **changes)
        screen.show(there, described(there))
        return
    asked = "map" in changes and someone_asked() and not yes
    if asked and not agreed_to(client.preview_source_edit(identity, **changes), "Change it?"):
        screen.note("Nothing was changed")
        return
    source = client.edit_source(identity, **changes)
    screen.show(source, f"Changed {cut(source['name'], 80)}: {', '.join(changes)}")


def said(given: Globs) -> Globs:
    """The list; ``""`` empties it."""
    return None if given is None else [each for each in given if each]
