"""The users of `kills`. Each works in a process of its own until the drive is gone, and notes on the local disk what it begins and what has
returned. Its `check` compares the drive that is mounted again with these notes."""
import collections
import errno
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import time

from suites_drive import ASSETFS, GLTF, TRIANGLE

# What calls return when the drive is killed.
GONE = (errno.ENOTCONN, errno.ECONNABORTED)


def write_model(folder):
    folder.mkdir()
    (folder / "chair.gltf").write_text(GLTF)
    (folder / "Chair.bin").write_bytes(TRIANGLE)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def patiently(call, seconds=90):
    """What a call gives; while the service has too many requests, it is asked again."""
    end = time.monotonic() + seconds
    while True:
        try:
            return call()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(1)


def listing(folder):
    return patiently(lambda: os.listdir(folder))


def start(user, round):
    process = multiprocessing.Process(target=user.run, args=(round,), daemon=True)
    process.start()
    return process


class User:
    def __init__(self, name, folder, mnt, seed):
        self.name, self.folder, self.mnt, self.seed = name, folder, mnt, seed
        self.notes = folder / f"{name}.notes"
        self.did = collections.Counter()
        self.read_to = 0

    def run(self, round):
        """In a process of its own."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.random = random.Random(f"{self.seed}-{round}")
        self.out = os.open(self.notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.round = round
        try:
            while not (self.folder / "stop").exists():
                self.go_on()
        except OSError as error:
            self.note("error", error.errno, str(error), time.monotonic())
        except Exception as error:
            self.note("error", 0, repr(error), time.monotonic())
        # Nothing of the parent is flushed here.
        os._exit(0)

    def go_on(self):
        try:
            self.work()
        except OSError as error:
            # Too many requests: later.
            if error.errno != errno.EBUSY:
                raise
            self.note("done", "pauses for the request limit", 1)
            time.sleep(0.5)

    def note(self, *words):
        os.write(self.out, (json.dumps(words) + "\n").encode())

    def news(self):
        """The notes since the last check."""
        if not self.notes.exists():
            return []
        with self.notes.open("rb") as file:
            file.seek(self.read_to)
            text = file.read()
            self.read_to = file.tell()
        return [json.loads(line) for line in text.splitlines()]

    def check(self, killed):
        for note in self.news():
            if note[0] == "error":
                if note[1] not in GONE:
                    yield f"the error was {note[2]}, {note[3] - killed:.2f} s after the kill"
            else:
                yield from self.take(note) or ()
        yield from self.compare() or ()

    def take(self, note):
        if note[0] == "wrong":
            yield note[1]
        self.did[note[1]] += note[0] == "done"

    def compare(self):
        return ()

    def finish(self, kills):
        return ()

    def forget(self):
        """What it made is removed."""


class Writer(User):
    """Changes the files of a draft that is never sent, because it holds no model."""

    def __init__(self, *words):
        super().__init__(*words)
        # What the drive must have: name -> checksum, None for a folder.
        self.has = {}
        self.begun = None

    def path(self, name):
        return self.mnt / "rawmodels" / self.name / name

    def work(self):
        if self.random is not None and not hasattr(self, "mine"):
            self.path("").mkdir(exist_ok=True)
            self.mine = dict(self.has)
        names = [f"f{number}.txt" for number in range(8)]
        there = [name for name in names if name in self.mine]
        what = self.random.choice(["write", "write", "write", "append", "rename", "remove", "mkdir", "rmdir"])
        name = self.random.choice(there or names)
        if what == "write":
            name = self.random.choice(names)
            data = self.random.randbytes(self.random.choice([0, 10, 5000, 200_000]))
            self.step(what, {name: digest(data)}, lambda: self.write(name, data, "wb"))
        elif what == "append" and there:
            data = self.random.randbytes(1000)
            before = self.path(name).read_bytes()
            if digest(before) != self.mine[name]:
                self.note("wrong", f"{name} has other bytes before the kill")
            self.step(what, {name: digest(before + data)}, lambda: self.write(name, data, "ab"))
        elif what == "rename" and there:
            other = self.random.choice(names)
            if other != name:
                self.step(what, {name: "", other: self.mine[name]}, lambda: os.rename(self.path(name), self.path(other)))
        elif what == "remove" and there:
            self.step(what, {name: ""}, lambda: os.unlink(self.path(name)))
        elif what in ("mkdir", "rmdir") and (what == "mkdir") != ("folder" in self.mine):
            self.step(what, {"folder": None if what == "mkdir" else ""}, lambda: getattr(os, what)(self.path("folder")))

    def step(self, what, change, call):
        self.note("begin", what, change)
        call()
        self.note("done", what, change)
        self.apply(self.mine, change)

    def write(self, name, data, mode):
        with open(self.path(name), mode) as file:
            file.write(data)
            if self.random.random() < 0.3:
                file.flush()
                os.fsync(file.fileno())

    @staticmethod
    def apply(has, change):
        for name, value in change.items():
            if value == "":
                has.pop(name, None)
            else:
                has[name] = value

    def take(self, note):
        yield from super().take(note)
        if note[0] == "begin":
            self.begun = note
        elif note[0] == "done":
            self.begun = None
            self.apply(self.has, note[2])

    def compare(self):
        folder = self.path("")
        found = {}
        for name in os.listdir(folder) if folder.exists() else ():
            found[name] = None if self.path(name).is_dir() else digest(self.path(name).read_bytes())
        # The step that was under way has happened, or not. A file that was being written may have any bytes.
        allowed = [self.has]
        loose = set()
        if self.begun:
            after = dict(self.has)
            self.apply(after, self.begun[2])
            allowed.append(after)
            loose = set(self.begun[2]) if self.begun[1] in ("write", "append") else set()
        strict = [{name: value for name, value in state.items() if name not in loose} for state in allowed]
        if {name: value for name, value in found.items() if name not in loose} not in strict:
            yield f"found {found}, but {self.has} was acknowledged; {self.begun} was under way"
        self.has, self.begun = found, None


    def forget(self):
        self.has, self.begun = {}, None


class Reader(User):
    """Reads a finished model and compares every byte."""

    def work(self):
        if not hasattr(self, "data"):
            self.data = (self.folder / "fixed/data.bin").read_bytes()
        with open(self.mnt / "rawmodels/fixed/data.bin", "rb") as file:
            for _ in range(20):
                at = self.random.randrange(len(self.data))
                length = self.random.choice([1, 4096, 300_000])
                file.seek(at)
                if file.read(length) != self.data[at:at + length]:
                    self.note("wrong", f"other bytes at {at}, {length} long")
        self.note("done", "reads", 20)


class Lister(User):
    """Lists all folders, as `find` and file managers do."""

    def work(self):
        for folder in ("", "rawmodels", "rawmodels/fixed", "rapidmodels", "presets/factory", "jobs", "account"):
            for entry in os.scandir(self.mnt / folder):
                try:
                    entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    pass
        self.note("done", "listings", 7)
        # The service allows an account a number of requests a minute.
        time.sleep(0.2)


class Waiter(User):
    """Commands that wait: they must end, too."""

    def work(self):
        for words in (["wait", "--timeout", "20s", self.mnt], ["events", self.mnt], ["status", "--watch", self.mnt]):
            os.listdir(self.mnt)
            self.follow(words)
        self.note("done", "waits", 3)

    def follow(self, words):
        """Lets a command run until it ends, or for a second while the drive answers. A command that hangs keeps this user here."""
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([ASSETFS, *map(str, words)], **quiet)
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            try:
                os.listdir(self.mnt)
                process.terminate()
            finally:
                process.wait()


class Modeller(User):
    """Copies models in, optimizes them and deletes some."""

    def __init__(self, *words):
        super().__init__(*words)
        self.copied, self.deleted, self.begun_delete, self.texts, self.accepted = set(), set(), set(), {}, set()

    def work(self):
        name = f"{self.name}-{self.round}-{self.random.randrange(1 << 32)}"
        path = self.mnt / "rawmodels" / name
        self.note("begin", "copy", name)
        path.mkdir()
        # The size differs, so that each model is one of its own.
        (path / "chair.gltf").write_text(GLTF + " " * self.random.randrange(1000))
        (path / "Chair.bin").write_bytes(TRIANGLE)
        self.note("done", "copy", name)
        text = json.dumps({"limits": {"faces": {"percentage": 50}}, "compressionAndExport": {"fileExports": [{"fileType": "glb"}]}, "tags": [name]})
        self.call("commit", path)
        self.note("begin", "text", name)
        (path / "optimize/web.json").write_text(text)
        self.note("done", "text", name)
        if self.random.random() < 0.5:
            self.call("wait", path / "optimize/web.json")
            self.note("done", "wait for a result", name)
            if self.random.random() < 0.8:
                self.note("begin", "delete", name)
                shutil.rmtree(path)
                self.note("done", "delete", name)

    def call(self, *words):
        done = subprocess.run([ASSETFS, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            # It is the drive that has gone, or listing it says so.
            os.listdir(self.mnt)
            raise RuntimeError(f"assetfs {words[0]}: {done.stderr.strip()}")

    def take(self, note):
        yield from super().take(note)
        kind, what, name = note[:3]
        if kind == "done" and what in ("copy", "delete", "text"):
            {"copy": self.copied, "delete": self.deleted, "text": self.accepted}[what].add(name)
        elif what == "delete":
            self.begun_delete.add(name)
        elif what == "text":
            self.texts[name] = True

    def compare(self):
        there = set(listing(self.mnt / "rawmodels"))
        for name in self.copied - self.begun_delete - there:
            yield f"{name} was copied in and is gone; it {'can' if (self.mnt / 'rawmodels' / name).exists() else 'cannot'} be looked up"
        for name in self.deleted & there:
            yield f"{name} was deleted and is back"

    def finish(self, kills):
        given_up = 0
        for name in sorted(self.accepted - self.begun_delete):
            done, _ = kills.assetfs("wait", "--quiet", kills.mnt / "rawmodels" / name / "optimize/web.json", seconds=300)
            if kills.options.service and done and "the service died 3 times" in done.stderr:
                given_up += 1
            elif done is None or done.returncode != 0:
                yield f"the text of {name} did not become a result: {done and done.stderr.strip()}"
        listed = [json.loads(line) for line in patiently((kills.mnt / "rawmodels/.assetfs/models.jsonl").read_text).splitlines()]
        names = collections.Counter(line["name"].split("~")[0] for line in listed)
        for name in sorted(self.copied - self.begun_delete):
            if names[name] != 1:
                yield f"{name} is there {names[name]} times"
        lines = [json.loads(line) for line in patiently((kills.mnt / "account/points.jsonl").read_text).splitlines()]
        paid = collections.Counter(line["model_id"] for line in lines)
        for model, times in paid.items():
            if times > 1:
                yield f"the text of model {model} was paid {times} times"
        spent = kills.first_points - patiently(kills.points)
        self.did["points spent"] = spent
        self.did["jobs given up"] = given_up
        if spent > len(self.texts) or spent < len(self.accepted) - given_up:
            yield f"{spent} points are gone for {len(self.accepted)} texts that were accepted and {len(self.texts)} that were begun"


    def forget(self):
        self.copied, self.deleted, self.begun_delete, self.texts, self.accepted = set(), set(), set(), {}, set()


USERS = [Writer, Writer, Reader, Lister, Waiter, Modeller]
