"""Files of every kind, plain and hostile, made here; nothing of them is anybody else's."""

import bz2
import gzip
import struct
import zipfile
import zlib
from io import BytesIO
from typing import Any

WORDS = "The pier floods at spring tide."


def pdf(pages: list[list[tuple[str, float]]], *, extra: bytes = b"", encrypted: bool = False) -> bytes:
    """A PDF whose pages have these lines, each with the size of its letters."""
    objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        drawn, y = [], 780.0
        for text, size in lines:
            y -= 1.3 * size if text else 2.5 * size
            escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            drawn.append(f"BT /F1 {size} Tf 50 {y:.1f} Td ({escaped}) Tj ET")
        content = "\n".join(drawn).encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects))
        kids.append(b"%d 0 R" % len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return assembled(objects + ([extra] if extra else []), encrypted)


def assembled(objects: list[bytes], encrypted: bool = False) -> bytes:
    out = BytesIO(b"%PDF-1.7\n")
    out.seek(0, 2)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    lock = (b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >> /ID [<00> <00>]"
            % (b"11" * 32, b"22" * 32)) if encrypted else b""
    out.write(b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n"
              % (len(objects) + 1, lock, start))
    return out.getvalue()


def report() -> bytes:
    """Two headings, paragraphs of several lines, and a running title on each of four pages."""
    running = ("Harbour office, yearly report", 8)
    first = [running, ("Tides at the pier", 20), ("The pier floods at spring tide, and the quay", 11),
             ("is under water for an hour twice a day, so the", 11), ("ferry leaves from the mole.", 11),
             ("", 11), ("Nobody was hurt.", 11), ("Outlook", 15), ("A wall will be built next year.", 11)]
    others = [[running, (f"Page {n} tells of ships that came in, which were many.", 11)] for n in range(3)]
    return pdf([first, *others])


def pdf_bomb(megabytes: int = 300) -> bytes:
    """A page whose content inflates, and inflates again, to very much more than the file."""
    text = b"BT /F1 11 Tf 50 700 Td (tide) Tj ET\n"
    once = zlib.compress(text * (megabytes * 1_000_000 // len(text)), 9)
    twice = zlib.compress(once, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (len(twice), twice),
    ]
    return assembled(objects)


def docx() -> bytes:
    from docx import Document

    made = Document()
    made.add_heading("Harbour report", 0)
    made.add_heading("Tides", 1)
    made.add_paragraph(WORDS)
    made.add_paragraph("the mole", style="List Bullet")
    table = made.add_table(2, 2)
    for row, cells in enumerate((("Month", "Metres"), ("May", "4.2"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    return saved(made)


def pptx() -> bytes:
    from pptx import Presentation

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Harbour report", WORDS
    return saved(made)


def xlsx() -> bytes:
    from openpyxl import Workbook

    made = Workbook()
    made.active.append(["Month", "Remark"])
    made.active.append(["May", WORDS])
    return saved(made)


def odt() -> bytes:
    from odfdo import Document, Header, Paragraph

    made = Document("text")
    made.body.clear()
    made.body.append(Header(1, "Harbour report"))
    made.body.append(Paragraph(WORDS))
    return saved(made)


def saved(document: Any) -> bytes:
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def epub() -> bytes:
    container = ('<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
                 '<rootfiles><rootfile full-path="c.opf" media-type="application/oebps-package+xml"/>'
                 '</rootfiles></container>')
    package = ('<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
               'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Harbour report</dc:title>'
               '<dc:identifier id="i">x</dc:identifier></metadata><manifest><item id="a" href="a.xhtml" '
               'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>')
    chapter = (f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Harbour report</h1><p>{WORDS}</p>'
               "</body></html>")
    return archive({"mimetype": b"application/epub+zip", "META-INF/container.xml": container.encode(),
                    "c.opf": package.encode(), "a.xhtml": chapter.encode()})


HTML = f"<!doctype html><html><body><h1>Harbour report</h1><p>{WORDS}</p></body></html>".encode()
CSV = f"Month,Remark\nMay,{WORDS}\n".encode()
MARKDOWN = f"# Harbour report\n\n{WORDS}\n".encode()
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def archive(members: dict[str, bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, body in members.items():
            made.writestr(name, body)
    return file.getvalue()


def lying(declared: int, real: bytes) -> bytes:
    """A zip archive whose member says that it is smaller than it is, with the checksum of that beginning."""
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = raw.compress(real) + raw.flush()
    fields = (20, 0, 8, 0, 0, zlib.crc32(real[:declared]), len(packed), declared, 1, 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", *fields) + b"a"
    central = (b"PK\x01\x02" + struct.pack("<H", 20) + struct.pack("<HHHHHIIIHH", *fields)
               + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"a")
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + end


def overlapping(count: int = 50) -> bytes:
    """A zip archive whose list names the same bytes many times, each time as another file."""
    made = archive({"a": bytes(100_000)})
    at = made.index(b"PK\x01\x02")
    end = made.index(b"PK\x05\x06")
    central = made[at:end] * count
    tail = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(central), at, 0)
    return made[:at] + central + tail


def locked() -> bytes:
    """A zip archive whose member says that it is encrypted."""
    made = bytearray(archive({"a.txt": b"secret" * 10}))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        made[made.index(magic) + offset] |= 1
    return bytes(made)


def nested(depth: int, inside: bytes = b"x" * 100) -> bytes:
    for _ in range(depth):
        inside = archive({"inner.zip": inside})
    return inside


def gzipped(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def bzipped(body: bytes) -> bytes:
    return bz2.compress(body)


def locked_office() -> bytes:
    """As an office file under a password begins, and what it is told by."""
    inside = "EncryptedPackage".encode("utf-16-le")
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + inside + bytes(500)
