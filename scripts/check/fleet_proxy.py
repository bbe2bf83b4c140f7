"""A TCP proxy whose faults follow from a seed: it cuts connections, loses replies to COMMIT, and answers SlowDown.

Its connections run in a thread of their own, which starts with the first proxy."""
import asyncio
import collections
import random
import threading

CHUNK = 64 << 10
SLOW_DOWN = b"<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
METHODS = (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE ")


class Faults:
    """What goes wrong, how often, and how often it has. `is_calm` ends all faults."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seen = collections.Counter()
        self.is_calm = False

    def strikes(self, name, rate):
        strikes = not self.is_calm and self.random.random() < rate
        if strikes:
            self.seen[name] += 1
        return strikes


class Cut(Exception):
    """The connection ends here."""


class Kind:
    """What a proxy knows of its protocol. `upward` and `downward` see each chunk, and may raise `Cut` or change it."""

    def __init__(self, faults):
        self.faults = faults

    async def upward(self, data, client):
        return data

    async def downward(self, data):
        return data


class Database(Kind):
    """PostgreSQL: COMMIT without a reply, COMMIT that never arrives, and connections that end anywhere."""
    loses_reply = False

    async def upward(self, data, client):
        if b"COMMIT\0" in data:
            if self.faults.strikes("COMMIT that did not arrive", 0.004):
                raise Cut
            self.loses_reply = self.faults.strikes("COMMIT without a reply", 0.008)
        elif self.faults.strikes("database connection cut", 0.0005):
            raise Cut
        return data

    async def downward(self, data):
        if self.loses_reply:
            raise Cut
        return data


class Storage(Kind):
    """S3: SlowDown, request bodies and answers that are cut."""

    async def upward(self, data, client):
        if data.startswith(METHODS) and self.faults.strikes("SlowDown", 0.01):
            head = f"HTTP/1.1 503 Slow Down\r\ncontent-type: application/xml\r\ncontent-length: {len(SLOW_DOWN)}\r\nconnection: close\r\n\r\n"
            client.write(head.encode() + SLOW_DOWN)
            await client.drain()
            raise Cut
        if self.faults.strikes("request to the storage cut", 0.003):
            return data[: len(data) // 2], Cut
        return data

    async def downward(self, data):
        if self.faults.strikes("answer of the storage cut", 0.003):
            return data[: len(data) // 2], Cut
        return data


class Api(Kind):
    """The service itself: answers that are lost."""

    async def downward(self, data):
        if self.faults.strikes("answer of the service lost", 0.01):
            raise Cut
        return data


loop = None


def start_loop():
    global loop
    if loop is None:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()


class Proxy:
    """Listens on a port of its own; its connections lead to the ports `targets` of this machine in turn. One that does not
    accept is left out."""

    def __init__(self, kind, faults, *targets):
        self.kind, self.faults, self.targets = kind, faults, collections.deque(targets)
        start_loop()
        self.port = asyncio.run_coroutine_threadsafe(self.listen(), loop).result(10)

    async def listen(self):
        self.server = await asyncio.start_server(self.connect, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def connect(self, reader, writer):
        self.targets.rotate(-1)
        # Other connections turn the list while this one waits.
        for target in list(self.targets):
            try:
                up_reader, up_writer = await asyncio.open_connection("127.0.0.1", target)
                break
            except OSError:
                continue
        else:
            writer.transport.abort()
            return
        kind = self.kind(self.faults)
        ends = [
            asyncio.ensure_future(self.copy(reader, up_writer, lambda data: kind.upward(data, writer))),
            asyncio.ensure_future(self.copy(up_reader, writer, kind.downward)),
        ]
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        # What a side has said before it closed still arrives.
        if not any(end.exception() for end in done):
            await asyncio.wait(ends, timeout=5)
        for end in ends:
            end.cancel()
        for each in (writer, up_writer):
            each.transport.abort()
        await asyncio.gather(*ends, return_exceptions=True)

    async def copy(self, reader, writer, change):
        while data := await reader.read(CHUNK):
            data = await change(data)
            cut = None
            if isinstance(data, tuple):
                data, cut = data
            writer.write(data)
            await writer.drain()
            if cut:
                raise cut
        if writer.can_write_eof():
            writer.write_eof()
