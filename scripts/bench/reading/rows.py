"""The rows of the table: what is done with each drive, and what is noted."""
import http.client, json, os, random, subprocess, threading, time

from figures import ROOT_USER

from .process import GIB, MIB, drop_caches, quiet, run
from .stage import PORTS, authority, origin


def sequential(path, as_user=(), block="1M"):
    start = time.perf_counter()
    quiet(*as_user, "dd", f"if={path}", "of=/dev/null", f"bs={block}")
    return time.perf_counter() - start


def metered(bench, mount, row, path, block="1M"):
    cpu = mount.cpu()
    seconds = sequential(path, mount.as_user, block)
    bench.note(row, mount.label, bench.size / MIB / seconds, "MiB/s")
    bench.note(row, mount.label, (mount.cpu() - cpu) / (bench.size / GIB), "daemon CPU s/GiB")


def curl(bench, form):
    start = time.perf_counter()
    quiet("curl", "-sf", "--cacert", authority(bench.base), "-o", "/dev/null", f"{origin(form)}/show/big/model.bin")
    return time.perf_counter() - start


def fio(path, *arguments, as_user=()):
    told = run(*as_user, "fio", "--name=read", f"--filename={path}", "--readonly", "--ioengine=psync",
               "--direct=0", "--invalidate=1", "--fadvise_hint=0", "--thread", "--group_reporting",
               "--output-format=json", *arguments, stdout=subprocess.PIPE, text=True, cwd="/tmp").stdout
    return json.loads(told[told.index("{"):])["jobs"][0]["read"]


def random_reads(path, jobs, seconds, as_user=()):
    return fio(path, "--rw=randread", "--bs=4k", f"--numjobs={jobs}", "--time_based",
               f"--runtime={seconds}", f"--randseed={random.randrange(1 << 30)}", as_user=as_user)["iops"]


def known(mount, path):
    """The file's size is known and its connection warm, as after any look at the drive."""
    run(*mount.as_user, "stat", path, stdout=subprocess.DEVNULL)


def seq_fast(bench):
    bench.service.start("fast")
    drives = [*bench.drives(), *bench.others(files=True)]
    local = bench.data.local / "big/model.bin"

    def step(_):
        bench.note("1 GiB cold, fast", "curl", bench.size / MIB / curl(bench, "fast"), "MiB/s")
        # As new on the disk as the cached file: a host keeps in memory what was read from a virtual disk before.
        quiet("cp", local, f"{local}.new")
        os.replace(f"{local}.new", local)
        time.sleep(1)
        drop_caches()
        bench.note("read again after drop_caches", "local disk", bench.size / MIB / sequential(local), "MiB/s")
        warm = bench.size / MIB / sequential(local)
        for row in ("read again, the first time", "read again, page cache kept"):
            bench.note(row, "local disk", warm, "MiB/s")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("fast")
            drop_caches()
            known(mount, path)
            metered(bench, mount, "1 GiB cold, fast", path)
            bench.note("1 GiB cold, fast", mount.label, mount.peak_mib(), "peak MiB")
            metered(bench, mount, "read again, the first time", path)
            metered(bench, mount, "read again, page cache kept", path)
            time.sleep(1)
            drop_caches()
            metered(bench, mount, "read again after drop_caches", path)
            mount.unmount()

    bench.repeat(step)


def cold(row, form, block="1M"):
    """A row of one cold reading of the whole file."""

    def measure(bench):
        bench.service.start(form)
        drives = [*bench.drives(), *bench.others(files=form == "fast")]

        def step(_):
            if form != "fast":
                bench.note(row, "curl", bench.size / MIB / curl(bench, form), "MiB/s")
            for mount in drives:
                path = mount.path("big/model.bin")
                mount.reset(form)
                drop_caches()
                known(mount, path)
                metered(bench, mount, row, path, block)
                mount.unmount()

        bench.repeat(step)

    return measure


def par_fast(bench):
    bench.service.start("fast")
    drives = [*bench.drives(), *bench.others(files=True)]
    row = "1 GiB cold, fast, 4 readers"

    def step(_):
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("fast")
            drop_caches()
            known(mount, path)
            quarter = bench.size // 4
            cpu = mount.cpu()
            told = fio(path, "--rw=read", "--bs=1M", "--numjobs=4",
                       f"--offset_increment={quarter}", f"--size={quarter}",
                       as_user=mount.as_user)
            bench.note(row, mount.label, told["bw_bytes"] / MIB, "MiB/s")
            bench.note(row, mount.label, (mount.cpu() - cpu) / (bench.size / GIB), "daemon CPU s/GiB")
            bench.note(row, mount.label, mount.peak_mib(), "peak MiB")
            mount.unmount()

    bench.repeat(step)


def cap(bench):
    bench.service.start("cap")
    drives = [bench.assetfs(), *bench.others(streams=True)]

    def step(_):
        bench.note("1 GiB cold on cap", "curl", bench.size / MIB / curl(bench, "cap"), "MiB/s")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("cap")
            drop_caches()
            known(mount, path)
            metered(bench, mount, "1 GiB cold on cap", path)
            mount.unmount()

    # A connection takes 13 seconds.
    bench.repeat(step, most=2)


def keep_alive(form, path, offset, connection=None):
    connection = connection or http.client.HTTPConnection("127.0.0.1", PORTS[form])
    connection.request("GET", path, headers={"Range": f"bytes={offset}-{offset + 4095}"})
    connection.getresponse().read()
    return connection


def first_byte(bench):
    bench.service.start("lat")
    drives = [bench.assetfs(), *bench.others()]

    def time_read(path, offset):
        drop_caches()
        start = time.perf_counter()
        file = os.open(path, os.O_RDONLY)
        os.pread(file, 4096, offset)
        elapsed = time.perf_counter() - start
        os.close(file)
        return elapsed * 1000

    def step(_):
        connection = keep_alive("lat", "/show/big/model.bin", 0)
        for name, offset in (("first byte on lat", 0), ("mid-file on lat", bench.size // 2)):
            start = time.perf_counter()
            keep_alive("lat", "/show/big/model.bin", offset, connection)
            bench.note(name, "keep-alive request", (time.perf_counter() - start) * 1000, "ms")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("lat")
            known(mount, path)
            # Opens the connection, as the first look at any file does.
            time_read(mount.path("big/big.gltf"), 0)
            bench.note("first byte on lat", mount.label, time_read(path, 0), "ms")
            bench.note("mid-file on lat", mount.label, time_read(path, bench.size // 2), "ms")
            mount.unmount()

    bench.repeat(step)


def many(jobs):
    return "1 job" if jobs == 1 else f"{jobs} jobs"


def rand_warm(bench):
    bench.service.start("fast")
    drives = [*bench.drives(), *[other for other in bench.others() if "off" not in other.label]]
    local = bench.data.local / "big/model.bin"

    def step(_):
        for jobs in (1, 16):
            drop_caches()
            bench.note(f"random 4 KiB warm, {many(jobs)}", "local disk",
                       random_reads(local, jobs, bench.seconds(3)), "IOPS")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("fast")
            sequential(path, mount.as_user)
            time.sleep(1)
            for jobs in (1, 16):
                drop_caches()
                bench.note(f"random 4 KiB warm, {many(jobs)}", mount.label,
                           random_reads(path, jobs, bench.seconds(3), mount.as_user), "IOPS")
            mount.unmount()

    bench.repeat(step)


def raw_random(jobs, seconds, size):
    counts = [0] * jobs

    def worker(number):
        chance, connection = random.Random(), keep_alive("lat", "/show/big/model.bin", 0)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            keep_alive("lat", "/show/big/model.bin", chance.randrange(size // 4096) * 4096,
                       connection)
            counts[number] += 1

    workers = [threading.Thread(target=worker, args=(number,)) for number in range(jobs)]
    [thread.start() for thread in workers]
    [thread.join() for thread in workers]
    return sum(counts) / seconds


def rand_cold(bench):
    bench.service.start("lat")
    drives = [bench.assetfs(), *bench.others()]

    def step(_):
        for jobs in (1, 16):
            row = f"random 4 KiB cold on lat, {many(jobs)}"
            bench.note(row, "keep-alive requests", raw_random(jobs, bench.seconds(4), bench.size), "IOPS")
            for mount in drives:
                path = mount.path("big/model.bin")
                mount.reset("lat")
                drop_caches()
                known(mount, path)
                bench.note(row, mount.label, random_reads(path, jobs, bench.seconds(4)), "IOPS")
                bench.note(row, mount.label, mount.peak_mib(), "peak MiB")
                mount.unmount()

    # A third round would be another half minute.
    bench.repeat(step, most=2)


def read_all(top, names):
    """Files a second, one by one, as a program that copies them."""
    start, files = time.perf_counter(), 0
    for name in names:
        for entry in sorted(os.scandir(os.path.join(top, name)), key=lambda e: e.name):
            if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                with open(entry.path, "rb", buffering=0) as file:
                    os.fstat(file.fileno())
                    while file.read(1 << 17):
                        pass
                files += 1
    assert files == 10 * len(names), files
    return files / (time.perf_counter() - start)


def tree(bench):
    bench.service.start("lat")
    drives = [bench.assetfs(), *bench.others()]
    names = [folder.name for folder in bench.data.models[1:]]

    def step(_):
        for mount in drives:
            mount.reset("lat")
            if mount.label == ROOT_USER:
                # The service allows 1,200 requests a minute: those of the uploads and of the last round are no longer counted.
                time.sleep(60)
            drop_caches()
            top = mount.path("")
            # The folders are known by name, as after a look at the drive; nothing in them is.
            os.listdir(top)
            # Others read the first twenty models: they need the same time for each, half a minute for these.
            few = names if mount.label == ROOT_USER else names[:20]
            bench.note("20 KiB files one by one, lat, cold", mount.label, read_all(top, few), "files/s")
            mount.unmount()

    bench.repeat(step)


def small_warm(bench):
    bench.service.start("fast")
    drives = [bench.assetfs(), *bench.others(files=True)]
    names = [folder.name for folder in bench.data.models[1:]]

    def step(_):
        drop_caches()
        row = "20 KiB files one by one, warm"
        bench.note(row, "local disk", read_all(bench.data.local, names), "files/s")
        for mount in drives:
            mount.reset("fast")
            top = mount.path("")
            read_all(top, names)
            # What the drive fetches is in its cache now.
            time.sleep(1)
            drop_caches()
            bench.note(row, mount.label, read_all(top, names), "files/s")
            mount.unmount()

    bench.repeat(step)


def memory(bench):
    bench.service.start("fast")
    drive = bench.assetfs()

    def step(_):
        path = drive.path("big/model.bin")
        drive.reset("fast", "--cache-size", "200M")
        rounds = 2 if bench.options.quick else 10
        for number in range(rounds):
            drop_caches()
            sequential(path)
            if number in (0, rounds - 1):
                bench.note(f"memory, {number + 1} GiB read", drive.label, drive.peak_mib(), "peak MiB")
        drive.reset("fast")
        random_reads(path, 16, bench.seconds(8))
        bench.note("memory, 16 random readers", drive.label, drive.peak_mib(), "peak MiB")
        drive.unmount()

    # Each has ten readings.
    bench.repeat(step, most=1)


ROWS = {"seq-fast": seq_fast, "seq-4k": cold("1 GiB cold, 4 KiB reads", "fast", "4k"), "par4-fast": par_fast,
        "seq-tls": cold("1 GiB cold, TLS", "tls"), "cap": cap, "first-byte": first_byte, "rand-warm": rand_warm,
        "rand-cold": rand_cold, "tree-lat": tree, "small-warm": small_warm, "memory": memory}
