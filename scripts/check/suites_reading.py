"""The suites in a finished model, which is read-only: reading must give the right bytes, and writing must be refused and change nothing."""
import shutil
from pathlib import Path

import suites_tools as tools
from suites_drive import Ran
from suites_writing import FSX, LIMIT, PJDFSTEST, ltp_folder, stressors

FIO = {
    "sequential, nothing cached": "--rw=read --bs=64k",
    "sequential, cached": "--rw=read --bs=64k",
    "mmap": "--rw=read --bs=64k --ioengine=mmap",
    "libaio": "--rw=read --bs=64k --ioengine=libaio --iodepth=16",
    "direct": "--rw=read --bs=64k --direct=1",
    "random, 4 readers": "--rw=randread --bs=64k --numjobs=4",
}


def fio(place, user, options):
    tools.program("fio")
    for test, words in FIO.items():
        command = ["fio", "--name=read", f"--filename={place.path}/data.bin", "--size=24m", "--readonly", "--verify=crc32c", "--verify_fatal=1",
                   *words.split()]
        ran = Ran(command, user, place.log(f"fio-{test.replace(' ', '-')}"), LIMIT["fio"])
        yield test, "passed" if ran.code == 0 else "failed", ran.last()


BLOCK_MODE = "blockmode = true\n[weights]\ntruncate = 0\n[opsize]\nalign = 512\n"


def ltp(place, user, options):
    program = shutil.copy(ltp_folder() / "testcases/kernel/fs/read_all/read_all", place.logs / "read_all")
    ran = Ran([program, "-d", place.path, "-r", 3], user, place.log("ltp-read_all"), LIMIT["ltp"], more={"TMPDIR": str(place.logs)})
    yield "read_all", {0: "passed", 32: "skipped"}.get(ran.code, "failed"), ran.last()


def refused(test, ran):
    """A program that writes must fail, in time, with the error of a read-only place."""
    words = ("Read-only file system", "Operation not permitted", "Permission denied", "EROFS")
    if ran.code is None or ran.code == 0 or not any(word in ran.text for word in words):
        return test, "failed", f"exit code {ran.code}: {ran.last()}"
    return test, "passed", ""


# What each call of suites_calls.py must return in a finished model; EROFS where nothing is said.
RETURNS = {
    "ok": ["open for writing, close", "write the same bytes", "O_TRUNC, write the same bytes", "chmod", "chown to the same", "utimensat",
           "chmod of the model", "utimensat of the model", "fsync", "unlink", "what was removed is back", "unlink a file of the service",
           "what was removed of the service is back"],
    "EPERM": ["symlink", "link", "mkfifo", "rename a file", "rename a file over another", "rename a file out of it", "rename without replacing",
              "rename the model", "move the model into a draft", "rename a file of the service", "rename a folder of the service"],
    "ENOTEMPTY": ["rmdir of the model", "rmdir of a folder of the service"],
    "ENOTSUP": ["setxattr", "setxattr of the model", "fallocate, a hole"],
    "ENODATA": ["removexattr"],
    "EINVAL": ["exchange"],
}
NUMBER_OF_CALLS = 49


def calls(place, user, options):
    """What pjdfstest would try if it could make its files there: each call that changes something, once."""
    program = shutil.copy(Path(__file__).with_name("suites_calls.py"), place.logs)
    draft = place.path.with_name("calls")
    Ran(["mkdir", draft], user, place.log("mkdir"), 20)
    before = state(place, user)
    ran = Ran(["python3", program, place.path, draft], user, place.log("calls"), LIMIT["calls"])
    expected = {name: error for error, names in RETURNS.items() for name in names}
    returned = dict(line.split(": ", 1) for line in ran.text.splitlines() if ": " in line)
    for name, error in returned.items():
        right = expected.get(name, "EROFS")
        yield name, "passed" if error == right else "failed", f"{error}, not {right}"
    if ran.code != 0 or len(returned) != NUMBER_OF_CALLS:
        yield "came to its end", "failed", ran.last()
    yield unchanged(place, user, before)


def state(place, user):
    """The names, modes, times and bytes of a model."""
    return Ran(["sh", "-c", "for file in *.*; do stat -c '%n %f %.9Y %s' $file && sha256sum $file; done"], user, place.log("state"), 120, folder=place.path).text


def unchanged(place, user, before):
    after = state(place, user)
    return "the model is unchanged", "passed" if before == after else "failed", f"{before!r} became {after!r}"


def pjdfstest(place, user, options):
    program = shutil.copy(tools.crate("pjdfstest"), place.logs / "pjdfstest")
    config = place.logs / "pjdfstest.toml"
    config.write_text(PJDFSTEST)
    before = state(place, user)
    ran = Ran([program, "-c", config, "-p", place.path], user, place.log("pjdfstest"), LIMIT["pjdfstest"])
    yield refused("is refused", ran)
    yield unchanged(place, user, before)


def fsx(place, user, options):
    program = shutil.copy(tools.crate("fsx"), place.logs / "fsx")
    before = state(place, user)
    # An open that truncates is accepted, because the same bytes may be copied in again; in block mode fsx does not truncate.
    files = [("a new file is refused", "new", FSX["plain"]), ("a file of the model is refused", "data.bin", BLOCK_MODE),
             ("a file of the service is refused", "analysis/metrics.json", BLOCK_MODE)]
    for test, file, config in files:
        settings = place.logs / f"fsx-{Path(file).name}.toml"
        settings.write_text(config)
        command = [program, "-f", settings, "-S", 1, "-N", 100, "-P", place.logs, place.path / file]
        ran = Ran(command, user, place.log(f"fsx-{Path(file).name}"), LIMIT["fsx"])
        yield refused(test, ran)
    yield unchanged(place, user, before)


def stress_ng(place, user, options):
    """A stressor without a file to write ends at once. What counts is that it ends, and that the model stays as it is."""
    tools.program("stress-ng")
    before = state(place, user)
    for name in stressors():
        ran = Ran(["stress-ng", f"--{name}", 1, "--timeout", "1s", "--temp-path", place.path], user, place.log(f"stress-ng-{name}"), LIMIT["stress-ng"])
        yield name, "failed" if ran.code is None else "passed", ran.last()
    yield unchanged(place, user, before)


READING = {"fio": fio, "ltp": ltp, "pjdfstest": pjdfstest, "fsx": fsx, "calls": calls, "stress-ng": stress_ng}
