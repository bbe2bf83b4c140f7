"""The goals of the rows. `of` is whom the drive is compared with in the same run: the best peer whose name begins so, the best of the
other drives, or nobody."""

# Who runs the drive.
ROOT, HELPED, USER = "assetfs", "assetfs, not root, with assetfs-passthrough", "assetfs, not root"
EVERYBODY = (ROOT, HELPED, USER)
COLD, FOUR, WARM, DROPPED = "1 GiB cold, fast", "1 GiB cold, fast, 4 readers", "read again, page cache kept", "read again after drop_caches"

# The pages of a full listing at the rate that the API allows.
NEEDED = "needed"
# All peers that are mounted.
DRIVES, MOUNTED = "other drives", ("rclone", "sshfs", "mount-s3")

# The work, its unit, who has the goal, whom it is compared with, and the least or the most.
LEAST = [
    (COLD, "MiB/s", EVERYBODY, "curl", 0.55),
    (COLD, "MiB/s", EVERYBODY, "rclone", 1.5),
    (COLD, "MiB/s", EVERYBODY, DRIVES, 1),
    (FOUR, "MiB/s", EVERYBODY, "rclone", 1.3),
    ("1 GiB cold, TLS", "MiB/s", EVERYBODY, DRIVES, 1),
    ("1 GiB cold, 4 KiB reads", "MiB/s", EVERYBODY, DRIVES, 1),
    ("1 GiB cold on cap", "MiB/s", (ROOT,), "curl", 9),
    ("read again, the first time", "MiB/s", (ROOT,), "local disk", 0.85),
    (WARM, "MiB/s", (ROOT, HELPED), "local disk", 0.9),
    (DROPPED, "MiB/s", (ROOT,), "local disk", 0.95),
    (DROPPED, "MiB/s", (HELPED,), "rclone", 1.75),
    (DROPPED, "MiB/s", (USER,), "rclone", 1.5),
    ("random 4 KiB warm, 1 job", "IOPS", (ROOT,), "local disk", 0.9),
    ("random 4 KiB warm, 16 jobs", "IOPS", (ROOT,), "local disk", 0.9),
    ("random 4 KiB warm, 1 job", "IOPS", (HELPED,), "local disk", 0.95),
    ("random 4 KiB warm, 16 jobs", "IOPS", (HELPED,), "local disk", 0.95),
    ("random 4 KiB warm, 1 job", "IOPS", (USER,), "rclone", 2),
    ("random 4 KiB warm, 16 jobs", "IOPS", (USER,), "rclone", 2),
    ("random 4 KiB cold on lat, 1 job", "IOPS", (ROOT,), "keep-alive requests", 1),
    ("random 4 KiB cold on lat, 16 jobs", "IOPS", (ROOT,), "keep-alive requests", 0.95),
    ("20 KiB files one by one, lat, cold", "files/s", (ROOT,), "rclone", 18),
    ("20 KiB files one by one, warm", "files/s", EVERYBODY, DRIVES, 1),
    ("1 file of 1 GiB copied in", "MiB/s", EVERYBODY, "local disk", 0.9),
    ("1,000 files of 1 MiB copied in", "MiB/s", EVERYBODY, "local disk", 0.9),
    ("8 files of 128 MiB sent", "MiB/s", EVERYBODY, "curl", 1.1),
]
MOST = [
    (COLD, "daemon CPU s/GiB", EVERYBODY, None, 0.8),
    (COLD, "daemon CPU s/GiB", EVERYBODY, "rclone", 0.9),
    ("first byte on lat", "ms", (ROOT,), "keep-alive request", 1.1),
    ("mid-file on lat", "ms", (ROOT,), "keep-alive request", 1.1),
    (COLD, "peak MiB", EVERYBODY, None, 64),
    (FOUR, "peak MiB", EVERYBODY, None, 128),
    ("memory, 10 GiB read", "peak MiB", EVERYBODY, None, 64),
    ("memory, 16 random readers", "peak MiB", EVERYBODY, None, 64),
    ("8 files of 128 MiB sent", "peak MiB", EVERYBODY, None, 64),
    ("from the service, a shared cache", "MiB", (ROOT,), "1 mount", 1.1),
    ("stat of one deep path, new mount", "requests", EVERYBODY, None, 4),
    ("ls unchanged, after the refresh time", "requests", EVERYBODY, None, 1),
    ("memory of the mount", "peak MiB", EVERYBODY, None, 400),
    ("first ls, new mount", "s", EVERYBODY, NEEDED, 1.2),
    ("ls after a remount: 10,000 assets", "s", EVERYBODY, None, 0.1),
    ("hot folder, no pictures", "s", EVERYBODY, "engine alone", 1.5),
    ("hot folder, with pictures", "s", EVERYBODY, "engine alone", 1.5),
    ("result of a small model, --pictures later", "s", EVERYBODY, None, 0.1),
    *[(f"simplified to {share} %", unit, EVERYBODY, other, 1) for share in (10, 25)
      for unit in ("FLIP", "p99", "bytes", "seconds", "MiB") for other in ("gltfpack", "gltf-transform")],
    *[("packed with meshopt", unit, EVERYBODY, "gltfpack", 1) for unit in ("bytes", "seconds", "MiB")],
]


def of(row, unit, peer):
    """The goals of a row as data: with the name of the work, or with what begins it and a comma."""
    found = []
    for goals, kind in ((LEAST, "least"), (MOST, "most")):
        found += [{"of": other, kind: value} for work, of_unit, whose, other, value in goals
                  if of_unit == unit and peer in whose and (row == work or row.startswith(f"{work}: "))]
    return found or None


def reached(goal, mine, others):
    """The figure to compare with the goal, or None where nobody is there to compare with."""
    if goal["of"] is None:
        return mine["median"]
    names = MOUNTED if goal["of"] == DRIVES else goal["of"]
    rivals = [row["median"] for row in others if row["peer"].startswith(names)]
    best = (max if "least" in goal else min)(rivals, default=0)
    return mine["median"] / best if best else None


def is_met(goal, value):
    # As the table shows it, with two digits.
    return round(value, 2) >= goal["least"] if "least" in goal else round(value, 2) <= goal["most"]
