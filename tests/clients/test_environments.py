"""Is a version installed once, whole, with what it needed in its time, or left out with the reason?

The installer is a stand-in on PATH that does to the file system what uv does; the real one is asked in tests/real.
"""

import json
import os
import stat
import sys
import threading
import time

import pytest

from probes import clients
from probes.clients import environments
from probes.sdk_versions import sdk

UV = """\
#!{python}
import os, pathlib, sys, time
log = pathlib.Path(__file__).with_name("log")
with log.open("a") as out:
    out.write(" ".join(sys.argv[1:]) + "\\n")
said = sys.argv[1:]
if said[:2] == ["pip", "compile"]:
    asked = sys.stdin.read().strip()
    if {offline} or asked.endswith("==9.9.9"):
        sys.stderr.write("  \\u00d7 No solution found when resolving dependencies:\\n  \\u2570\\u2500\\u25b6 Because there is no version of it, it can't be had.\\n")
        sys.exit(1)
    version = asked.partition("==")[2].replace("*", "40.0")
    print(f'[[packages]]\\nname = "openai"\\nversion = "{{version}}"\\nsdist = {{{{ upload-time = 2024-08-06T17:15:27Z }}}}')
elif said[0] == "venv":
    (pathlib.Path(said[-1]) / "bin").mkdir(parents=True, exist_ok=True)
elif "--exclude-newer" in said and {breaks}:
    sys.stderr.write("error: nothing fits\\n")
    sys.exit(1)
else:
    time.sleep({takes})
    place = pathlib.Path(said[said.index("--python") + 1]).parent.parent
    (place / "installed").write_text(said[-1])
"""


@pytest.fixture
def uv(tmp_path, monkeypatch):
    """Gives a function that puts an installer on PATH, and the folder of the cache; returns what it was told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("EDGEPROBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "_found", {})

    def put(*, offline=False, breaks=False, takes=0):
        script = folder / "uv"
        script.write_text(UV.format(python=sys.executable, offline=offline, breaks=breaks, takes=takes))
        script.chmod(script.stat().st_mode | stat.S_IEXEC)
        return lambda: (folder / "log").read_text().splitlines()

    return put


def had(spec):
    """As a process of its own would find it."""
    environments._found.clear()
    environments.prepare([sdk(spec)])
    return environments.of(sdk(spec))


def test_it_is_installed_once_by_the_date_of_the_version(uv):
    """Nothing newer than a week after it, nothing that has to be built; the second time it is there."""
    told = uv()
    found = had("openai==1.*")
    assert found.version == "1.40.0"
    assert json.loads((found.folder / "ready.json").read_text())["version"] == "1.40.0"
    assert (found.folder / "installed").read_text() == "openai==1.40.0"
    assert environments.pinned(sdk("openai==1.*")).version == "1.40.0"
    [install] = [line for line in told() if line.startswith("pip install")]
    assert "--only-binary :all: --exclude-newer 2024-08-13T17:15:27+00:00" in install
    assert had("openai==1.40.0") == found
    assert [line.split()[0] for line in told()].count("venv") == 1


def test_what_the_date_cannot_give_comes_from_today(uv):
    """Such as wheels for a Python that came later."""
    uv(breaks=True)
    assert had("openai==1.40.0").version == "1.40.0"


def test_offline_the_newest_that_is_here_is_taken(uv):
    """And one that is not here is left out, with the installer's words."""
    uv()
    kept = had("openai==1.40.0")
    uv(offline=True)
    assert had("openai==1.*") == kept
    assert had("openai==2.*") is None
    said = environments.missing(sdk("openai==2.*"))
    assert said.startswith("openai 2.* can't be installed: No solution found")
    assert "registry" not in said


def test_half_of_an_environment_is_never_used(uv, tmp_path):
    """What a process that was killed has left is made again, and swept up in time."""
    uv()
    shelf = tmp_path / "cache" / "sdks" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    half = shelf / ".openai-left"
    half.mkdir(parents=True)
    os.utime(half, (time.time() - 2 * 86_400,) * 2)
    assert (had("openai==1.40.0").folder / "installed").is_file()
    assert not half.exists()


def test_two_at_once_have_the_same_one(uv):
    """Whoever is second takes what the first has made."""
    uv(takes=0.3)
    found = []

    def have():
        place = environments._Python(sdk("openai==1.40.0"))
        found.append(place.had())

    threads = [threading.Thread(target=have) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1
    assert (found[0].folder / "installed").is_file()
    assert [path.name for path in found[0].folder.parent.iterdir()] == ["openai-1.40.0"]


def test_no_such_version_is_left_out(uv):
    """Skipped with the reason, in one line that names no address."""
    uv()
    environments.prepare([sdk("openai==9.9.9")])
    assert clients.unavailable(sdk("openai==9.9.9")) == (
        "openai 9.9.9 can't be installed: No solution found when resolving dependencies: Because there is no version of "
        "it, it can't be had."
    )


@pytest.mark.parametrize(
    ("spec", "said"), [("openai==1.*", "uv is not installed"), ("npm:openai@6.*", "Node is not installed")]
)
def test_without_an_installer(uv, spec, said, monkeypatch):
    """Known before anything is prepared."""
    monkeypatch.setattr("probes.clients.raw_node.installed", lambda: None)
    assert clients.unavailable(sdk(spec)) == said


NEWEST = {
    "exact": ("1.4.0", ["1.40.0", "1.4.0"], "1.4.0"),
    "of a line": ("1.*", ["1.9.0", "1.10.0", "10.0.0", "2.0.0"], "1.10.0"),
    "of a minor": ("1.9.*", ["1.9.0", "1.9.10", "1.90.0"], "1.9.10"),
    "no early ones": ("1.*", ["1.0.0", "1.1.0-beta.1"], "1.0.0"),
    "none": ("3.*", ["1.0.0"], None),
    "not there": ("1.4.0", ["1.40.0"], None),
}


@pytest.mark.parametrize(("asked", "there", "found"), NEWEST.values(), ids=NEWEST)
def test_the_newest_of_a_line(asked, there, found):
    """By number, and only what was released."""
    assert environments.newest(asked, there) == found
