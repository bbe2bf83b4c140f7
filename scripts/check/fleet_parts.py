"""The processes of a fleet: PostgreSQL, an S3 (examples/s3.rs or Ceph), services and workers."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "only-for-this-run"
KEYS = ("AKTEST", "SKTEST")


class Missing(Exception):
    """A program that is needed is not installed."""


def free_port():
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        return port.getsockname()[1]


def wait_for(what, is_so, seconds):
    until = time.monotonic() + seconds
    while not (value := is_so()):
        if time.monotonic() > until:
            raise AssertionError(f"never within {seconds} s: {what}")
        time.sleep(0.1)
    return value


class Postgres:
    """A server whose commits are on disk, so that it may be stopped at any moment."""

    def __init__(self, folder):
        self.folder = folder
        if subprocess.run([ROOT / "scripts/postgres", "check"]).returncode != 0:
            raise Missing("PostgreSQL")
        url = subprocess.check_output([ROOT / "scripts/postgres", "start", folder, "--durable"], text=True).strip()
        self.port = int(url.rsplit(":", 1)[1].split("/")[0])
        self.sql(f"ALTER USER postgres PASSWORD '{PASSWORD}'")

    def sql(self, *statements):
        """The rows of the last statement; each is a list of texts."""
        command = [next(Path("/usr/lib/postgresql").glob("*/bin/psql"), "psql"), "-X", "-q", "-A", "-t", "-F", "\t"]
        command += ["-h", str(self.folder / "server"), "-p", str(self.port), "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def number(self, statement):
        return int(self.sql(statement)[0][0])

    def restart(self):
        subprocess.run([ROOT / "scripts/postgres", "restart", self.folder], check=True)

    def stop(self):
        subprocess.run([ROOT / "scripts/postgres", "stop", self.folder])


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def storage_program():
    """examples/s3.rs, of the first build that has it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    for profile in ["demo", "debug", "release"]:
        program = target / profile / "examples/s3"
        if program.is_file():
            return program
    raise Missing("target/debug/examples/s3 (cargo build --example s3)")


class Bucket:
    """examples/s3.rs: each object is a file."""
    NAME = "fleet"
    can_age = True

    def __init__(self, folder):
        self.root = folder / "bucket"
        (self.root / self.NAME).mkdir(parents=True)
        self.port = free_port()
        command = [storage_program(), f"127.0.0.1:{self.port}", *KEYS, self.root]
        log = open(folder / "storage.log", "w")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for("the storage listens", lambda: listens(self.port), 30)

    def url(self, port=None):
        """What --files names, through a proxy at `port`."""
        return f"s3://{self.NAME}/studio?endpoint=http://127.0.0.1:{port or self.port}"

    def keys(self, folder):
        """The objects below a folder of the prefix; the server keeps what it knows of them in hidden files."""
        root = self.root / self.NAME / "studio" / folder
        if not root.exists():
            return set()
        return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file() and not file.name.startswith(".")}

    def read(self, key):
        return (self.root / self.NAME / "studio" / key).read_bytes()

    def age(self, days):
        past = time.time() - days * 86_400
        for file in self.root.rglob("*"):
            if file.is_file():
                os.utime(file, (past, past))

    def stop(self):
        self.process.kill()
        self.process.wait()


class Ceph:
    """One node of Ceph, in memory, and its gateway."""
    NAME = "fleet"
    can_age = False

    def __init__(self, folder):
        if subprocess.run([ROOT / "scripts/ceph", "check"]).returncode != 0:
            raise Missing("Ceph (radosgw, ceph-mon, ceph-osd)")
        self.folder = folder / "ceph"
        self.folder.mkdir()
        self.port = free_port()
        subprocess.run([ROOT / "scripts/ceph", "start", self.folder, str(self.port)], check=True)
        self.ask("PUT", f"/{self.NAME}")

    url = Bucket.url

    def ask(self, method, target):
        command = ["curl", "-fsS", "-X", method, "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", ":".join(KEYS)]
        command += ["-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", f"http://127.0.0.1:{self.port}{target}"]
        return subprocess.check_output(command)

    def keys(self, folder):
        """The objects below a folder of the prefix."""
        prefix, found, after = f"studio/{folder}/", set(), ""
        while True:
            query = urllib.parse.urlencode({"list-type": 2, "prefix": prefix, "start-after": after}, quote_via=urllib.parse.quote)
            page = re.findall("<Key>(.*?)</Key>", self.ask("GET", f"/{self.NAME}?{query}").decode())
            if not page:
                return found
            found |= {key.removeprefix(prefix) for key in page}
            after = page[-1]

    def read(self, key):
        return self.ask("GET", f"/{self.NAME}/studio/{key}")

    def stop(self):
        subprocess.run([ROOT / "scripts/ceph", "stop", self.folder])


def write_stub(folder, text):
    """The program that does each job in place of the engine."""
    stub = folder / "stub"
    stub.write_text(f"#!/bin/sh\n{text}")
    stub.chmod(0o755)
    return stub


class Stores:
    """Starts services and workers on the same records and files. `more` are options of all of them."""

    def __init__(self, folder, database, files, more=()):
        self.folder, self.environment = folder, environment()
        self.options = ["--records", f"postgres://postgres@127.0.0.1:{database}/postgres", "--files", files, *more]

    def serve(self, name, program, port, front, more=()):
        """A service at `port`, which clients reach at the port `front`."""
        command = [program, "serve", *self.options, "--workers", "0", "--data", self.folder / name]
        command += ["--listen", f"127.0.0.1:{port}", "--public-url", f"http://127.0.0.1:{front}", *more]
        return Member(name, command, self.environment, self.folder)

    def worker(self, name, program, more=()):
        command = [program, "engine-worker", *self.options, "--work-dir", self.folder / name, *more]
        return Member(name, command, self.environment, self.folder)


def environment():
    """The variables with the credentials of `Postgres` and `Bucket`."""
    keys = {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1], "PGPASSWORD": PASSWORD}
    return {**os.environ, **keys}


class Member:
    """A service or a worker. It is started again when it ends, as a supervisor does."""

    def __init__(self, name, command, environment, folder):
        self.name, self.command, self.environment = name, command, environment
        self.log = open(folder / f"{name}.log", "ab")
        self.process, self.wanted, self.starts = None, True, 0

    def keep_running(self):
        if self.wanted and (self.process is None or self.process.poll() is not None):
            self.starts += 1
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=self.log, stderr=self.log)

    def send(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def stop(self):
        self.wanted = False
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{self.name} did not stop within 30 s after SIGTERM")
