"""Processes and machine: running, waiting, ending, and the kernel's caches."""
import ctypes, os, shutil, signal, subprocess, time
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30
HZ = os.sysconf("SC_CLK_TCK")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def quiet(*command, **options):
    return run(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
HAS_CAPABILITY = 12


def install(binary, folder):
    """The program alone in a folder, and with assetfs-passthrough and its capability in another; why not, otherwise."""
    made = []
    for name in ("plain", "helped"):
        home = folder / f"bin-{name}"
        home.mkdir()
        made.append(home / binary.name)
        try:
            os.link(binary, made[-1])
        except OSError:
            shutil.copy(binary, made[-1])
    plain, helped = made
    helper = binary.with_name("assetfs-passthrough")
    if not helper.exists():
        return plain, None, f"{helper} is missing: cargo build --release --package assetfs-passthrough"
    if os.geteuid() != 0:
        if has_capability(helper):
            return plain, binary, None
        return plain, None, f"{helper} has no capability, and only root can give it"
    shutil.copy(helper, helped.parent)
    if not shutil.which("setcap"):
        return plain, None, "setcap is missing: apt install libcap2-bin"
    quiet("setcap", "cap_sys_admin=ep", helped.with_name(helper.name))
    if not has_capability(helped.with_name(helper.name), NOBODY):
        return plain, None, f"file capabilities have no effect in {folder}"
    return plain, helped, None


def has_capability(helper, as_user=()):
    return subprocess.run([*as_user, helper, "--check"], cwd="/").returncode == HAS_CAPABILITY


def drop_caches():
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"gave up waiting for {what}")
        time.sleep(0.02)


def stop(pid):
    """Ends a process of ours and waits until it is gone."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    for _ in range(250):
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            if not Path(f"/proc/{pid}").exists():
                return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)


def ended(pid):
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not Path(f"/proc/{pid}").exists()


class Children:
    """Runs a command and ends whatever it started: what daemons leave behind becomes a child of this process."""

    SUBREAPER = 36

    def __init__(self):
        ctypes.CDLL(None, use_errno=True).prctl(self.SUBREAPER, 1, 0, 0, 0)

    def run(self, command, log, env, cwd, seconds):
        """The exit code; None if the time was over."""
        with open(log, "wb") as out:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       env=env, cwd=cwd, start_new_session=True)
        end, ended = time.monotonic() + seconds, {}
        try:
            while process.pid not in ended and time.monotonic() < end:
                ended |= self.reap()
                time.sleep(0.1)
        finally:
            if process.pid not in ended:
                # It unmounts and ends what it has started.
                os.kill(process.pid, signal.SIGTERM)
                self.wait(lambda: process.pid in ended or ended.update(self.reap()), 60)
            process.returncode = ended.get(process.pid, -signal.SIGKILL)
            self.end()
        return process.returncode if time.monotonic() < end else None

    def reap(self):
        ended = {}
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                ended[found[0]] = os.waitstatus_to_exitcode(found[1])
        except ChildProcessError:
            pass
        return ended

    def wait(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.05)

    def end(self):
        """Ends all processes below this one, first in a friendly way."""
        for number, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
            for pid in self.below():
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    pass
            self.wait(lambda: self.reap() and False or not self.below(), seconds)

    def below(self):
        children = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, rest = stat.read_text().split(" (", 1)
                state, parent = rest.rsplit(") ", 1)[1].split()[:2]
            except (OSError, ValueError):
                continue
            if state != "Z":
                children.setdefault(int(parent), []).append(int(pid))
        found, waiting = [], [os.getpid()]
        while waiting:
            more = children.get(waiting.pop(), [])
            found += more
            waiting += more
        return found
