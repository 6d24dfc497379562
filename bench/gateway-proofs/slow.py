"""Slow readers and slow writers hold no worker: others' answers come as before while 500 of each hang."""

import threading
import time

from world import Proof, Server, project, read_answer, request

SLOW = 500

proof = Proof(f"{SLOW} slow readers and {SLOW} slow writers, one server thread, one program worker")
limits = "[serve.limits]\nbody-seconds = 25\nidle-seconds = 25\nwrite-seconds = 25\n"
folder = project("slow", "[serve]\n" + limits)
# Others think 100 ms between requests, so what is measured is waiting, not load.
others = ("--clients", 50, "--think-ms", 100, "--seconds", 8, "--warm-up", 2)


def show(name, run):
    proof.note(f"{name}: {run['answers']} answers, p50 {run['p50_ms']:.2f} ms, p99 {run['p99_ms']:.2f} ms, {run['failures']} failures")


with Server(folder, threads=1) as server:
    server.load(*others)
    before = [server.load(*others) for _ in range(2)]
    for run in before:
        show("before", run)
    readers = []
    for _ in range(SLOW):
        # The smallest window that the kernel gives: most of the 64 KB stays with the server.
        stream = server.connect(receive_bytes=2048)
        stream.sendall(request() * 4)
        readers.append(stream)
    writers = []
    search = request("/car100rename/models/VECTOR/search", "POST", "content-type: application/json\r\ncontent-length: 900\r\n")
    for number in range(SLOW):
        stream = server.connect()
        # Half of them stop in their headers, half in their body.
        stream.sendall(search[: len(search) // 2] if number % 2 else search + b'{"Request":')
        writers.append(stream)
    over = threading.Event()
    cut = [0]

    def drip():
        """A byte now and then from each writer, as someone would who means harm."""
        alive = list(writers)
        while not over.wait(0.5):
            for stream in list(alive):
                try:
                    stream.send(b" ")
                except OSError:
                    alive.remove(stream)
                    cut[0] += 1

    dripping = threading.Thread(target=drip)
    dripping.start()
    time.sleep(0.5)
    proof.note(f"{server.descriptors()} descriptors, {server.memory() / 1e6:.1f} MB while they hang")
    during = [server.load(*others) for _ in range(2)]
    for run in during:
        show("meanwhile", run)
    best = lambda runs, what: min(run[what] for run in runs)
    proof.check(all(run["failures"] == 0 for run in during), "no request of the others fails")
    proof.check(best(during, "p50_ms") <= 1.5 * best(before, "p50_ms") + 0.5, "the others' median is as before (at most half as much again and 0.5 ms)")
    proof.check(best(during, "p99_ms") <= 2 * best(before, "p99_ms") + 2, "the others' 99th percentile is as before (at most twice and 2 ms)")
    proof.check(server.load("--clients", 1, "--seconds", 1, "--warm-up", 0)["answers"] > 100, "a program worker is free all the time")
    # The limits cut every one of them off; writers that drip are no exception.
    for _ in range(60):
        if server.descriptors() < 100:
            break
        time.sleep(1)
    over.set()
    dripping.join()
    proof.check(server.descriptors() < 100, f"all are cut off by the limits of 25 s: {server.descriptors()} descriptors left, {server.memory() / 1e6:.1f} MB")
    with server.connect() as stream:
        stream.sendall(request())
        proof.check(read_answer(stream)[0] == 200, "the next request is answered")
    for stream in readers + writers:
        stream.close()
proof.end()
