"""Clients of a fleet: they upload models and ask for optimizations, whatever happens to the answers."""
import http.client
import json
import random
import threading
import time
import urllib.parse

from fleet_parts import wait_for


FAILED = "Importing Failed"


class Clients:
    """`apis` are the services: port and token of each. `query` asks the database itself, past the proxy."""

    def __init__(self, apis, query, options, seed, did, problems):
        self.apis, self.query, self.options, self.seed = apis, query, options, seed
        self.did, self.problems = did, problems

    def call(self, method, path, body=None, patience=90, also=()):
        """The answer of a service as JSON; asks another one after an answer that was lost. `None` if an answer to POST was
        lost, which may have had an effect, or if its status is one of `also`."""
        until = time.monotonic() + patience
        turn = hash((path, threading.get_ident()))
        while time.monotonic() < until:
            turn += 1
            number = turn % len(self.apis)
            headers = {"authorization": f"Bearer {self.apis[number][1]}", "content-type": "application/json"}
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.apis[number][0], timeout=20)
                connection.request(method, path, body and json.dumps(body), headers)
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                if method == "POST":
                    return None
                time.sleep(0.3)
                continue
            finally:
                connection.close()
            if answer.status == 200:
                return json.loads(text)
            if answer.status in also:
                return None
            if answer.status not in (429, 500, 502, 503):
                raise AssertionError(f"{method} {path}: {answer.status} {text[:300]}")
            if answer.status == 500 and method == "POST":
                return None
            time.sleep(min(float(answer.getheader("retry-after") or 0.3), 5))
        raise AssertionError(f"{method} {path}: no answer within {patience} s")

    def transfer(self, method, url, body=None):
        """The answer of the storage to a signed URL; `None` if it failed."""
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        try:
            connection.request(method, f"{parts.path}?{parts.query}", body)
            answer = connection.getresponse()
            text = answer.read()
            return text if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def upload(self, number):
        content = random.Random(number).randbytes(1000 + 40_000 * (number % 5)) + b"\n"
        body = {"model_name": f"model {number}", "filenames": ["a.glb"]}
        path = "/api/v2/rawmodel/api-upload/start"
        while (started := self.call("POST", path, body)) is None:
            pass
        url = started["links"]["s3_upload_urls"]["a.glb"]
        while self.transfer("PUT", url, content) is None:
            time.sleep(0.2)
        asset = started["id"]
        self.call("GET", f"/api/v2/rawmodel/{asset}/api-upload/complete")
        finished = lambda: (now := self.status(asset)) in ("complete", FAILED) and now
        for _ in range(5):
            if wait_for(f"asset {asset} is analysed", finished, 180) == "complete":
                return asset, content
            # The analysis lost its process three times.
            self.did["analysis tried again"] += 1
            self.retry(asset)
        raise AssertionError(f"the analysis of asset {asset} failed five times")

    def status(self, asset):
        return self.query(f"SELECT upload_status FROM assets WHERE id = {asset}")[0][0]

    def retry(self, asset):
        """Asks for another analysis until one is queued. An answer may be lost, before or after its effect."""
        jobs = f"SELECT COUNT(*) FROM jobs WHERE kind = 'analyse' AND asset_id = {asset}"
        before = self.query(jobs)
        while self.query(jobs) == before:
            self.call("POST", f"/api/v2/rawmodel/{asset}/api-upload/retry", also=(422,))
            time.sleep(0.5)

    def optimize(self, asset, number):
        """Asks for one optimization, whatever happens to the answer."""
        tag = f"job-{self.seed}-{number}"
        body = {"tags": [tag], "exportName": f"r{number}"}
        while self.call("POST", f"/api/v2/rawmodel/optimize/{asset}", body) is None:
            # A request whose answer was lost has had its effect by now, or never has.
            time.sleep(1)
            if self.query(f"SELECT owner_id FROM tags WHERE name = '{tag}'"):
                return

    def ask(self, assets, numbers):
        for number in numbers:
            self.optimize(assets[number % len(assets)][0], number)

    def work(self):
        """Uploads models and asks for all optimizations; returns the models."""
        assets = self.at_once(self.upload, range(self.options.models))
        clients = 6
        shares = [range(client, self.options.jobs, clients) for client in range(clients)]
        self.at_once(lambda numbers: self.ask(assets, numbers), shares)
        return dict(assets)

    def at_once(self, function, values):
        """The results of a function for each value, each in a thread of its own."""
        values = list(values)
        results = [None] * len(values)

        def one(place):
            try:
                results[place] = function(values[place])
            except Exception as error:
                self.problems.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=one, args=(place,)) for place in range(len(values))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.problems:
            raise AssertionError("the clients could not go on")
        return results
