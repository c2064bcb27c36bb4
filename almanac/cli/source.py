"""``almanac source``: what is polled."""

from typing import Annotated, Any

import typer
from typer import Argument, Option

from almanac.cli.editing import edit
from almanac.cli.failures import Failed, WrongUsage
from almanac.cli.preview import agreed, also_found, chosen, map_of, someone_asked
from almanac.cli.preview import described as described_preview
from almanac.cli.screen import cut, facts, moment, screen, short, table, waits_for
from almanac.cli.session import source_named
from almanac.cli.subscriptions import HeaderLines, export, headers_of, import_file, set_headers
from almanac.cli.waiting import until_all_read, until_ended, until_polled, until_read
from almanac.client import Client, Json, connect
from models.headers import headers_for
from models.intervals import interval_of, seconds_of
from models.states import DocumentState, PollOutcome, SourceKind
from tasks.discover.json_map import FIELDS
from tasks.discover.wishes import AUTO, NewSource

app = typer.Typer(help="What is polled: feeds, sitemaps, pages and JSON APIs.")
WRONG = {PollOutcome.FAILED, PollOutcome.SUSPECT}
Id = Annotated[str, Argument(metavar="ID", help="a source's id, or the first characters of it")]


@app.command("add")
def add(
    url: Annotated[str, Argument(metavar="URL", help="the address of a feed, sitemap, page or API")],
    kind: Annotated[str, Option(metavar="auto|feed|sitemap|page|listing|json", help="what it is")] = "auto",
    name: Annotated[str | None, Option(metavar="N", help="what to call it, if not by its own title")] = None,
    every: Annotated[str | None, Option(metavar="1h", help="how often to look: 30m, 1h, 2d")] = None,
    cron: Annotated[str | None, Option(metavar='"0 7 * * *"', help="when to look, in its zone")] = None,
    zone: Annotated[str | None, Option(metavar="Europe/Berlin", help="the zone of the cron line")] = None,
    priority: Annotated[int | None, Option(metavar="0-100", help="high is read first")] = None,
    weight: Annotated[float | None, Option(metavar="0-1", help="how much it counts in the ranking")] = None,
    include: Annotated[list[str] | None, Option(metavar="GLOB", help="only addresses like this")] = None,
    exclude: Annotated[list[str] | None, Option(metavar="GLOB", help="no addresses like this")] = None,
    limit: Annotated[int | None, Option(metavar="N", help="new items of one poll, at most")] = None,
    mode: Annotated[str | None, Option(metavar="everything|interesting", help="which items to read")] = None,
    fields: Annotated[list[str] | None, Option("--map", metavar="FIELD=PATH", help="of a JSON API: where a "
              "field is, like url=links.html; FIELD is " + ", ".join(FIELDS))] = None,
    header: HeaderLines = None,
    fragment_routes: Annotated[bool | None, Option("--fragment-routes", help="“#/a” and “#/b” are pages of "
              "their own, which a browser reads")] = None,
    tag: Annotated[list[str] | None, Option(metavar="TAG", help="a word to find it by")] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="ask nothing: take the best of what is found")] = False,
    preview: Annotated[bool, Option("--preview", help="show what would be added, and add nothing")] = False,
    wait: Annotated[bool, Option(help="wait until its first documents are read and indexed")] = True,
) -> None:
    """Add a source, after a look at it, and read its first documents."""
    choices: dict[str, Any] = {
        "kind": kind, "name": name, "cron": cron, "zone": zone, "tags": tag, "headers": headers_of(header),
        "priority": priority, "weight": weight, "include": include,
        "exclude": exclude, "limit": limit, "mode": mode, "map": map_of(fields),
        "fragment_routes": fragment_routes,
    }
    wish(url, every, **choices)
    client = connect()
    if preview:
        found_there = client.preview_source(url, every=every, **choices)
        screen.show(found_there, described_preview(found_there))
        return
    asked = someone_asked() and not yes
    if kind == AUTO and asked:
        there = chosen(client, url, every=every, **choices)
        own = choices["headers"] and headers_for(there["url"], choices["headers"], url)
        choices |= {"kind": there["kind"], "headers": own}
        url = there["url"]
    if kind == SourceKind.JSON and asked and not agreed(client, url, every=every, **choices):
        screen.note("Nothing was added")
        return
    source = client.add_source(url, every=every, **choices)
    if others := also_found(source):
        screen.warn(others)
    if source["interests"] == 0:
        screen.warn("nothing is known yet of what interests you: until then everything is read")
    screen.note(f"{source['name']}: a {source['kind']} of {source['last_poll']['items_seen']} items")
    if wait:
        source = until_read(client, source["id"], f"reading {source['name']}")
    screen.show(source, found(source))


def wish(url: str, every: str | None, **choices: Any) -> NewSource:
    """What is asked for, checked here as the library will check it. Raises WrongUsage."""
    given = {name: value for name, value in choices.items() if value is not None}
    try:
        return NewSource(url, every_seconds=seconds_of(every) if every is not None else None, **given)
    except ValueError as error:
        raise WrongUsage(str(error)) from error


def found(source: Json) -> str:
    return "\n".join([
        f"Added {short(source['id'])}: {cut(source['name'], 80)}",
        facts([
            ("kind", source["kind"]), ("address", source["url"]),
            ("items", source["last_poll"]["items_seen"]), ("looked at", schedule(source)),
            *progress(source),
        ]),
    ])


def progress(source: Json) -> list[tuple[str, object]]:
    """What became of its documents, and what those wait for that a limit holds back."""
    held = source["held"]
    return [("documents", counts(source["documents"])), ("on their way", source["unfinished"] or None),
            ("articles", held and waits_for(held))]


app.command("import")(import_file)
app.command("export")(export)
app.command("headers")(set_headers)
app.command("edit")(edit)


@app.command("list")
def list_sources() -> None:
    """List the sources with their last poll."""
    sources = connect().sources()
    rows = [
        (short(source["id"]), source["kind"], cut(source["name"], 34), schedule(source),
         moment(source["last_polled_at"]) or "never", sum(source["documents"].values()),
         cut(source["health"], 60))
        for source in sources
    ]
    headings = ("ID", "KIND", "NAME", "LOOKED AT", "LAST POLL", "DOCUMENTS", "HEALTH")
    nothing = "No sources yet: add one with `almanac source add URL`"
    screen.show({"sources": sources}, "\n".join([table(headings, rows, nothing), *waiting(sources)]))


def waiting(sources: list[Json]) -> list[str]:
    """One line on the articles that a limit holds back: it is the same for all."""
    held = [source for source in sources if source["held"]]
    articles = sum(source["documents"][DocumentState.READ] for source in held)
    return [f"\n{articles} read, {waits_for(held[0]['held'])}"] if held else []


@app.command()
def show(id_: Id) -> None:
    """Show one source: its settings, its last poll and what became of its documents."""
    client, identity = source_named(id_)
    source = client.source(identity)
    screen.show(source, described(source))


def described(source: Json) -> str:
    poll = source["last_poll"] or {}
    return facts([
        ("id", source["id"]), ("name", source["name"]), ("kind", source["kind"]), ("address", source["url"]),
        ("looked at", schedule(source)), ("priority", source["priority"]), ("weight", source["weight"]),
        ("include", " ".join(source["include"])), ("exclude", " ".join(source["exclude"])),
        ("items a poll", source["limit_per_poll"]), ("reads", reads(source)),
        ("routes", "“#/…” are pages of their own" if source["fragment_routes"] else None),
        ("map", " ".join(f"{name}={source['map'][name]}" for name in FIELDS if name in source["map"])),
        ("tags", ", ".join(source["tags"])), ("asked with", ", ".join(source["headers"])),
        ("health", source["health"]), ("failures in a row", source["failures"] or None),
        ("last good poll", moment(source["last_good_at"])), ("moves to", source["moved_to"]),
        ("last poll", poll and f"{moment(poll['finished_at'])}: {poll_sentence(poll)}"),
        ("next poll", moment(source["next_poll_at"])), ("crawl delay", crawl_delay(source)),
        *progress(source),
    ])


def reads(source: Json) -> str:
    """Which items are read, and what judges them."""
    judged = {None: "", 0: ": nothing is known yet of what interests you, so everything"}
    mode: str = source["mode"]
    return mode + judged.get(source["interests"], f", by {source['interests']} interests")


def crawl_delay(source: Json) -> str | None:
    told = source["crawl_delay"]
    return told and f"{told['kept']:,.0f} s between two pages, of {told['asked']:,.0f} s that it asks for"


def schedule(source: Json) -> str:
    if source["paused"]:
        return "paused"
    if source["cron"]:
        return f"cron {source['cron']} {source['zone']}"
    return f"every {interval_of(source['every_seconds'])}" if source["every_seconds"] else "on demand"


def counts(documents: dict[str, int]) -> str:
    return ", ".join(f"{number} {state.replace('_', ' ')}" for state, number in documents.items()) or "none"


def poll_sentence(poll: Json) -> str:
    outcome, reason = poll["outcome"], poll["reason"]
    return outcome if reason == outcome else f"{outcome}: {reason}"


@app.command()
def poll(
    id_: Annotated[str | None, Argument(metavar="[ID]", help="the source to look at")] = None,
    due: Annotated[bool, Option("--due", help="all sources whose time has come")] = False,
    wait: Annotated[bool, Option(help="wait for the poll and for what it finds to be read")] = True,
) -> None:
    """Look at a source now, and read what is new."""
    if due == bool(id_):
        raise WrongUsage("say which source to poll, or --due for all whose time has come")
    if id_ is None:
        poll_due(connect(), wait)
    else:
        poll_one(*source_named(id_), wait)


def tell_started(started: Json) -> None:
    screen.show(started, f"Started: run {started['flow_run_id']}")


def poll_one(client: Client, identity: str, wait: bool) -> None:
    before = client.source(identity)["last_poll"]
    started = client.poll_source(identity)
    if not wait:
        tell_started(started)
        return
    last = until_polled(client, identity, before, started["flow_run_id"])
    if last["outcome"] in WRONG:
        raise Failed(last["reason"], last)
    source = until_read(client, identity, "reading what is new")
    screen.show(last, f"{poll_sentence(last)}\n{facts([('documents', counts(source['documents']))])}")


def poll_due(client: Client, wait: bool) -> None:
    """Look at all sources whose time has come, and show what came of each."""
    before = last_polls(client.sources())
    started = client.poll_due_sources()
    if not wait:
        tell_started(started)
        return
    until_ended(client, started["flow_run_id"], "looking at the sources")
    polled = [source for source in client.sources() if last_polls([source]).items() - before.items()]
    ids = [source["id"] for source in polled]
    after = until_all_read(client, ids, "reading what is new")
    polls = [source["last_poll"] | {"source_id": source["id"], "source": source["name"]} for source in polled]
    rows = [
        (short(source["id"]), cut(source["name"], 34), cut(poll_sentence(source["last_poll"]), 60),
         counts(source["documents"]))
        for source in after
    ]
    document = started | {"polls": polls}
    text = table(("ID", "NAME", "POLL", "DOCUMENTS"), rows, "No source was due.")
    if wrong := [poll for poll in polls if poll["outcome"] in WRONG]:
        reasons = "; ".join(f"{poll['source']}: {poll['reason']}" for poll in wrong)
        raise Failed(f"{len(wrong)} of {len(polls)} polls went wrong: {reasons}", document, text)
    screen.show(document, text)


def last_polls(sources: list[Json]) -> dict[str, str | None]:
    """The id of each source's last poll."""
    return {source["id"]: source["last_poll"] and source["last_poll"]["id"] for source in sources}


@app.command()
def pause(id_: Id) -> None:
    """Stop looking at a source; what it brought goes on answering."""
    client, identity = source_named(id_)
    source = client.pause_source(identity)
    screen.show(source, f"Paused {cut(source['name'], 80)}")


@app.command()
def resume(id_: Id) -> None:
    """Look at a paused source again."""
    client, identity = source_named(id_)
    source = client.resume_source(identity)
    screen.show(source, f"Resumed {cut(source['name'], 80)}")


@app.command()
def remove(id_: Id) -> None:
    """Remove a source and all its documents from the library."""
    client, identity = source_named(id_)
    removed = client.remove_source(identity)
    again = ": it comes back at the next start" if removed["comes_back"] else ""
    screen.show({"id": identity} | removed,
                f"Removed {short(identity)} with {removed['documents']} documents{again}")
