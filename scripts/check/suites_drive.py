"""The drive that the suites run on: who mounts it, its places, and whether it is still well."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSETFS = os.environ.get("ASSETFS", str(ROOT / "target/debug/assetfs"))
TOOLS = ROOT / "target/test-tools"
# A triangle, and its buffer.
GLTF = """{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],
"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"uri":"Chair.bin","byteLength":36}]}"""
TRIANGLE = bytes(14) + b"\x80\x3f" + bytes(14) + b"\x80\x3f" + bytes(4)


class Missing(Exception):
    """What a suite needs is not here; the text says how to get it."""


class Root:
    name = "root"
    prefix = []
    mount = ["--allow-other"]

    def is_possible(self):
        return os.geteuid() == 0

    def give(self, folder):
        folder.chmod(0o755)


class Ordinary:
    """The user nobody if root runs this, else who runs it."""
    name = "ordinary"
    mount = []

    def __init__(self):
        self.prefix = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []

    def is_possible(self):
        return True

    def give(self, folder):
        if self.prefix:
            shutil.chown(folder, "nobody", "nogroup")


class Ran:
    """What a program printed, and its exit code; None if it did not end in time."""
    # How much longer than its limit a program may take: for a busy machine.
    patience = 1.0

    def __init__(self, command, user, log, seconds, folder=None, more=None):
        if folder:
            # Only the user can go there: root cannot enter the drive of another user.
            command = ["sh", "-c", 'cd "$0" && exec "$@"', folder, *command]
        env = {**os.environ, "HOME": str(log.parent), "LC_ALL": "C", **(more or {})}
        with log.open("w") as out:
            process = subprocess.Popen([*user.prefix, *map(str, command)], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       cwd=log.parent, env=env, start_new_session=True)
            try:
                self.code = process.wait(seconds * Ran.patience)
            except subprocess.TimeoutExpired:
                self.code = None
                os.killpg(process.pid, signal.SIGKILL)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    out.write(f"\nprocess {process.pid} cannot even be killed\n")
        self.text = log.read_text(errors="replace")

    def last(self):
        """The last words, for a message."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return (lines or ["no output"])[-1][:160] if self.code is not None else "did not end in time"


class Place:
    def __init__(self, name, path, logs):
        self.name, self.path, self.logs = name, path, logs

    def log(self, name):
        return self.logs / f"{self.name}-{name}.log"

    def new_folder(self, name, user):
        """A folder in the place that belongs to the user, for one suite."""
        # Root itself cannot look into the drive of another user.
        Ran(["mkdir", "-p", self.path / name], user, self.log("mkdir"), 20)
        return self.path / name


class Drive:
    def __init__(self, folder, user):
        self.folder, self.user, self.mnt = folder, user, folder / "mnt"
        folder.mkdir()
        user.give(folder)
        self.logs = folder / "logs"
        self.logs.mkdir()
        user.give(self.logs)
        # The ordinary user may not be able to read the folder of this project.
        self.program = folder / "assetfs"
        shutil.copy(ASSETFS, self.program)
        self.start()

    def run(self, *words, seconds=120):
        return Ran([self.program, *words], self.user, self.logs / f"assetfs-{words[0]}.log", seconds)

    def start(self):
        dirs = [word for name in ("data", "state", "cache") for word in (f"--{name}-dir", self.folder / name)]
        done = self.run("mount", self.mnt, "--local", "--settle", "1s", *dirs, *self.user.mount)
        if done.code != 0:
            raise SystemExit(f"the drive cannot be mounted as {self.user.name}: {done.text}")

    def draft(self):
        path = self.mnt / "rawmodels/draft"
        Ran(["mkdir", path], self.user, self.logs / "mkdir.log", 20)
        return Place("draft", path, self.logs)

    def finished(self):
        """A model that the service has, with a file that fio wrote, read through an empty cache."""
        path = self.mnt / "rawmodels/finished"
        source = self.folder / "source"
        source.mkdir()
        (source / "chair.gltf").write_text(GLTF)
        (source / "Chair.bin").write_bytes(TRIANGLE)
        write = ["fio", "--name=data", f"--filename={source}/data.bin", "--size=24m", "--rw=write", "--bs=64k", "--verify=crc32c", "--do_verify=0"]
        if shutil.which("fio"):
            Ran(write, Root(), self.logs / "fio-source.log", 120)
        else:
            (source / "data.bin").write_bytes(os.urandom(1 << 20))
        for step in (["cp", "-r", source, path], [self.program, "commit", path], [self.program, "wait", "--quiet", path]):
            done = Ran(step, self.user, self.logs / "finished.log", 300)
            if done.code != 0:
                raise SystemExit(f"{' '.join(map(str, step))}: {done.text}")
        self.run("unmount", self.mnt)
        # Without the local copy and without the cache, so that every byte comes from the service.
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        self.start()
        return Place("finished", path, self.logs)

    def is_well(self):
        """Whether the drive still answers, and no program hangs on it."""
        done = self.run("status", self.mnt, "--json", seconds=30)
        yield "assetfs status answers", "passed" if done.code == 0 else "failed", done.last()
        hanging = [line for line in subprocess.check_output(["ps", "-eo", "stat=,pid=,wchan:32=,args="], text=True).splitlines()
                   if line.startswith("D") and str(self.folder) in line]
        yield "no process hangs", "failed" if hanging else "passed", "; ".join(hanging)
        panics = [str(file) for file in self.folder.glob("state/mount.log*") if "panicked" in file.read_text(errors="replace")]
        yield "no panic in the log", "failed" if panics else "passed", "; ".join(panics)

    def status(self):
        return json.loads((self.mnt / ".assetfs/status.json").read_text())

    def end(self):
        if self.run("unmount", "--now", self.mnt, seconds=60).code != 0:
            subprocess.run(["umount", "-l", self.mnt], capture_output=True)

    @staticmethod
    def remove(folder):
        # A mount that is left is never removed into.
        for _ in range(50):
            if not any(str(folder) in line for line in Path("/proc/self/mounts").read_text().splitlines()):
                shutil.rmtree(folder, ignore_errors=True)
                return
            time.sleep(0.1)
