"""Half load for minutes: memory and descriptors do not grow."""

import sys
import time

from world import Proof, Server, project

minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 4
proof = Proof(f"soak at half load, {minutes:g} minutes")
folder = project("soak", '[serve]\naccess-log = "access.log"\naudit = "audit.jsonl"\n')
with Server(folder) as server:
    full = server.load("--seconds", 5)
    rate = full["tps"] / 2
    proof.note(f"saturated by 100 clients: {full['tps']:,.0f} a second beside the driver and what else runs here; half is {rate:,.0f}")
    # Connections are made anew in each of the pieces, so that what a connection leaves behind would add up.
    samples, answers, failures, p99 = [], 0, 0, []
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end:
        run = server.load("--clients", 200, "--rate", rate, "--seconds", 9, "--warm-up", 1)
        answers, failures = answers + run["answers"], failures + run["failures"]
        p99.append(run["p99_ms"])
        # A moment for the server to see that the piece's connections are gone.
        time.sleep(0.5)
        samples.append((server.memory(), server.descriptors()))
    third = max(1, len(samples) // 3)
    first, last = samples[:third], samples[-third:]
    mean = lambda rows, at: sum(row[at] for row in rows) / len(rows)
    proof.note(f"{answers:,} answers, p99 of the pieces {min(p99):.1f} to {max(p99):.1f} ms")
    proof.note("MB by time: " + " ".join(f"{memory / 1e6:.1f}" for memory, _ in samples))
    proof.check(failures == 0, f"{failures} failures")
    grown = mean(last, 0) / mean(first, 0) - 1
    proof.check(grown < 0.05, f"memory: first third {mean(first, 0) / 1e6:.2f} MB, last third {mean(last, 0) / 1e6:.2f} MB ({grown * 100:+.1f} %, bar 5 %)")
    proof.check(mean(last, 1) <= mean(first, 1) + 2, f"descriptors between pieces: first third {mean(first, 1):.1f}, last third {mean(last, 1):.1f}")
    proof.note("descriptors by time: " + " ".join(str(descriptors) for _, descriptors in samples))
# The server has ended, so all is written.
lines = {name: sum(1 for _ in open(folder / name)) for name in ("audit.jsonl", "access.log")}
proof.check(lines["audit.jsonl"] >= answers, f"audit: {lines['audit.jsonl']:,} lines (warm-up included), access log: {lines['access.log']:,}")
for name in lines:
    (folder / name).unlink()
proof.end()
