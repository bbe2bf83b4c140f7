"""Gets the suites: crates and sources go into target/test-tools, programs of the distribution must be installed."""
import os
import shutil
import subprocess

from suites_drive import TOOLS, Missing

CRATES = {"pjdfstest": "0.2.2", "fsx": "0.3.2"}
SOURCES = {"ltp": "https://github.com/linux-test-project/ltp.git"}
# What the sources need to be built.
PACKAGES = {"ltp": "git make gcc autoconf automake pkg-config"}


def program(name, package=None):
    found = shutil.which(name)
    if not found:
        raise Missing(f"apt-get install --no-install-recommends {package or name}")
    return found


def crate(name):
    version = CRATES[name]
    folder = TOOLS / "suites"
    if not (folder / "bin" / name).exists():
        build("cargo", "install", "--quiet", "--locked", "--root", folder, "--target-dir", folder / "build", f"{name}@{version}")
    return folder / "bin" / name


def source(name, *steps):
    """The folder of a suite that is built here, with these commands after its sources were fetched."""
    folder = TOOLS / name
    if (folder / "built").exists():
        return folder
    if not folder.exists():
        build("git", "clone", "--quiet", "--depth", "1", SOURCES[name], folder)
    for step in steps:
        build("sh", "-c", step, folder=folder, otherwise=f"needs: apt-get install --no-install-recommends {PACKAGES[name]}")
    (folder / "built").touch()
    return folder


def build(*command, folder=None, otherwise=""):
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    except FileNotFoundError:
        raise Missing(f"{command[0]} is not installed") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1][:200]
        raise Missing(f"`{' '.join(map(str, command))}` failed: {last}. {otherwise}".rstrip(". "))
