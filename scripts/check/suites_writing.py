"""The suites in a folder that may be written. Each is a function that yields (test, outcome, detail); outcomes are passed, failed and
skipped."""
import re
import shutil
import subprocess

import suites_tools as tools
from suites_drive import ASSETFS, ROOT, Ran

# Seconds until a suite is ended.
LIMIT = {"pjdfstest": 900, "fsx": 300, "fio": 120, "stress-ng": 60, "ltp": 300, "smbtorture": 3600, "calls": 120}

PJDFSTEST = """[features]
posix_fallocate = {}
utime_now = {}
utimensat = {}
rename_ctime = {}
[settings]
naptime = 0.02
[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"""


def pjdfstest(place, user, options):
    program = shutil.copy(tools.crate("pjdfstest"), place.logs / "pjdfstest")
    config = place.logs / "pjdfstest.toml"
    config.write_text(PJDFSTEST)
    ran = Ran([program, "-c", config, "-p", place.new_folder("p", user), "-s", place.logs], user, place.log("pjdfstest"), LIMIT["pjdfstest"])
    text = re.sub(r"\x1b\[[0-9;]*m", "", ran.text)
    words = {"ok": "passed", "FAILED": "failed", "skipped": "skipped"}
    found = re.findall(r"^(\S+::\S+)\s+(ok|FAILED|skipped)\n(?:\t(.*))?", text, re.M)
    for test, word, detail in found:
        # The address of a socket has 108 bytes at most, so the drive was never asked.
        is_too_long = "socket" in test and "ENAMETOOLONG" in detail
        yield test, "skipped" if is_too_long else words[word], detail
    if "Summary" not in text or not found:
        yield "came to its end", "failed", ran.last()


# The weights of the operations; those that are not named have those of the program.
FSX = {
    "plain": "",
    "without-mmap": "[weights]\nmapread = 0\nmapwrite = 0\ninvalidate = 0\n",
    "close-and-open": "[weights]\nclose_open = 1\ninvalidate = 1\nfsync = 0.2\nfdatasync = 0.2\n",
    "holes": "[weights]\npunch_hole = 1\nposix_fallocate = 1\nposix_fadvise = 1\n",
    "copies": "[weights]\ncopy_file_range = 1\nsendfile = 1\n",
    "large": "flen = 67108864\n[opsize]\nmax = 1048576\n[weights]\nclose_open = 0.1\n",
    "aligned": "[opsize]\nalign = 4096\n[weights]\npunch_hole = 1\ntruncate = 1\n",
}


def fsx(place, user, options):
    program = shutil.copy(tools.crate("fsx"), place.logs / "fsx")
    folder = place.new_folder("fsx", user)
    for seed in range(1, 11 if options.long else 3):
        for kind, config in FSX.items():
            test = f"{kind}, seed {seed}"
            settings = place.logs / f"fsx-{kind}.toml"
            settings.write_text(config)
            operations = 500 if kind == "large" else 3000
            command = [program, "-f", settings, "-S", seed, "-N", operations, "-P", place.logs, folder / f"{kind}-{seed}"]
            ran = Ran(command, user, place.log(f"fsx-{kind}-{seed}"), LIMIT["fsx"])
            yield test, "passed" if ran.code == 0 else "failed", ran.last()


FIO = {
    "sequential": "--rw=write --bs=128k",
    "small blocks": "--rw=randwrite --bs=4k",
    "odd blocks": "--rw=randwrite --bsrange=512-64k --bs_unaligned",
    "mixed": "--rw=randrw --bs=16k",
    "backwards": "--rw=write:-8k --bs=8k",
    "with fsync": "--rw=randwrite --bs=8k --fsync=16",
    "with holes": "--rw=randwrite --bs=4k --io_size=4m",
    "fallocate": "--rw=randwrite --bs=16k --fallocate=posix",
    "mmap": "--rw=randwrite --bs=4k --ioengine=mmap",
    "pvsync2": "--rw=randwrite --bs=16k --ioengine=pvsync2",
    "libaio": "--rw=randwrite --bs=16k --ioengine=libaio --iodepth=16",
    "io_uring": "--rw=randwrite --bs=16k --ioengine=io_uring --iodepth=16",
    "direct": "--rw=randwrite --bs=4k --direct=1",
    "several files": "--rw=randwrite --bs=8k --nrfiles=16",
    "several writers": "--rw=randwrite --bs=16k --numjobs=4 --size=4m",
    "sync": "--rw=write --bs=64k --sync=1",
}


def fio(place, user, options):
    tools.program("fio")
    folder = place.new_folder("fio", user)
    for test, words in FIO.items():
        folder_of_test = folder / test.replace(" ", "-")
        Ran(["mkdir", folder_of_test], user, place.log("mkdir"), 20)
        command = ["fio", "--name=verify", f"--directory={folder_of_test}", "--size=16m", "--verify=crc32c", "--do_verify=1",
                   "--verify_fatal=1", *words.split()]
        ran = Ran(command, user, place.log(f"fio-{test.replace(' ', '-')}"), LIMIT["fio"])
        # A machine may forbid io_uring.
        has_none = ran.code != 0 and "Operation not permitted" in ran.text and "io_uring" in words
        yield test, "skipped" if has_none else "passed" if ran.code == 0 else "failed", ran.last()
        Ran(["rm", "-r", folder_of_test], user, place.log("rm"), 60)


# Stressors of the class that do not use the folder that is tested.
ELSEWHERE = {"bind-mount", "binderfs", "eventfd", "procfs", "fanotify"}
OUTCOMES = {0: "passed", 3: "skipped", 4: "skipped"}


def stressors():
    said = subprocess.run([tools.program("stress-ng"), "--class", "filesystem?"], capture_output=True, text=True)
    return [name for name in (said.stdout + said.stderr).split("stressors:")[1].split() if name not in ELSEWHERE]


def is_wanted(name, options):
    return not options.tests or re.search(options.tests, name)


def stress_ng(place, user, options):
    tools.program("stress-ng")
    folder = place.new_folder("stress-ng", user)
    for name in filter(lambda name: is_wanted(name, options), stressors()):
        command = ["stress-ng", f"--{name}", 2, "--timeout", "20s" if options.long else "3s", "--verify", "--temp-path", folder]
        ran = Ran(command, user, place.log(f"stress-ng-{name}"), LIMIT["stress-ng"])
        why = re.findall(r"^stress-ng: (?:fail|error|warn): +\[\d+\] (.*)", ran.text, re.M)
        detail = why[0] if why and ran.code is not None else ran.last()
        yield name, OUTCOMES.get(ran.code, "failed"), detail


# Tests of runtest/fs that do not use the folder that is tested, or need a disk of their own.
NOT_THE_FOLDER = re.compile(r"proc01|read_all|quota|isofs|fs_fill|binfmt|squashfs|linker")
BUILD_LTP = "make autotools && ./configure && make -C include && make -C libs && make -C lib && make -C testcases/lib && make -C testcases/kernel/fs"


def ltp_folder():
    return tools.source("ltp", BUILD_LTP)


def ltp(place, user, options):
    root = ltp_folder()
    folder = place.new_folder("ltp", user)
    # Copies, because the ordinary user may not be able to read the folder of this project.
    programs = place.logs / "ltp"
    programs.mkdir(exist_ok=True)
    for file in [*root.glob("testcases/kernel/fs/**/*"), *root.glob("testcases/lib/*")]:
        if file.is_file() and file.stat().st_mode & 0o100:
            shutil.copy(file, programs)
    more = {"TMPDIR": str(folder), "LTPROOT": str(programs), "PATH": f"{programs}:/usr/bin:/bin:/usr/sbin:/sbin"}
    lines = [line for list in ("fs", "fs_perms_simple") for line in (root / "runtest" / list).read_text().splitlines()]
    for line in [*lines, "fsstress fsstress -d $TMPDIR -n 300 -p 3 -r -S"]:
        name, command = (line.split(None, 1) + ["", ""])[:2]
        if not command or line.startswith("#") or NOT_THE_FOLDER.match(name) or not is_wanted(name, options):
            continue
        if not options.long:
            # growfiles goes on for this time.
            command = re.sub(r" -L \d+", " -L 10", command)
        ran = Ran(["sh", "-c", command], user, place.log(f"ltp-{name}"), LIMIT["ltp"], folder=folder, more=more)
        # 32: it cannot run here; 127: its program is none of the fs folder's.
        yield name, {0: "passed", 32: "skipped", 127: "skipped"}.get(ran.code, "failed"), ran.last()


def smbtorture(place, user, options):
    """Not in the folder of this run: the script makes a drive and a Samba of its own."""
    if user.name != "root":
        return
    for name in ("smbd", "smbtorture"):
        tools.program(name, "samba samba-vfs-modules samba-testsuite smbclient")
    ran = Ran([ROOT / "scripts/check/smb", "torture"], user, place.log("smbtorture"), LIMIT["smbtorture"], more={"ASSETFS": ASSETFS})
    rows = re.findall(r"^(\S+) +(disk .*)\n((?:    .*\n)*)", ran.text, re.M)
    for test, figures, worse in rows:
        yield test, "failed" if "WRONG" in worse else "passed", " ".join(worse.split())
    if ran.code is None or not rows:
        yield "came to its end", "failed", ran.last()


WRITING = {"pjdfstest": pjdfstest, "fsx": fsx, "fio": fio, "stress-ng": stress_ng, "ltp": ltp, "smbtorture": smbtorture}
