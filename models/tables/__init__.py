"""The tables. PostgreSQL is the only truth; the index can be rebuilt from the rows here."""

from models.tables.answering import Interest, Judgment, Ranking, UsageEvent
from models.tables.base import LIBRARY_SCOPE, Table
from models.tables.calling import OWNER, ApiToken, CallersLogin, Membership, Organization, Principal
from models.tables.indexing import Chunk, ChunkVector, Collection, GateResult, VersionAnalysis
from models.tables.keeping import Artifact, ToolPin, UploadTicket
from models.tables.outside import Credential, CredentialDay, Errand
from models.tables.reading import CrawlDelay, Document, DocumentVersion, HostPause, Poll, Source

__all__ = [
    "LIBRARY_SCOPE",
    "OWNER",
    "ApiToken",
    "Artifact",
    "CallersLogin",
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
    "Membership",
    "Organization",
    "Poll",
    "Principal",
    "Ranking",
    "Source",
    "Table",
    "ToolPin",
    "UploadTicket",
    "UsageEvent",
    "VersionAnalysis",
]
