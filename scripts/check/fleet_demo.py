"""The main job on a mount over a fleet: PostgreSQL, an S3 (examples/s3.rs), 2 services that take requests in turn, 2 workers.

    python3 fleet_demo.py ASSETFS [OPTIONS OF assetfs demo]

scripts/demo --fleet runs it. The temporary folder has the records, the bucket and the logs, and is removed at the end."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fleet_parts import Bucket, Missing, Postgres, Stores, free_port, wait_for
from fleet_proxy import Faults, Kind, Proxy


def run(program, options, folder):
    bucket, postgres, members = Bucket(folder), None, []
    try:
        postgres = Postgres(folder)
        ports = [free_port(), free_port()]
        front = Proxy(Kind, Faults(0), *ports)
        stores = Stores(folder, postgres.port, bucket.url())
        for number, port in enumerate(ports):
            members.append(stores.serve(f"serve-{number}", program, port, front.port))
        for number in range(2):
            members.append(stores.worker(f"worker-{number}", program, ["--slots", "1"]))
        print("Starting PostgreSQL, a bucket, 2 services and 2 workers …", flush=True)
        serves, workers = members[:2], members[2:]
        for serve in serves:
            serve.keep_running()
        tokens = [folder / f"serve-{number}/token" for number in range(2)]
        wait_for("both services have a token", lambda: all(token.exists() for token in tokens), 60)
        # A worker refuses a storage that no service has prepared.
        for worker in workers:
            worker.keep_running()
        service = ["--base-url", f"http://127.0.0.1:{front.port}", "--token-file", tokens[0]]
        done = subprocess.run([program, "demo", *service, *options])
        for member in members:
            text = (folder / f"{member.name}.log").read_text(errors="replace")
            print(f"{member.name}: {text.count('job ended')} jobs")
        objects = len(bucket.keys("blobs"))
        jobs = postgres.number("SELECT COUNT(*) FROM jobs WHERE state = 'finished'")
        print(f"{jobs} jobs in the database have ended, the bucket has {objects} objects")
        return done.returncode
    finally:
        for member in members:
            try:
                member.stop()
            except AssertionError as late:
                print(late, file=sys.stderr)
        if postgres:
            postgres.stop()
        bucket.stop()


def main():
    program, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="fleet-demo-") as folder:
        folder = Path(folder)
        # The server of the database is another user, who must be able to enter.
        os.chmod(folder, 0o755)
        try:
            return run(program, options, folder)
        except Missing as missing:
            print(f"{missing} is missing. scripts/test installs what it can.", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
