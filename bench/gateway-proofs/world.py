"""What the proofs share: a project made from the dealership, a running server, and what the kernel says of it."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "target" / "proofs"
QUAYLINE = ROOT / "target" / "release" / "quayline"
MEASURE = ROOT / "target" / "release" / "quayline-measure"
BASELINE = "/car100/models?maxCars=100&maxDealers=25"


def project(name, serve, guarded=False):
    """A copy of the dealership with `serve` as its quayline.toml. Guarded: its APIs are not public."""
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "examples" / "dealership", folder)
    (folder / "quayline.toml").write_text(serve)
    if shutil.which("cobc"):
        (folder / "modules").mkdir(exist_ok=True)
        compile_ = ["cobc", "-m", "-O2", "-std=ibm", "-fodoslide", "-I", ".", "-o", "modules/CARINQ.so", "program/CARINQ.cbl"]
        subprocess.run(compile_, cwd=folder, check=True)
    else:
        print("  cobc is not installed: a stored record answers instead of the program")
        for service in (folder / "services").glob("*.toml"):
            lines = service.read_text().replace('encoding = "ascii"', 'encoding = "cp037"')
            lines = lines.replace('kind = "program"', 'kind = "canned"\nfile = "car100.ebcdic"').splitlines()
            drop = ("program =", "modules =", "time-limit-ms =", "source =", "compiler-options =")
            service.write_text("\n".join(line for line in lines if not line.startswith(drop)) + "\n")
    if guarded:
        for api in (folder / "apis").glob("*.toml"):
            api.write_text(api.read_text().replace("public = true", 'public = false\nroles = ["clerk"]'))
    return folder


class Server:
    """`quayline serve` of a project, on a free port of the loopback; ended with the block."""

    def __init__(self, folder, threads=None, core=None):
        self.log = folder / "serve.log"
        command = [str(QUAYLINE), "serve", str(folder), "--listen", "127.0.0.1:0"]
        if threads:
            command += ["--threads", str(threads)]
        if core is not None:
            command = ["taskset", "-c", str(core)] + command
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stderr=log)
        for _ in range(100):
            said = [line for line in self.log.read_text().splitlines() if line.startswith("listening on ")]
            if said:
                self.host, port = said[0].removeprefix("listening on ").split("://")[-1].rsplit(":", 1)
                self.port = int(port)
                return
            time.sleep(0.1)
        self.stop()
        raise SystemExit(f"the server did not start:\n{self.log.read_text()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def alive(self):
        return self.process.poll() is None

    def memory(self):
        """Resident bytes of the server itself."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, *options, target=BASELINE):
        """One run of quayline-measure's load."""
        command = [str(MEASURE), "load", self.address, target, str(self.process.pid), *map(str, options)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def start_load(self, *options, target=BASELINE):
        command = [str(MEASURE), "load", self.address, target, str(self.process.pid), *map(str, options)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def connect(self, receive_bytes=None):
        stream = socket.socket()
        if receive_bytes:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        stream.connect((self.host, self.port))
        return stream


def request(target=BASELINE, method="GET", more=""):
    return f"{method} {target} HTTP/1.1\r\nhost: proof\r\n{more}\r\n".encode()


def read_answer(stream):
    """Status and body of one answer with a content-length."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = stream.recv(65536)
        if not more:
            raise ConnectionError("closed before the answer's head")
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        more = stream.recv(262144)
        if not more:
            raise ConnectionError("closed in the answer's body")
        body += more
    return int(head.split()[1]), body


class Proof:
    """Prints what holds and what does not; the process ends with 1 if something does not."""

    def __init__(self, title):
        print(f"## {title}")
        self.failed = False

    def check(self, holds, what):
        print(f"  {'holds' if holds else 'FAILS'}: {what}", flush=True)
        self.failed |= not holds

    def note(self, what):
        print(f"  {what}", flush=True)

    def end(self):
        sys.exit(1 if self.failed else 0)
