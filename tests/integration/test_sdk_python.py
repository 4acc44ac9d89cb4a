"""The Python SDK, against the real server: with httpx from PyPI, in a place of its own beneath build/."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk/python"


@pytest.fixture(scope="session")
def python():
    venv = ROOT / "build/sdk-python"
    if not (venv / "bin/mypy").exists():
        made = subprocess.run(["/usr/bin/python3", "-m", "venv", venv], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no venv can be made: {made.stderr[-200:]}")
        done = subprocess.run([venv / "bin/pip", "-q", "install", "--no-input", "--retries", "1", "httpx", "mypy"],
                              capture_output=True, text=True, timeout=280, check=False)
        if done.returncode:
            pytest.skip(f"httpx and mypy can't be had from PyPI: {done.stderr[-200:]}")
    return venv / "bin/python"


@pytest.fixture(scope="module")
def server(ringfort, public):
    with Server(ringfort, "user", public / "sdk") as there:
        yield there


def run(python, server, workdir, *words, **env):
    done = subprocess.run([python, "-B", *words], cwd=workdir, capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SDK), "RINGFORT_KEY": server.key,
                               "RINGFORT_URL": f"http://127.0.0.1:{server.port}", **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_it_does_what_it_says(python, server, workdir, kind):
    other = server.make_key("--tenant", "other")
    rate = server.make_key("--rate", "1")
    assert run(python, server, workdir, SDK / "tests/live.py", kind, OTHER_KEY=other, SLOW_KEY=rate) == "all is well\n"


def test_its_page_works_as_pasted(python, server, workdir):
    text = (SDK / "README.md").read_text()
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    assert run(python, server, workdir, "-c", code) == "42\n\ndone\n\nhello\n"


def test_its_types_hold(python):
    done = subprocess.run([python, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "ringfort"], cwd=SDK, capture_output=True,
                          text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout
