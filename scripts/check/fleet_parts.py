"""The processes of a fleet: PostgreSQL, an S3 (s3s-fs), services and workers."""
import os
import shutil
import signal
import socket
import subprocess
import time
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


class Bucket:
    """s3s-fs: each object is a file."""
    NAME = "fleet"

    def __init__(self, folder):
        tools = Path(os.environ.get("ASSETFS_TEST_TOOLS", ROOT / "target/test-tools"))
        program = shutil.which("s3s-fs") or shutil.which(tools / "bin/s3s-fs")
        if not program:
            raise Missing("s3s-fs")
        self.root = folder / "bucket"
        (self.root / self.NAME).mkdir(parents=True)
        self.port = free_port()
        command = [program, "--host", "127.0.0.1", "--port", str(self.port), "--access-key", KEYS[0], "--secret-key", KEYS[1], self.root]
        log = open(folder / "storage.log", "w")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for("s3s-fs listens", self.listens, 30)

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def keys(self, folder):
        """The objects below a folder of the bucket; s3s-fs keeps what it knows of them in hidden files."""
        root = self.root / self.NAME / folder
        if not root.exists():
            return set()
        return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file() and not file.name.startswith(".")}

    def read(self, key):
        return (self.root / self.NAME / key).read_bytes()

    def age(self, days):
        past = time.time() - days * 86_400
        for file in self.root.rglob("*"):
            if file.is_file():
                os.utime(file, (past, past))

    def stop(self):
        self.process.kill()
        self.process.wait()


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
