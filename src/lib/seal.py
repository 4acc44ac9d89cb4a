"""Makes one archive of several, with one object in it, of which only what is visible can be linked to.

    seal.py OUTPUT ARCHIVE...

A name that the compiler was told to hide is still seen in an ordinary archive, and could meet one of the
program's own.
"""
import pathlib
import subprocess
import sys
import tempfile


def main(output, archives):
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "ringfort.o"
        subprocess.run(["ld", "-r", "-o", whole, "--whole-archive", *archives], check=True)
        subprocess.run(["objcopy", "--localize-hidden", whole], check=True)
        pathlib.Path(output).unlink(missing_ok=True)
        subprocess.run(["ar", "rcsD", output, whole], check=True)


main(sys.argv[1], sys.argv[2:])
