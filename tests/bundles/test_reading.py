"""Is what a stranger calls a bundle read without harm?"""

import io
import json
import struct
import zipfile

import pytest
from labruns import lab_run

from probes.bundles import MANIFEST, MOST_MEMBERS, REQUEST, SCHEMA, reading, writing
from probes.complaint import Told, to_document
from probes.credentials import Secrets
from probes.errors import UsageError

GOOD = {"schema": SCHEMA, "left_out": []}
TOLD = to_document(Told("POST", "http://host/x", (("X-A", "1"),), b"{}", "bundle"))


def packed(*members, manifest=GOOD, how=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        if manifest is not None:
            archive.writestr(MANIFEST, json.dumps(manifest))
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def larger_than_said():
    """A member that unpacks to more than its directory says."""
    data = packed((REQUEST, b"x" * 5000))
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    return data[: at + 24] + struct.pack("<I", 10) + data[at + 28 :]


def encrypted():
    data = bytearray(packed((REQUEST, b"{}")))
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[at + 8] |= 1
    return bytes(data)


REFUSED = {
    "no zip": (b"hello", "not a zip"),
    "empty": (b"", "not a zip"),
    "cut": (packed((REQUEST, b"{}"))[:-30], "not a zip"),
    "no manifest": (packed(manifest=None), "its schema is 'none'"),
    "another schema": (packed(manifest={"schema": "edgeprobe.bundle/9"}), "this edgeprobe reads edgeprobe.bundle/1"),
    "a manifest that is none": (packed(manifest=[1]), "its schema is 'none'"),
    "a path upwards": (packed(("../../etc/passwd", b"")), "which no bundle has"),
    "a path from the root": (packed(("/etc/passwd", b"")), "which no bundle has"),
    "a path of Windows": (packed(("a\\..\\b", b"")), "which no bundle has"),
    "a hidden path": (packed(("reproducers/.bashrc", b"")), "which no bundle has"),
    "a name that writes on terminals": (packed(("a\x1b[2J", b"")), "which no bundle has"),
    "many members": (packed(*((f"m{n}", b"") for n in range(MOST_MEMBERS))), "more than the 1,000"),
    "a bomb": (packed((REQUEST, b"\0" * (8 << 20))), "as no report packs"),
    "too much": (packed(*((f"m{n}", b"\0" * (7 << 20)) for n in range(10))), "more than the 67,108,864"),
    "larger than it says": (larger_than_said(), "damaged"),
    "encrypted": (encrypted(), "is encrypted"),
    "no JSON": (packed((REQUEST, b"{")), "not JSON"),
    "endless depth": (packed((REQUEST, b"[" * 100_000)), "not JSON"),
    "another JSON": (packed((REQUEST, b"[]")), "request.json: damaged: Input should be an object"),
    "headers that are a number": (packed((REQUEST, json.dumps(TOLD | {"headers": 5}))), "damaged: headers: Input should be a valid array"),
    "a header that is no pair": (packed((REQUEST, json.dumps(TOLD | {"headers": [["X", "1"], 5]}))), "damaged: headers.1: Input should be"),
    "a body that is no base64": (packed((REQUEST, json.dumps(TOLD | {"body": "=="}))), "damaged: body: Data should be valid base64"),
    "a family that is none": (packed((REQUEST, json.dumps(TOLD | {"family": 7}))), "damaged: family: Input should be 4 or 6"),
    "a key that writes on terminals": (packed((REQUEST, json.dumps(TOLD | {"a\x1b[2J": 1}))), "Unexpected keyword argument"),
    "without a URL": (packed((REQUEST, json.dumps({key: value for key, value in TOLD.items() if key != "url"}))), "damaged: url: "),
    "a method that is two": (packed((REQUEST, json.dumps(TOLD | {"method": "GET / HTTP/1.1\r\nX"}))), "its method is none"),
    "a URL of files": (packed((REQUEST, json.dumps(TOLD | {"url": "file:///etc/passwd"}))), "must be one of http or https"),
    "a URL with a line end": (packed((REQUEST, json.dumps(TOLD | {"url": "http://h/\r\nX: 1"}))), "what no URL can"),
    "a header with a line end": (packed((REQUEST, json.dumps(TOLD | {"headers": [["X", "1\r\nY: 2"]]}))), "is none"),
    "a header that names a file": (packed((REQUEST, json.dumps(TOLD | {"headers": [["@/etc/passwd", "1"]]}))), "is none"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize(("data", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_bundle_is_refused(data, why, tmp_path):
    """And it says why, with the file's name, and nothing that a terminal obeys."""
    path = tmp_path / "b.zip"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"b\.zip") as said:
        reading.told(path)
    assert why in str(said.value)
    assert "\x1b" not in str(said.value)


def test_a_member_that_is_there_twice_is_refused(tmp_path):
    """One reader would take the first, another the second."""
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr(MANIFEST, json.dumps(GOOD))
        archive.writestr(REQUEST, "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(REQUEST, "{}")
    with pytest.raises(UsageError, match="twice"):
        reading.told(tmp_path / "b.zip")


def test_a_bundle_without_a_request_has_none(tmp_path):
    """That is no mistake of anybody's."""
    (tmp_path / "b.zip").write_bytes(packed())
    assert reading.told(tmp_path / "b.zip") is None
    with pytest.raises(UsageError, match=r"run.json is not in it"):
        reading.run(tmp_path / "b.zip")


def test_a_file_that_is_not_there_is_said(tmp_path):
    """A folder, too."""
    with pytest.raises(UsageError, match="no bundle"):
        reading.run(tmp_path / "b.zip")
    (tmp_path / "c.zip").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        reading.run(tmp_path / "c.zip")


def test_a_damaged_run_is_said(tmp_path):
    """With the key that is wrong."""
    writing.save(lab_run("smoke", "ai-crawler-rule"), tmp_path / "b.zip", Secrets({}))
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        document = json.loads(archive.read("run.json"))
    del document["calls"][0]["id"]
    (tmp_path / "b.zip").write_bytes(packed(("run.json", json.dumps(document))))
    with pytest.raises(UsageError, match="damaged"):
        reading.run(tmp_path / "b.zip")
