"""What the gates refused, and what changed between versions, over HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import httpx
import pytest
from household import Household, assert_problem
from small_library import FEED, SITE
from sqlalchemy import select

from models.session import Database
from models.states import Severity
from models.tables import Document, DocumentVersion
from tasks.ports import Remark

pytestmark = pytest.mark.database


class Owlish:
    """Refuses whatever speaks of owls, and flags its source."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def versions(self, versions: Sequence[UUID]) -> list[Remark]:
        with self.db.begin() as session:
            rows = session.execute(
                select(DocumentVersion.id, DocumentVersion.text, Document.source_id)
                .join(Document, Document.id == DocumentVersion.document_id)
                .where(DocumentVersion.id.in_(versions))
            ).all()
        flags = [
            Remark(
                "sources", "as long texts", Severity.WARNING, "its texts are short", "0.1", source_id=source
            )
            for source in {row.source_id for row in rows}
        ]
        return flags + [
            Remark(
                "versions",
                "no owls",
                Severity.CRITICAL,
                "it speaks of owls",
                "1",
                "barn owl",
                version_id=row.id,
            )
            for row in rows
            if "owl" in row.text
        ]

    def chunks(self, chunks: Sequence[Mapping[str, Any]], window: int, dimensions: int) -> list[Remark]:
        return []


@pytest.fixture
async def owls(api: httpx.AsyncClient, household: Household) -> str:
    """The id of the document that was refused."""
    household.library.gate = Owlish(household.library.db)
    await api.post("/v1/sources", json={"url": FEED})
    household.runs.join()
    return str((await api.get("/v1/documents", params={"q": "/owls"})).json()["documents"][0]["id"])


async def test_a_refused_document_says_why(api: httpx.AsyncClient, owls: str) -> None:
    shown = (await api.get(f"/v1/documents/{owls}")).json()
    assert (shown["state"], shown["reason"]) == ("quarantined", "it speaks of owls")
    versions = (await api.get(f"/v1/documents/{owls}/versions")).json()["versions"]
    assert [version["verdict"] for version in versions] == ["quarantined"]


async def test_the_report_names_it_with_the_value_and_the_passage(api: httpx.AsyncClient, owls: str) -> None:
    report = (await api.get("/v1/quality")).json()
    [result] = report["results"]
    assert (
        result["document_id"],
        result["gate"],
        result["expectation"],
        result["severity"],
        result["reason"],
        result["observed"],
        result["passage"],
        result["verdict"],
        result["source"],
    ) == (
        owls,
        "versions",
        "no owls",
        "critical",
        "it speaks of owls",
        "1",
        "barn owl",
        "quarantined",
        "Site",
    )
    assert (report["counts"], report["next"]) == ({"quarantined": 1}, None)
    assert [flag["reason"] for flag in report["sources"]] == ["its texts are short"]


async def test_a_flagged_source_says_so_in_its_health(api: httpx.AsyncClient, owls: str) -> None:
    [source] = (await api.get("/v1/sources")).json()["sources"]
    assert source["health"].endswith("; its texts are short")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"verdict": "quarantined"}, 1),
        ({"verdict": "released"}, 0),
        ({"severity": "warning"}, 0),
        ({"gate": "chunks"}, 0),
        ({"source": "ffffffff-ffff-4fff-8fff-ffffffffffff"}, 0),
        ({"limit": 1}, 1),
    ],
)
async def test_the_report_can_be_narrowed(
    api: httpx.AsyncClient, owls: str, query: dict[str, str], count: int
) -> None:
    assert len((await api.get("/v1/quality", params=query)).json()["results"]) == count


@pytest.mark.parametrize("query", [{"verdict": "nice"}, {"after": "nonsense"}, {"limit": 0}, {"page": 2}])
async def test_a_report_that_cannot_be_is_refused(api: httpx.AsyncClient, query: dict[str, str]) -> None:
    assert_problem(await api.get("/v1/quality", params=query), 422, "invalid_request")


async def test_a_released_document_answers(api: httpx.AsyncClient, household: Household, owls: str) -> None:
    answer = await api.post(f"/v1/quality/{owls}/release")
    assert (answer.status_code, answer.json()["state"]) == (202, "read")
    household.runs.join()
    assert household.runs.started[-1] == ("index", {})
    assert (await api.get(f"/v1/documents/{owls}")).json()["state"] == "indexed"
    assert_problem(await api.post(f"/v1/quality/{owls}/release"), 409, "not_refused")


async def test_a_rejected_document_stays_out_and_its_unchanged_page_does_not_bring_it_back(
    api: httpx.AsyncClient, household: Household, owls: str
) -> None:
    assert (await api.post(f"/v1/quality/{owls}/reject")).json()["state"] == "rejected"
    await api.post(f"/v1/documents/{owls}/retry")
    household.runs.join()
    shown = (await api.get(f"/v1/documents/{owls}")).json()
    assert (shown["state"], shown["reason"], shown["version_id"]) == (
        "rejected",
        "rejected by its owner",
        None,
    )


async def test_an_unchanged_page_is_quarantined_still_and_a_changed_one_is_judged_anew(
    api: httpx.AsyncClient, household: Household, owls: str
) -> None:
    await api.post("/v1/documents", json={"url": f"{SITE}/owls"})
    household.runs.join()
    shown = (await api.get(f"/v1/documents/{owls}")).json()
    assert (shown["state"], shown["reason"]) == ("quarantined", "it speaks of owls")
    household.library.fetcher.pages[f"{SITE}/owls"] = "A census\nForty nests of the heron were counted."
    await api.post("/v1/documents", json={"url": f"{SITE}/owls"})
    household.runs.join()
    assert (await api.get(f"/v1/documents/{owls}")).json()["state"] == "indexed"
    assert (await api.get("/v1/quality")).json()["results"] == []


async def test_what_does_not_exist_cannot_be_decided(api: httpx.AsyncClient) -> None:
    for decision in ("release", "reject"):
        nothing = "/v1/quality/ffffffff-ffff-4fff-8fff-ffffffffffff/"
        assert_problem(await api.post(nothing + decision), 404, "not_found")


async def test_what_changed_between_two_versions_is_told_block_by_block(
    api: httpx.AsyncClient, household: Household
) -> None:
    pages = household.library.fetcher.pages
    for text in (
        "A census\nForty nests were counted.\nRain fell.",
        "A census\nFifty nests were counted.\nRain fell.\nHail, too.",
    ):
        pages[f"{SITE}/lighthouse"] = text
        document = (await api.post("/v1/documents", json={"url": f"{SITE}/lighthouse"})).json()["id"]
        household.runs.join()
    told = (await api.get(f"/v1/documents/{document}/diff")).json()
    assert (told["from"]["number"], told["to"]["number"]) == (1, 2)
    assert told["counts"] == {"same": 2, "moved": 0, "changed": 1, "added": 1, "removed": 0}
    assert [it["change"] for it in told["changes"]] == ["same", "changed", "same", "added"]
    assert told["changes"][1]["words"] == [["-", "Forty"], ["+", "Fifty"], ["=", " nests were counted."]]
    back = (await api.get(f"/v1/documents/{document}/diff", params={"from": 2, "to": 1})).json()
    assert back["counts"]["removed"] == 1
    missing = await api.get(f"/v1/documents/{document}/diff", params={"from": 1, "to": 7})
    assert "it has the versions 1, 2" in assert_problem(missing, 409, "no_such_versions")


async def test_one_version_alone_has_no_difference(api: httpx.AsyncClient, household: Household) -> None:
    document = (await api.post("/v1/documents", json={"url": f"{SITE}/lighthouse"})).json()["id"]
    household.runs.join()
    answer = await api.get(f"/v1/documents/{document}/diff")
    assert "one version only" in assert_problem(answer, 409, "no_such_versions")
    assert_problem(await api.get("/v1/documents/ffffffff-ffff-4fff-8fff-ffffffffffff/diff"), 404, "not_found")
