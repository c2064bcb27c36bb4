"""Reading: documents that are due are fetched, extracted and saved as a version when they say something new.

``claim → look → save``: the claim and the save are one short transaction each, the look is all network. A
look that goes wrong changes the document's state and nothing else: what answered before goes on answering.
"""

from tasks.ports import Read
from tasks.read.batch import read_document, read_documents
from tasks.read.claims import due, release, wake

__all__ = ["Read", "due", "read_document", "read_documents", "release", "wake"]
