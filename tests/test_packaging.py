"""What setup.cfg and pyproject.toml list is what the folders hold."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def setup_cfg() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_every_folder_with_code_is_listed() -> None:
    listed = set(setup_cfg()["options"]["packages"].split())
    found = {"llm_graphrag.templates"}
    for top in ("llm_graphrag", "datasette_graphrag"):
        folders = {path.parent for path in (ROOT / top).rglob("*.py")}
        found |= {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert listed == found


def test_every_other_file_is_package_data() -> None:
    packages = set(setup_cfg()["options"]["packages"].split())
    data = {package: patterns.split() for package, patterns in setup_cfg()["options.package_data"].items()}
    for top in ("llm_graphrag", "datasette_graphrag"):
        for path in (ROOT / top).rglob("*"):
            if path.is_dir() or path.suffix in {".py", ".pyc"}:
                continue
            owner = path.parent
            while ".".join(owner.relative_to(ROOT).parts) not in packages:
                owner = owner.parent
            patterns = data.get(".".join(owner.relative_to(ROOT).parts), [])
            inside = path.relative_to(owner)
            assert any(inside.match(pattern) for pattern in patterns), f"{path.relative_to(ROOT)} is not installed"


def test_typed_markers() -> None:
    assert (ROOT / "llm_graphrag" / "py.typed").is_file()
    assert (ROOT / "datasette_graphrag" / "py.typed").is_file()


def test_wheel_holds_everything_that_is_read_at_run_time(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.cfg", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("llm_graphrag", "datasette_graphrag", "templates"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"
    run = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=source, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    (wheel,) = tmp_path.glob("llm_graphrag-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        entry_points = archive.read(next(name for name in inside if name.endswith("entry_points.txt"))).decode()
    expected = {f"llm_graphrag/templates/{path.name}" for path in (ROOT / "templates").glob("*.*")}
    for top in ("llm_graphrag", "datasette_graphrag"):
        files = [path for path in (ROOT / top).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        expected |= {path.relative_to(ROOT).as_posix() for path in files}
    assert expected <= inside
    assert not {name for name in inside if name.startswith(("tests/", "templates/", "docs/"))}
    assert "[llm]\ngraphrag = llm_graphrag.plugin" in entry_points
    assert "[datasette]\ngraphrag = datasette_graphrag" in entry_points
