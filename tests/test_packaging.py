"""What is shipped: built, installed somewhere else, and used from there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from probes import __version__
from probes.bundled import bundled

ROOT = Path(__file__).parent.parent
NAMES = {folder: {p.stem for p in bundled(folder).glob("*.yaml")} for folder in ("suites", "configs")}

pytestmark = pytest.mark.xdist_group("packaging")


def call(*command: object, **more) -> str:
    environment = os.environ | {"EDGEPROBE_REPORTS": "", **more.pop("env", {})}
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, env=environment, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The folder that holds wheel and sdist; the wheel is built from the sdist, as an index would."""
    folder = tmp_path_factory.mktemp("dist")
    try:
        call("uv", "build", "--quiet", "--out-dir", folder, cwd=ROOT)
    except FileNotFoundError:
        pytest.fail("uv is needed: pip install uv")
    return folder


@pytest.fixture(scope="session")
def wheel(built):
    [path] = built.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """An environment that holds the wheel, and sees the libraries of this one but not this checkout."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, symlinks=True)
    binaries = folder / "bin"
    call("uv", "pip", "install", "--quiet", "--no-deps", "--python", binaries / "python", wheel)
    [site] = folder.glob("lib/python*/site-packages")
    # After the environment's own packages, so that what is imported as `probes` is the wheel's.
    libraries = Path(pytest.__file__).parent.parent
    (site / "libraries.pth").write_text(f"{libraries}\n")
    return binaries


@pytest.fixture
def elsewhere(tmp_path, installed):
    """Calls the installed command from an empty folder."""

    def run(*arguments: str) -> str:
        return call(installed / "edgeprobe", *arguments, cwd=tmp_path, env={"PYTHONPATH": ""})

    return run


def test_the_installed_code_is_the_wheels(installed, tmp_path):
    """Otherwise the tests below would prove nothing."""
    code = "import probes; print(probes.__file__)"
    path = Path(call(installed / "python", "-c", code, cwd=tmp_path, env={"PYTHONPATH": ""}).strip())
    assert path.is_relative_to(installed.parent)


def test_it_says_its_version(elsewhere):
    """The version of the metadata, the command and the package are one."""
    assert elsewhere("--version") == f"edgeprobe {__version__}\n"


def test_metadata(wheel):
    """Name, version, licence and the files that say that it is typed."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
        names = archive.namelist()
    for line in ("Name: edgeprobe", f"Version: {__version__}", "License-Expression: Apache-2.0"):
        assert line in metadata.splitlines()
    assert "probes/py.typed" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_entry_points(wheel):
    """The command, and the plugin that pytest finds by itself."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt")]
        lines = archive.read(name).decode().splitlines()
    assert "edgeprobe = probes.cli:main" in lines
    assert lines[lines.index("[pytest11]") + 1] == "edgeprobe = probes.pytest_plugin"


def test_it_finds_its_own_suites(elsewhere):
    """Every suite of the checkout can be planned from anywhere, and so can what its cases need."""
    flags = ("--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--model", "m", "--no-key")
    said = elsewhere("plan", *sorted(NAMES["suites"]), *flags)
    for name in NAMES["suites"]:
        assert f"\n{name}/" in said or f"skipped  {name}/" in said


def test_it_finds_its_own_configuration(elsewhere):
    """Finding codes and lab faults are there."""
    assert elsewhere("explain", "ok").startswith("ok: ")
    assert "ai-crawler-rule" in elsewhere("lab", "--list")


def test_every_file_of_the_checkout_is_in_the_wheel(wheel):
    """All YAML, and no code among it; what a page is made of; nothing but the package and its metadata at the top."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("suites", "configs"):
        held = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*") if p.is_file()}
        assert held == {
            n.removeprefix("probes/_bundled/") for n in names if n.startswith(f"probes/_bundled/{folder}/")
        }
    code = {p.relative_to(ROOT).as_posix() for p in (ROOT / "probes").rglob("*.py")}
    assert code == {n for n in names if n.endswith(".py")}
    page = {
        p.relative_to(ROOT).as_posix() for p in (ROOT / "probes/reporters/page").rglob("*") if p.is_file()
    }
    assert page
    assert page <= names
    assert {n.partition("/")[0] for n in names} == {"probes", f"edgeprobe-{__version__}.dist-info"}


def test_the_sdist_holds_what_a_build_needs(built):
    """Package, suites, configuration, licence and readme, but no tests and no reports."""
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {"probes", "suites", "configs", "pyproject.toml", "LICENSE", "README.md"} <= tops
    assert not tops & {"tests", "reports", ".ci"}


@pytest.mark.parametrize("folder", ["suites", "configs"])
def test_only_data_in_the_data_folders(folder):
    """YAML, the JSON Schemas that editors read, and the files of other programs; no code."""
    files = [p for p in (ROOT / folder).rglob("*") if p.is_file()]
    deployed = {p for p in files if p.parent.name == "deploy"}
    assert {p.suffix or p.name for p in deployed} <= {
        ".yaml",
        ".yml",
        ".json",
        ".md",
        ".service",
        "Containerfile",
    }
    files = [p for p in files if p not in deployed]
    assert {p.suffix for p in files if p.parent.name != "schemas"} == {".yaml"}
    assert {p.suffix for p in files if p.parent.name == "schemas"} <= {".json"}


def test_a_local_file_hides_the_bundled_one(installed, tmp_path):
    """A suite in ./suites of the same name is the one that is taken."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "smoke.yaml").write_text(
        "version: 1\nname: mine\ncases:\n  - {kind: completion}\n"
    )
    flags = ("--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--model", "m", "--no-key")
    said = call(installed / "edgeprobe", "plan", "smoke", *flags, cwd=tmp_path, env={"PYTHONPATH": ""})
    assert "\nmine/completion" in said
    assert "streaming" not in said


def test_this_interpreter_is_supported():
    """The tests run on a Python that the metadata admits."""
    assert sys.version_info >= (3, 11)
