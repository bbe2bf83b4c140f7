"""What is read: the files, the local service that knows them, and the nginx that serves them to all."""
import json, os, sqlite3, subprocess, urllib.request

from .process import MIB, quiet, run, stop, wait_for

PORTS = {"fast": 18480, "lat": 18481, "cap": 18482, "tls": 18483}
SERVICE_PORT = 18490


def origin(form):
    return f"{'https' if form == 'tls' else 'http'}://127.0.0.1:{PORTS[form]}"


def authority(base):
    """The certificate that has signed that of nginx."""
    return base / "nginx/authority.pem"


def gltf(extras=""):
    """The smallest model: one triangle, whose bytes stand in the file."""
    return json.dumps({
        "asset": {"version": "2.0"}, "extras": extras, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                       "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": "data:application/octet-stream;base64,"
                     "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]})


class Data:
    """The files: random bytes, so that nothing compresses."""

    def __init__(self, base, size):
        self.base, self.size = base, size
        self.local = base / "local"
        self.www = base / "www"
        self.www.mkdir()
        self.local.mkdir()
        quiet("mount", "-t", "tmpfs", "-o", "size=6g", "assetfs-bench", self.www)

    def make(self, small_models):
        big = self.local / "big"
        big.mkdir()
        (big / "big.gltf").write_text(gltf())
        with open(big / "model.bin", "wb") as out:
            for _ in range(self.size // (16 * MIB)):
                out.write(os.urandom(16 * MIB))
        self.models = [big]
        for number in range(small_models):
            folder = self.local / f"m{number:03d}"
            folder.mkdir()
            (folder / "m.gltf").write_text(gltf(os.urandom(9500).hex()).ljust(20480))
            for part in range(9):
                (folder / f"p{part}.bin").write_bytes(os.urandom(20480))
            self.models.append(folder)


class Nginx:
    def __init__(self, base, www):
        self.base = base / "nginx"
        self.base.mkdir()
        self.make_certificates()
        delayed = """
            location / { echo_sleep $delay; echo_exec @file; }
            location @file { autoindex on; }"""
        plain = "location / { autoindex on; }"
        servers = "".join(
            f"server {{ listen 127.0.0.1:{port}{' ssl' if form == 'tls' else ''}; {'limit_rate 80m;' if form == 'cap' else ''} "
            f"{delayed if form in ('lat', 'cap') else plain} }}\n"
            for form, port in PORTS.items()
        )
        temps = "".join(
            f"{name}_temp_path {self.base}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (self.base / "nginx.conf").write_text(f"""
load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;
worker_processes 2; pid {self.base}/pid; error_log {self.base}/error.log warn; user root;
events {{ worker_connections 2048; }}
http {{
  types {{ }} default_type application/octet-stream; access_log off; {temps}
  sendfile on; tcp_nopush on; tcp_nodelay on;
  keepalive_requests 1000000; keepalive_timeout 300s; open_file_cache max=10000 inactive=300s;
  map $connection_requests $delay {{ default 0.030; 1 0.060; }}
  root {www};
  ssl_certificate {self.base}/own.pem; ssl_certificate_key {self.base}/own.key;
  {servers}
}}""")
        run("nginx", "-c", self.base / "nginx.conf", "-p", self.base)
        wait_for("nginx", (self.base / "pid").exists)
        self.pid = int((self.base / "pid").read_text())

    def make_certificates(self):
        """One of nginx, for 127.0.0.1, and one of an authority that has signed it."""
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        quiet("openssl", "req", "-x509", *new, "-keyout", self.base / "authority.key", "-out", self.base / "authority.pem",
              "-days", 30, "-subj", "/CN=assetfs-bench")
        quiet("openssl", "req", *new, "-keyout", self.base / "own.key", "-out", self.base / "own.csr", "-subj", "/CN=127.0.0.1")
        (self.base / "names").write_text("subjectAltName=IP:127.0.0.1")
        quiet("openssl", "x509", "-req", "-in", self.base / "own.csr", "-CA", self.base / "authority.pem", "-days", 30,
              "-CAkey", self.base / "authority.key", "-CAcreateserial", "-extfile", self.base / "names", "-out", self.base / "own.pem")

    def stop(self):
        stop(self.pid)


class Service:
    """The local service; its signed URLs point at one of nginx's forms."""

    def __init__(self, binary, base):
        self.binary, self.data, self.process = binary, base / "www" / "service", None

    def start(self, form=None):
        self.stop()
        files = ["--files-url", origin(form)] if form else []
        self.process = subprocess.Popen(
            [self.binary, "serve", "--json", "--no-pictures", "--data", self.data,
             "--listen", f"127.0.0.1:{SERVICE_PORT}", *files],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = json.loads(self.process.stdout.readline())["base_url"].rstrip("/")
        self.token = (self.data / "token").read_text().strip()

    def stop(self):
        if self.process:
            stop(self.process.pid)
            self.process = None

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f"{self.url}/api/v2/{path}", method=method,
            data=json.dumps(body).encode() if body else None,
            headers={"Authorization": f"Bearer {self.token}", "Accept": "application/json",
                     "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def upload(self, folders):
        """Sends each folder as a model of its own, past the drive, so that nothing is staged."""
        ids = {}
        for folder in folders:
            files = sorted(folder.iterdir())
            started = self.call("POST", "rawmodel/api-upload/start", {
                "model_name": folder.name, "filenames": [file.name for file in files]})
            for file in files:
                target = started["links"]["s3_upload_urls"][file.name]
                if file.stat().st_size < MIB:
                    urllib.request.urlopen(urllib.request.Request(target, file.read_bytes(), method="PUT")).close()
                else:
                    quiet("curl", "-sf", "-T", file, target)
            ids[started["id"]] = folder.name
            self.call("GET", f"rawmodel/{started['id']}/api-upload/complete")
        return ids

    def states(self):
        return self.query("SELECT DISTINCT upload_status FROM assets")

    def publish(self, www, names):
        """Shows nginx every stored file under the path of its signed URL, and the models also under
        the names that a plain web server would give them."""
        for number, asset, area, name, blob in self.query(
                "SELECT id, owner_id, area, name, blob FROM files "
                "WHERE owner_kind = 'asset' AND blob IS NOT NULL"):
            links = [www / "storage" / str(number) / name]
            if area == "source":
                links.append(www / "show" / names[asset] / name)
            for link in links:
                link.parent.mkdir(parents=True, exist_ok=True)
                os.link(self.data / "files" / blob, link)

    def query(self, text):
        with sqlite3.connect(f"file:{self.data}/records.sqlite?mode=ro", uri=True) as records:
            return records.execute(text).fetchall()
