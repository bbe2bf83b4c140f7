"""The parts of scripts/bench/all: which script measures what, for which table, and what it needs."""
from dataclasses import dataclass
from typing import Callable

ENGINE_PROGRAMS = ("node", "npm")
READ_PROGRAMS = ("nginx", "fio", "curl", "openssl", "fusermount3")


@dataclass(frozen=True)
class Part:
    name: str
    # The table of the document that it belongs to.
    table: str
    # On two cores that do nothing else, three rounds.
    minutes: float
    command: Callable
    programs: tuple = ()
    needs_root: bool = False
    needs_samples: bool = False
    # Whether it is measured as root and as an ordinary user, one run after the other.
    each_user: bool = False


def read(*rows):
    def command(run):
        only = [word for row in rows for word in ("--only", row)]
        quick = ["--quick"] if run.quick else []
        return ["read", *only, *quick, "--reps", run.rounds, "--binary", run.source, "--rclone", run.rclone]

    return command


def shared_cache(run):
    size = ["--mounts", 2, "--mib", 64] if run.quick else ["--mounts", 4, "--mib", 512]
    return ["shared-cache", *size, "--binary", run.binary]


def write(run):
    return ["write", "--rounds", run.rounds, "--binary", run.binary, "--dir", run.folder, *(["--mib", 64] if run.quick else [])]


def large(count, quick, rounds=None):
    def command(run):
        return ["large", "--counts", quick if run.quick else count, "--rounds", rounds or run.rounds, "--dir", run.folder]

    return command


def walk(run):
    return ["large", "--walk", 20 if run.quick else 300, "--dir", run.folder]


def watch(models, quick, *more):
    def command(run):
        return ["watch", run.binary, "--models", quick if run.quick else models, "--rounds", run.rounds, *more]

    return command


def latency(pictures, *more):
    def command(run):
        return ["latency", run.binary, "--models", 1 if run.quick else 4, "--pictures", pictures, *more]

    return command


def pipeline(models, quick, *more):
    def command(run):
        gltfpack = ["--gltfpack", run.gltfpack] if run.gltfpack else []
        return ["pipeline", run.binary, "--models", quick if run.quick else models, "--rounds", run.rounds, *more, *gltfpack]

    return command


def engine(*more):
    def command(run):
        only = ["--only", "barrel"] if run.quick else []
        return ["engine", run.samples, "--quick", "--shares", "0.1", "--runs", run.rounds, *only, *more]

    return command


def tests(script):
    return lambda run: [script]


def textures(run):
    return ["textures", run.samples / ("03-exploding-barrel.glb" if run.quick else "02-flight-helmet/FlightHelmet.gltf")]


# In this order, so that what was asked for first is there when time runs out.
PARTS = [
    Part("sequential", "reading", 6, read("seq-fast", "seq-4k", "par4-fast", "seq-tls"), READ_PROGRAMS, needs_root=True),
    Part("random", "reading", 3.8, read("rand-warm", "rand-cold"), READ_PROGRAMS, needs_root=True),
    Part("slow-links", "reading", 2.5, read("cap", "first-byte"), READ_PROGRAMS, needs_root=True),
    Part("small-files", "reading", 3, read("tree-lat", "small-warm"), READ_PROGRAMS, needs_root=True),
    Part("memory", "reading", 1, read("memory"), READ_PROGRAMS, needs_root=True),
    Part("write", "copying in", 3, write, ("curl", "fusermount3"), each_user=True),
    Part("large", "large accounts", 1.5, large(10_000, 200), ("fusermount3",)),
    Part("watch", "hot folder", 1.5, watch(300, 10)),
    Part("watch-pictures", "hot folder", 1, watch(4, 1, "--pictures", "--no-loop")),
    Part("latency", "small model", 0.3, latency("later"), ("fusermount3",)),
    Part("latency-busy", "small model", 0.3, latency("later", "--busy"), ("fusermount3",)),
    Part("latency-none", "small model", 0.2, latency("none"), ("fusermount3",)),
    Part("latency-pictures", "small model", 0.5, latency("now"), ("fusermount3",)),
    Part("engine", "engine beside others", 2.2, engine(), ENGINE_PROGRAMS, needs_samples=True),
    Part("packed", "engine beside others", 0.7, engine("--packed"), ENGINE_PROGRAMS, needs_samples=True),
    Part("pipeline", "pipeline", 1.5, pipeline(100, 4, "--only", "machine")),
    Part("pipeline-drive", "pipeline", 1.5, pipeline(20, 2, "--only", "drive", "--no-sync"), ("fusermount3",)),
    Part("shared-cache", "several mounts", 1.2, shared_cache, ("ip", "nsenter"), needs_root=True),
    Part("large-100000", "large accounts", 3, large(100_000, 400, rounds=1), ("fusermount3",)),
    Part("walk", "large accounts", 1, walk, ("fusermount3",)),
    Part("textures", "textures", 0.7, textures, needs_samples=True),
    Part("records", "service", 2, tests("records"), ("cargo",)),
    Part("page", "service", 1, tests("page"), ("cargo", "chromium", "node")),
]
