"""Processes and machine: running, waiting, ending, and the kernel's caches."""
import os, signal, subprocess, time
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30
HZ = os.sysconf("SC_CLK_TCK")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def quiet(*command, **options):
    return run(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


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
