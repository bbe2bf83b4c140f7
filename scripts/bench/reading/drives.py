"""The file systems under test: what they have in common, and the drive."""
import json, os, shutil, subprocess
from pathlib import Path

from figures import HELPED, ROOT_USER

from .process import HZ, NOBODY, ended, quiet, run, wait_for
from .stage import authority


class Mounted:
    """A file system under test: where it is, which process serves it, how to make it cold."""

    label = ""
    # What every command starts with that looks into it.
    as_user = ()

    def path(self, name):
        return self.dir / name

    def cpu(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / HZ

    def peak_mib(self):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return 0.0

    def unmount(self):
        if os.path.ismount(self.dir):
            subprocess.run(["fusermount3", "-uz", str(self.dir)], stderr=subprocess.DEVNULL)
        if self.pid:
            wait_for(f"the end of {self.label}", lambda: ended(self.pid), 30)
            self.pid = None


class Assetfs(Mounted):
    def __init__(self, bench, whose=ROOT_USER, other=None):
        self.bench, self.pid = bench, None
        self.binary = other or (bench.helped if whose == HELPED else bench.binary)
        self.label = "the other build" if other else whose
        home = bench.base / f"drive-{len(bench.mounts)}"
        self.dir, self.home = home / "mnt", home
        self.dir.mkdir(parents=True)
        if whose != ROOT_USER:
            self.as_user = NOBODY
            run("chown", "-R", "nobody:nogroup", home)

    def mount(self, *more):
        quiet(*self.as_user, self.binary, "mount", self.dir, "--base-url", self.bench.service.url,
              "--state-dir", self.home / "state", "--cache-dir", self.home / "cache",
              "--refresh", "1h", "--log-file", self.home / "log", *more,
              env={**os.environ, "ASSETFS_TOKEN": self.bench.service.token,
                   "HOME": str(self.home), "SSL_CERT_FILE": str(authority(self.bench.base))})
        status = run(*self.as_user, "cat", self.dir / ".assetfs/status.json",
                     stdout=subprocess.PIPE).stdout
        self.pid = json.loads(status)["pid"]

    def path(self, name):
        return self.dir / "rawmodels" / name

    def unmount(self):
        if self.pid:
            quiet(*self.as_user, self.binary, "unmount", "--now", self.dir)
        super().unmount()

    def reset(self, form=None, *more):
        """A fresh mount with an empty cache; what was known of the listings is still known."""
        self.unmount()
        shutil.rmtree(self.home / "cache", ignore_errors=True)
        self.mount(*more)
