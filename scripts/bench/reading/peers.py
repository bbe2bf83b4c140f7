"""Whom the drive is compared with: rclone, sshfs and Mountpoint for S3."""
import os, shutil, subprocess, sys
from pathlib import Path

from .drives import Mounted
from .process import quiet, stop, wait_for
from .stage import authority, origin

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "check"))
import fleet_parts

SSH_PORT, STORAGE_PORT = 18485, 18486


class Peer(Mounted):
    """A program in the foreground that mounts what nginx shows."""

    def __init__(self, bench, label=None):
        self.bench, self.pid, self.server = bench, None, None
        self.label = label or self.label
        self.home = bench.base / self.label.replace(" ", "-").replace(",", "")
        self.dir, self.cache = self.home / "mnt", self.home / "cache"
        self.dir.mkdir(parents=True)

    def start(self, *command, env=None):
        log = open(self.home / "log", "ab")
        return subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, env=env).pid

    def reset(self, form, *_):
        self.unmount()
        shutil.rmtree(self.cache, ignore_errors=True)
        self.pid = self.mount(form)
        wait_for(f"the mount of {self.label}", lambda: os.path.ismount(self.dir))

    def unmount(self):
        super().unmount()
        if self.server:
            stop(self.server)
            self.server = None


class Rclone(Peer):
    def __init__(self, bench, label, *flags):
        super().__init__(bench, f"rclone {label}")
        self.flags = flags

    def mount(self, form):
        return self.start(self.bench.rclone, "--config", "/dev/null", "--ca-cert", authority(self.bench.base), "mount",
                          f":http,url='{origin(form)}/show/':", self.dir, "--cache-dir", self.cache, *self.flags)


class Sshfs(Peer):
    """From an sshd of its own, with keys of its own, on loopback. It has no delays, so it takes part on `fast` only."""

    label = "sshfs"

    @staticmethod
    def missing():
        absent = [name for name in ("sshfs", "/usr/sbin/sshd", "ssh-keygen") if not shutil.which(name)]
        return f"{absent[0]} is missing: apt install sshfs openssh-server" if absent else None

    def mount(self, _):
        keys = self.home / "keys"
        if not keys.exists():
            keys.mkdir(mode=0o700)
            for name in ("host", "user"):
                quiet("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name)
            (keys / "sshd").write_text("\n".join([
                f"ListenAddress 127.0.0.1:{SSH_PORT}", f"HostKey {keys}/host", f"AuthorizedKeysFile {keys}/user.pub", "StrictModes no",
                "PasswordAuthentication no", "UsePAM no", "PidFile none", "Subsystem sftp internal-sftp", ""]))
            Path("/run/sshd").mkdir(exist_ok=True)
        self.server = self.start("/usr/sbin/sshd", "-D", "-f", keys / "sshd")
        options = f"IdentityFile={keys}/user,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,ConnectionAttempts=10"
        return self.start("sshfs", "-f", "-p", SSH_PORT, "-o", options, f"root@127.0.0.1:{self.bench.data.www}/show", self.dir)


class Mountpoint(Peer):
    """Mountpoint for S3, of examples/s3.rs in front of the same files."""

    label = "mount-s3"

    @staticmethod
    def missing():
        if not shutil.which("mount-s3"):
            return "mount-s3 is missing"
        try:
            fleet_parts.storage_program()
        except fleet_parts.Missing as program:
            return f"{program} is missing"

    def mount(self, _):
        keys = {"AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": "SKTEST"}
        address = f"127.0.0.1:{STORAGE_PORT}"
        self.server = self.start(fleet_parts.storage_program(), address, *keys.values(), self.bench.data.www)
        return self.start("mount-s3", "--foreground", "--read-only", "--force-path-style", "--region", "us-east-1",
                          "--endpoint-url", f"http://{address}", "show", self.dir, env={**os.environ, **keys})
