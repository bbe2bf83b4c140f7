"""What must be so at the end of a run."""
import hashlib

from fleet_parts import wait_for


class Checks:
    def __init__(self, fleet):
        self.fleet, self.postgres, self.bucket, self.problems = fleet, fleet.postgres, fleet.bucket, fleet.problems
        # Known when the run comes so far.
        self.rapids = self.given_up = self.objects = "?"

    def expect(self, what, found, wanted):
        if found != wanted:
            self.problems.append(f"{what}: {found}, not {wanted}")

    def records_are_right(self):
        number = self.postgres.number
        self.rapids = number("SELECT COUNT(*) FROM rapids")
        asked = number(f"SELECT COUNT(DISTINCT name) FROM tags WHERE name LIKE 'job-{self.fleet.seed}-%'")
        self.expect("optimizations that were asked for and exist", asked, self.fleet.options.jobs)
        # The point of an optimization that was given up is given back.
        lost = number("SELECT COUNT(*) FROM jobs WHERE kind = 'optimize' AND state = 'failed'")
        self.expect("points", number("SELECT points FROM users"), self.fleet.points - self.rapids + lost)
        self.expect("jobs of optimizations", number("SELECT COUNT(*) FROM jobs WHERE kind = 'optimize'"), self.rapids)
        self.expect("jobs with an end", number("SELECT COUNT(DISTINCT job) FROM fleet_ends"), number("SELECT COUNT(*) FROM jobs"))
        self.expect("ends of jobs", number("SELECT COUNT(*) FROM fleet_ends"), number("SELECT COUNT(*) FROM jobs"))
        used = number("SELECT used_bytes FROM users")
        self.expect("used storage", used, number("SELECT COALESCE(SUM(size), 0) FROM files WHERE blob IS NOT NULL"))
        # A job may fail for one reason: it lost its process, or the database and the storage, three times.
        failed = self.postgres.sql("SELECT id, kind, attempts, output FROM jobs WHERE state = 'failed'")
        self.given_up = len(failed)
        self.lost_results = sum(kind == "optimize" for _, kind, _, _ in failed)
        for job, kind, attempts, output in failed:
            print(f"  given up: {kind} {job} after {attempts} attempts: {output}")
            if int(attempts) < 3 or not ("the service died" in output or "the service failed" in output):
                self.problems.append(f"job {job} failed for no good reason")

    def results_are_right(self, models):
        rows = self.postgres.sql(
            "SELECT r.id, r.asset_id, r.export_name, f.md5, f.blob FROM rapids r LEFT JOIN files f "
            "ON f.owner_kind = 'rapid' AND f.owner_id = r.id AND f.area = 'export' WHERE r.status = 'done' ORDER BY r.id"
        )
        self.expect("results", len(rows), self.rapids - self.lost_results)
        content = lambda asset, name: models[int(asset)] + name.encode()
        for rapid, asset, name, md5, blob in rows:
            wanted = content(asset, name)
            if self.bucket.read(f"blobs/{blob}") != wanted or hashlib.md5(wanted).hexdigest() != md5:
                self.problems.append(f"the result of optimization {rapid} has other bytes")
        # Some of them as clients read them.
        for rapid, asset, name, _, _ in self.fleet.random.sample(rows, min(20, len(rows))):
            urls = self.fleet.clients.call("GET", f"/api/v2/rapidmodel/{rapid}")["data"]["downloads"]["all"]
            if not any(self.fleet.clients.transfer("GET", url) == content(asset, name) for url in urls.values()):
                self.problems.append(f"a client reads other bytes of optimization {rapid}")

    def bucket_is_right(self):
        if self.bucket.can_age:
            self.let_the_janitor_work()
        named = self.blobs("SELECT blob FROM files WHERE blob IS NOT NULL")
        stored = self.bucket.keys("blobs")
        self.objects = len(stored)
        self.expect("records whose object is missing", len(named - stored), 0)
        if not self.bucket.can_age:
            print(f"  the objects of this storage cannot be made older: {len(stored - named)} are left to the janitor")

    def let_the_janitor_work(self):
        """Lets three days pass, twice, and then compares: the first round of the janitor notes what nothing refers to, the
        second one removes it. A round runs when a service starts."""
        serve = self.fleet.members[0]
        past = 3 * 86_400 * 1_000_000
        rounds = [("noted what nothing refers to", "SELECT blob FROM stray_blobs"), ("removed it", "SELECT '' WHERE FALSE")]
        for what, spared in rounds:
            self.postgres.sql(
                f"UPDATE pending_blobs SET created_at = created_at - {past}",
                f"UPDATE stray_blobs SET since = since - {past}",
            )
            self.bucket.age(3)
            serve.wanted = True
            serve.keep_running()
            try:
                wait_for(f"the janitor has {what}", lambda: not self.unknown_objects(spared), 90)
            finally:
                self.fleet.stop(serve)

    def blobs(self, statement):
        return {row[0] for row in self.postgres.sql(statement)}

    def unknown_objects(self, spared):
        """The objects that no record names; what clients have sent is copied when its upload is analysed."""
        stored = self.bucket.keys("blobs") - self.blobs("SELECT blob FROM files WHERE blob IS NOT NULL")
        return (stored | self.bucket.keys("in")) - self.blobs(spared)

    def no_process_panicked(self):
        for log in sorted(self.fleet.folder.glob("*.log")):
            text = log.read_text(errors="replace")
            if (at := text.find("panicked")) >= 0:
                self.problems.append(f"{log.name}: {text[max(0, at - 200) : at + 400]}")
