#!/usr/bin/env python3
"""Every call that changes something, once, in a finished model: prints `CALL ERROR` for each, `ok` if it succeeded.

    suites_calls.py MODEL DRAFT

MODEL has the files chair.gltf, Chair.bin, data.bin and the folder analysis/ of the service. DRAFT is an empty folder of the same drive. A
program of its own, because only the user who mounted a drive can enter it.
"""
import ctypes
import errno
import os
import stat
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, EXCHANGE, NO_REPLACE, PUNCH_HOLE = -100, 2, 1, 3
# A file that is removed inside a model comes back after 10 s.
COMES_BACK = 15


def renameat2(old, new, flags):
    if LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def fallocate(fd, mode, offset, length):
    if LIBC.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def written(path, data, flags=0, at=0):
    """Opens a file, writes, and closes it. What any of these calls returns counts."""
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        os.pwrite(fd, data, at)
    except OSError:
        try:
            os.close(fd)
        except OSError:
            pass
        raise
    os.close(fd)


def on_handle(path, call, flags=0):
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        call(fd)
    finally:
        os.close(fd)


def is_back(path, mode):
    end = time.monotonic() + COMES_BACK
    while time.monotonic() < end:
        if os.path.exists(path) and stat.S_IFMT(os.stat(path).st_mode) == mode:
            return
        time.sleep(0.2)
    raise OSError(errno.ENOENT, "did not come back")


def calls(model, draft):
    file, made, own = f"{model}/Chair.bin", f"{model}/analysis/metrics.json", f"{draft}/own.txt"
    with open(own, "wb") as new:
        new.write(b"own")
    with open(file, "rb") as old:
        same = old.read()
    other = bytes(255 - byte for byte in same)
    # The calls that copy tools make must succeed and change nothing.
    yield "open for writing, close", lambda: os.close(os.open(file, os.O_WRONLY))
    yield "write the same bytes", lambda: written(file, same)
    yield "O_TRUNC, write the same bytes", lambda: written(file, same, os.O_TRUNC)
    yield "chmod", lambda: os.chmod(file, 0o600)
    yield "chown to the same", lambda: os.chown(file, os.getuid(), os.getgid())
    yield "utimensat", lambda: os.utime(file, (1, 1))
    yield "chmod of the model", lambda: os.chmod(model, 0o700)
    yield "utimensat of the model", lambda: os.utime(model, (1, 1))
    yield "fsync", lambda: on_handle(file, os.fsync)
    # All others must be refused.
    yield "write other bytes", lambda: written(file, other)
    yield "O_TRUNC, write other bytes", lambda: written(file, other, os.O_TRUNC)
    yield "O_TRUNC, write less", lambda: written(file, same[:10], os.O_TRUNC)
    yield "append", lambda: written(file, b"more", os.O_APPEND)
    yield "write behind the end", lambda: written(file, b"more", at=len(same) + 100)
    yield "truncate", lambda: os.truncate(file, 0)
    yield "truncate to more", lambda: os.truncate(file, 1 << 20)
    yield "ftruncate to more", lambda: on_handle(file, lambda fd: os.ftruncate(fd, 1 << 20))
    yield "fallocate to more", lambda: on_handle(file, lambda fd: fallocate(fd, 0, 0, 1 << 20))
    yield "fallocate, a hole", lambda: on_handle(file, lambda fd: fallocate(fd, PUNCH_HOLE, 0, 10))
    yield "create", lambda: os.close(os.open(f"{model}/new.txt", os.O_CREAT | os.O_WRONLY))
    yield "create in a folder of the service", lambda: os.close(os.open(f"{model}/analysis/new.txt", os.O_CREAT | os.O_WRONLY))
    yield "mkdir", lambda: os.mkdir(f"{model}/new")
    yield "mkdir in a folder of the service", lambda: os.mkdir(f"{model}/analysis/new")
    yield "mknod, a file", lambda: os.mknod(f"{model}/new.txt", 0o644 | stat.S_IFREG)
    yield "symlink", lambda: os.symlink("Chair.bin", f"{model}/link")
    yield "link", lambda: os.link(file, f"{model}/link")
    yield "mkfifo", lambda: os.mkfifo(f"{model}/pipe")
    yield "rename a file", lambda: os.rename(file, f"{model}/other.bin")
    yield "rename a file over another", lambda: os.rename(file, f"{model}/data.bin")
    yield "rename a file out of it", lambda: os.rename(file, f"{draft}/Chair.bin")
    yield "rename a file into it", lambda: os.rename(own, f"{model}/own.txt")
    yield "rename a file over one of it", lambda: os.rename(own, file)
    yield "rename without replacing", lambda: renameat2(file, f"{model}/other.bin", NO_REPLACE)
    yield "exchange", lambda: renameat2(file, own, EXCHANGE)
    yield "rename the model", lambda: os.rename(model, f"{model}-renamed")
    yield "move the model into a draft", lambda: os.rename(model, f"{draft}/model")
    yield "rmdir of the model", lambda: os.rmdir(model)
    yield "setxattr", lambda: os.setxattr(file, "user.note", b"x")
    yield "removexattr", lambda: os.removexattr(file, "user.note")
    yield "setxattr of the model", lambda: os.setxattr(model, "user.note", b"x")
    yield "write a file of the service", lambda: written(made, b"x")
    yield "truncate a file of the service", lambda: os.truncate(made, 0)
    yield "rename a file of the service", lambda: os.rename(made, f"{model}/analysis/other.json")
    yield "rename a folder of the service", lambda: os.rename(f"{model}/analysis", f"{model}/other")
    yield "rmdir of a folder of the service", lambda: os.rmdir(f"{model}/analysis")
    # Hidden for a while.
    yield "unlink", lambda: os.unlink(file)
    yield "what was removed is back", lambda: is_back(file, stat.S_IFREG)
    yield "unlink a file of the service", lambda: os.unlink(made)
    yield "what was removed of the service is back", lambda: is_back(made, stat.S_IFREG)


def main():
    for name, call in calls(*sys.argv[1:]):
        try:
            call()
            error = "ok"
        except OSError as why:
            error = errno.errorcode[why.errno]
        print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()
