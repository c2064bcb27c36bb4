"""The tables. PostgreSQL is the only truth; the index can be rebuilt from the rows here."""

from models.tables.answering import Interest, Judgment, UsageEvent
from models.tables.base import LIBRARY_SCOPE, Table
from models.tables.indexing import Chunk, ChunkVector, Collection, GateResult, VersionAnalysis
from models.tables.keeping import ApiToken, Artifact, UploadTicket
from models.tables.outside import Credential, CredentialDay, Errand
from models.tables.reading import CrawlDelay, Document, DocumentVersion, HostPause, Poll, Source

__all__ = [
    "LIBRARY_SCOPE",
    "ApiToken",
    "Artifact",
    "Chunk",
    "ChunkVector",
    "Collection",
    "CrawlDelay",
    "Credential",
    "CredentialDay",
    "Document",
    "DocumentVersion",
    "Errand",
    "GateResult",
    "HostPause",
    "Interest",
    "Judgment",
    "Poll",
    "Source",
    "Table",
    "UploadTicket",
    "UsageEvent",
    "VersionAnalysis",
]
