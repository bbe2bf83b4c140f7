"""A drive with users that is killed, mounted again and compared, again and again: for `kills` and `soak`."""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from kills_users import USERS, start, write_model
from suites_drive import ASSETFS

HANG, ANSWER, REMOUNT = 5, 10, 20


class Kills:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.random = random.Random(options.seed)
        self.mnt, self.did, self.wrong = folder / "mnt", collections.Counter(), []
        self.longest = collections.Counter()
        self.pid = self.service = None
        self.account = ["--local", "--data-dir", folder / "data"]

    def serve(self):
        """The service as a process of its own."""
        address = self.folder / "data/address"
        with (self.folder / "serve.log").open("w") as log:
            command = [ASSETFS, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.folder / "data"]
            self.service = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        while not address.exists() or not (self.folder / "data/token").exists():
            time.sleep(0.1)
        self.account = ["--base-url", address.read_text().strip(), "--token-file", self.folder / "data/token"]

    def problem(self, text):
        text = f"kill {self.did['kills']}: {text}"
        self.wrong.append(text)
        print(f"  WRONG: {text}", flush=True)

    def took(self, what, seconds, most):
        self.longest[what] = max(self.longest[what], seconds)
        if seconds > most * self.options.patience:
            self.problem(f"{what} took {seconds:.1f} s")

    def assetfs(self, *words, seconds=120):
        seconds *= self.options.patience
        began = time.monotonic()
        try:
            done = subprocess.run([ASSETFS, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            self.problem(f"`assetfs {words[0]}` did not end in {seconds} s")
            return None, time.monotonic() - began
        return done, time.monotonic() - began

    def mount(self):
        dirs = [word for name in ("state", "cache") for word in (f"--{name}-dir", self.folder / name)]
        done, seconds = self.assetfs("mount", self.mnt, *self.account, "--settle", "500ms", "--delete-limit", "100000", *dirs, seconds=60)
        self.took("mount", seconds, REMOUNT)
        if done is None or done.returncode != 0:
            self.problem(f"the drive cannot be mounted: {done and done.stderr}")
            raise SystemExit(self.report())
        self.pid = self.status()["pid"]

    def status(self):
        return json.loads((self.mnt / ".assetfs/status.json").read_text())

    def points(self):
        return int((self.mnt / "account/points").read_text())

    def prepare(self):
        if not self.options.service:
            self.serve()
        self.mount()
        fixed = self.folder / "fixed"
        write_model(fixed)
        (fixed / "data.bin").write_bytes(random.Random(1).randbytes(4 << 20))
        shutil.copytree(fixed, self.mnt / "rawmodels/fixed")
        for word in ("commit", "wait"):
            done, _ = self.assetfs(word, self.mnt / "rawmodels/fixed")
            if done is None or done.returncode != 0:
                raise SystemExit(f"the first model cannot be made: {done and done.stderr}")
        self.first_points = self.points()
        self.users = [kind(f"{kind.__name__.lower()}{number}", self.folder, self.mnt, f"{self.options.seed}-{number}") for number, kind in enumerate(USERS)]

    def round(self):
        processes = [start(user, self.did["kills"]) for user in self.users]
        time.sleep(self.random.choice([0.05, 0.3, 1.0, 2.0, 3.0]) * self.random.uniform(0.5, 1.5))
        os.kill(self.pid, signal.SIGKILL)
        self.did["kills"] += 1
        killed = time.monotonic()
        for user, process in zip(self.users, processes):
            process.join(max(0.0, killed + HANG * self.options.patience - time.monotonic()))
            if process.is_alive():
                self.problem(f"{user.name} hangs: {self.where(process.pid)}")
                process.kill()
        self.took("the end of every user", time.monotonic() - killed, HANG + 0.5)
        for words in (["status", self.mnt], ["list", self.mnt], ["why", self.mnt / "rawmodels"], ["wait", "--timeout", "5s", self.mnt]):
            done, seconds = self.assetfs(*words, seconds=60)
            self.took("a command without the drive", seconds, ANSWER)
            if done and (done.returncode != 1 or "assetfs mount" not in done.stderr):
                self.problem(f"`assetfs {words[0]}` of a killed drive: exit code {done.returncode}: {done.stderr.strip()}")
        self.mount()
        for user in self.users:
            for problem in user.check(killed):
                self.problem(f"{user.name}: {problem}")
        if self.did["kills"] % 10 == 0:
            self.assetfs("cache", "clear", self.mnt)

    @staticmethod
    def where(pid):
        found = []
        for name in ("wchan", "stack"):
            try:
                found.append(Path(f"/proc/{pid}/{name}").read_text().strip().replace("\n", " < "))
            except OSError:
                pass
        return "; ".join(found)

    def finish(self):
        """Lets everything end, and compares."""
        for user in self.users:
            for problem in user.finish(self):
                self.problem(f"{user.name}: {problem}")
        status = self.status()
        for what in ("orphans", "transfers"):
            if status[what]:
                self.problem(f"{what} are left: {status[what]}")
        done, _ = self.assetfs("unmount", self.mnt)
        if done is None or done.returncode != 0:
            self.problem(f"unmount: {done and done.stderr}")

    def report(self):
        did = collections.Counter({"kills": self.did["kills"]})
        for user in getattr(self, "users", []):
            did.update(user.did)
        print(f"seed {self.options.seed}: " + ", ".join(f"{number} {what}" for what, number in did.items()))
        for what, seconds in self.longest.items():
            print(f"  longest {what}: {seconds:.2f} s")
        for text in self.wrong:
            print(f"  WRONG: {text}")
        print(f"{len(self.wrong)} wrong", flush=True)
        return 1 if self.wrong else 0

    def end(self):
        subprocess.run([ASSETFS, "unmount", "--now", self.mnt], capture_output=True)
        subprocess.run(["umount", "-l", self.mnt], capture_output=True)
        if self.service:
            self.service.terminate()
            self.service.wait()
