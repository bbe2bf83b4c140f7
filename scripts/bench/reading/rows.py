"""The rows of the table: what is done with each drive, and what is noted."""
import http.client, json, os, random, subprocess, threading, time

from .process import GIB, MIB, drop_caches, quiet, run
from .stage import PORTS


def sequential(path, as_user=()):
    start = time.perf_counter()
    quiet(*as_user, "dd", f"if={path}", "of=/dev/null", "bs=1M")
    return time.perf_counter() - start


def metered(bench, mount, row, path):
    cpu = mount.cpu()
    seconds = sequential(path, mount.as_user)
    bench.note(row, mount.label, bench.size / MIB / seconds, "MiB/s")
    bench.note(row, mount.label, (mount.cpu() - cpu) / (bench.size / GIB), "daemon CPU s/GiB")


def curl(form):
    start = time.perf_counter()
    quiet("curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{PORTS[form]}/show/big/model.bin")
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
    drives = [bench.assetfs(), bench.assetfs(privileged=False), *bench.others()]
    local = bench.data.local / "big/model.bin"

    def step(_):
        bench.note("1 GiB cold", "curl", bench.size / MIB / curl("fast"), "MiB/s")
        # As new on the disk as the cached file: a host keeps in memory what was read from a virtual disk before.
        quiet("cp", local, f"{local}.new")
        os.replace(f"{local}.new", local)
        time.sleep(1)
        drop_caches()
        bench.note("after drop_caches", "local disk", bench.size / MIB / sequential(local), "MiB/s")
        bench.note("again, page cache", "local disk", bench.size / MIB / sequential(local), "MiB/s")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("fast")
            drop_caches()
            known(mount, path)
            metered(bench, mount, "1 GiB cold", path)
            bench.note("1 GiB cold", mount.label, mount.peak_mib(), "peak MiB")
            metered(bench, mount, "again, the first time", path)
            metered(bench, mount, "again, page cache", path)
            time.sleep(1)
            drop_caches()
            metered(bench, mount, "after drop_caches", path)
            mount.unmount()

    bench.repeat(step)


def par_fast(bench):
    bench.service.start("fast")
    drives = [bench.assetfs(), bench.assetfs(privileged=False), *bench.others()]

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
            bench.note("4 readers cold", mount.label, told["bw_bytes"] / MIB, "MiB/s")
            bench.note("4 readers cold", mount.label,
                       (mount.cpu() - cpu) / (bench.size / GIB), "daemon CPU s/GiB")
            bench.note("4 readers cold", mount.label, mount.peak_mib(), "peak MiB")
            mount.unmount()

    bench.repeat(step)


def cap(bench):
    bench.service.start("cap")
    drives = [bench.assetfs(), *bench.others(tuned=True)]

    def step(_):
        bench.note("1 GiB cold on cap", "curl", bench.size / MIB / curl("cap"), "MiB/s")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("cap")
            drop_caches()
            known(mount, path)
            metered(bench, mount, "1 GiB cold on cap", path)
            mount.unmount()

    bench.repeat(step)


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
        for name, offset in (("first byte, lat", 0), ("mid-file, lat", bench.size // 2)):
            start = time.perf_counter()
            keep_alive("lat", "/show/big/model.bin", offset, connection)
            bench.note(name, "keep-alive request", (time.perf_counter() - start) * 1000, "ms")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("lat")
            known(mount, path)
            # Opens the connection, as the first look at any file does.
            time_read(mount.path("big/big.gltf"), 0)
            bench.note("first byte, lat", mount.label, time_read(path, 0), "ms")
            bench.note("mid-file, lat", mount.label, time_read(path, bench.size // 2), "ms")
            mount.unmount()

    bench.repeat(step)


def rand_warm(bench):
    bench.service.start("fast")
    drives = [bench.assetfs(), bench.assetfs(privileged=False), *bench.others()[-1:]]
    local = bench.data.local / "big/model.bin"

    def step(_):
        for jobs in (1, 16):
            drop_caches()
            bench.note(f"random 4 KiB warm, {jobs} jobs", "local disk",
                       random_reads(local, jobs, 3), "IOPS")
        for mount in drives:
            path = mount.path("big/model.bin")
            mount.reset("fast")
            sequential(path, mount.as_user)
            time.sleep(1)
            for jobs in (1, 16):
                drop_caches()
                bench.note(f"random 4 KiB warm, {jobs} jobs", mount.label,
                           random_reads(path, jobs, 3, mount.as_user), "IOPS")
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
            row = f"random 4 KiB cold on lat, {jobs} jobs"
            bench.note(row, "keep-alive requests", raw_random(jobs, 4, bench.size), "IOPS")
            for mount in drives:
                path = mount.path("big/model.bin")
                mount.reset("lat")
                drop_caches()
                known(mount, path)
                bench.note(row, mount.label, random_reads(path, jobs, 4), "IOPS")
                bench.note(row, mount.label, mount.peak_mib(), "peak MiB")
                mount.unmount()

    bench.repeat(step)


def tree(bench):
    bench.service.start("lat")
    drives = [bench.assetfs(), *bench.others()]
    names = [folder.name for folder in bench.data.models[1:]]

    def step(_):
        for mount in drives:
            mount.reset("lat")
            drop_caches()
            top = mount.path("")
            # The folders are known by name, as after a look at the drive; nothing in them is.
            os.listdir(top)
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
            bench.note("20 KiB files one by one, lat", mount.label,
                       files / (time.perf_counter() - start), "files/s")
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
                bench.note(f"after {number + 1} GiB read", drive.label, drive.peak_mib(), "peak MiB")
        drive.reset("fast")
        random_reads(path, 16, 8)
        bench.note("16 random readers", drive.label, drive.peak_mib(), "peak MiB")
        drive.unmount()

    bench.repeat(step)


ROWS = {"seq-fast": seq_fast, "par4-fast": par_fast, "cap": cap, "first-byte": first_byte,
        "rand-warm": rand_warm, "rand-cold": rand_cold, "tree-lat": tree, "memory": memory}
