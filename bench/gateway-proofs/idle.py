"""10,000 idle keep-alive connections under 200 MB of server memory."""

import resource
import time

from world import BASELINE, Proof, Server, project, read_answer, request

CONNECTIONS = 10_000
BAR_MB = 200

proof = Proof(f"{CONNECTIONS:,} idle connections")
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
need = CONNECTIONS + 200
if hard < need:
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, need))
    except (ValueError, PermissionError):
        proof.note(f"skipped: this machine allows {hard} descriptors a process, {need} are needed")
        raise SystemExit(0)
else:
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(need, 20_000)), hard))

folder = project("idle", "[serve]\n[serve.limits]\nidle-seconds = 600\n")
with Server(folder) as server:
    with server.connect() as first:
        first.sendall(request())
        read_answer(first)
    before = server.memory()
    began = time.monotonic()
    streams = []
    for _ in range(CONNECTIONS):
        stream = server.connect()
        # Each has had an answer of 64 KB, so what a connection keeps from a request counts too.
        stream.sendall(request())
        status, _ = read_answer(stream)
        assert status == 200
        streams.append(stream)
    opened = time.monotonic() - began
    time.sleep(2)
    memory = server.memory()
    each = (memory - before) / CONNECTIONS
    proof.note(f"opened in {opened:.1f} s, each after an answer of 64 KB; before: {before / 1e6:.1f} MB")
    proof.check(memory < BAR_MB * 1e6, f"{memory / 1e6:.1f} MB resident with {CONNECTIONS:,} connections ({each / 1e3:.2f} KB each), bar {BAR_MB} MB")
    proof.check(server.descriptors() >= CONNECTIONS, f"{server.descriptors():,} descriptors are open in the server")
    cpu = server.cpu_seconds()
    time.sleep(5)
    proof.note(f"CPU of the server in 5 idle seconds: {(server.cpu_seconds() - cpu) * 1e3:.0f} ms")
    run = server.load("--clients", 50, "--think-ms", 100, "--seconds", 5)
    proof.check(run["failures"] == 0, f"50 others meanwhile: {run['answers']} answers, p50 {run['p50_ms']:.2f} ms, p99 {run['p99_ms']:.2f} ms")
    answered = 0
    for stream in streams:
        stream.sendall(request("/car100/models?maxCars=1&maxDealers=1"))
        answered += read_answer(stream)[0] == 200
    proof.check(answered == CONNECTIONS, f"{answered:,} of them still answer")
    for stream in streams:
        stream.close()
    time.sleep(1)
    proof.check(server.descriptors() < 100, f"{server.descriptors()} descriptors when they are gone, {server.memory() / 1e6:.1f} MB")
proof.end()
