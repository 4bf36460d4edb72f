"""Where does a named suite, target or configuration file lie?

A path, else `./suites` or `./configs` where the user stands, else what came with the package: beside `probes/` in a
checkout, under `probes/_bundled/` in an installed wheel.
"""

from __future__ import annotations

from pathlib import Path

from probes.errors import UsageError, did_you_mean

_PACKAGE = Path(__file__).resolve().parent


def bundled(*parts: str) -> Path:
    """A file or folder that came with the package, such as `bundled("configs", "timers.yaml")`."""
    installed = _PACKAGE / "_bundled"
    return (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)


def names(folder: str) -> dict[str, Path]:
    """Every YAML file of `folder` by its stem; a local file hides the bundled one of the same name.

    A local path stays relative, so that messages read as the user would write it.
    """
    places = (bundled(folder), Path(folder))
    return {path.stem: path for place in places for path in sorted(place.glob("*.yaml"))}


def find(name: str, folder: str, what: str) -> Path:
    """The file that `name` means; raises UsageError with the nearest valid name."""
    as_path = Path(name)
    if as_path.suffix in {".yaml", ".yml"} or len(as_path.parts) > 1:
        if as_path.is_file():
            return as_path
        raise UsageError(f"{what} {name}: no such file")
    known = names(folder)
    if name not in known:
        raise UsageError(f"{what} {name!r} is not known{did_you_mean(name, known)}")
    return known[name]
