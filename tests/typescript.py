"""The compiler of TypeScript, and the SDK as it would be installed: for whoever tests it."""
import pathlib
import subprocess

import fetched

ROOT = pathlib.Path(__file__).resolve().parents[1]
SDK = ROOT / "sdk/typescript"
TYPESCRIPT = "7.0.2"  # which is a native program, and quick


def compiler():
    """The compiler, fetched once into a folder of the user's cache."""
    return fetched.npm(f"typescript-{TYPESCRIPT}", f"typescript@{TYPESCRIPT}") / "typescript/bin/tsc"


def compile_to(folder):
    """Its types are checked, strictly, when it is made."""
    done = subprocess.run(["node", compiler(), "-p", SDK, "--outDir", folder], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout
    return folder
