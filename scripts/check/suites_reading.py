"""The suites in a finished model, which is read-only: reading must give the right bytes, and writing must be refused and change nothing."""
import shutil

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
    settings = place.logs / "fsx-plain.toml"
    settings.write_text(FSX["plain"])
    before = state(place, user)
    for test, file in [("a new file is refused", "new"), ("a file of the model is refused", "data.bin")]:
        ran = Ran([program, "-f", settings, "-S", 1, "-N", 100, "-P", place.logs, place.path / file], user, place.log(f"fsx-{file}"), LIMIT["fsx"])
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


READING = {"fio": fio, "ltp": ltp, "pjdfstest": pjdfstest, "fsx": fsx, "stress-ng": stress_ng}
