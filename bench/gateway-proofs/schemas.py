"""schemathesis against the OpenAPI document of every API of the dealership, public and guarded by an API key, with every check it has."""

import hashlib
import pathlib
import subprocess
import sys

from world import OUT, Proof, Server, project

EXAMPLES = sys.argv[1] if len(sys.argv) > 1 else "200"
SEED = "1"
proof = Proof(f"schemathesis, every check, {EXAMPLES} examples an operation and phase")
tool = pathlib.Path(sys.executable).parent / "schemathesis"

# A value that breaks its rule may be so long that the path is refused first: 414 is a refusal like those that the tool expects by itself.
(OUT / "schemathesis.toml").write_text(
    "[checks.negative_data_rejection]\n"
    "expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, 431, \"5XX\"]\n"
)


def study(server, folder, *options):
    for api in ("car100", "car100rename", "scenarios"):
        report = OUT / f"schemathesis-{folder.name}-{api}.txt"
        command = [tool, "run", f"http://{server.address}/{api}/openapi.json", "--checks", "all", "--mode", "all", "--max-examples", EXAMPLES,
                   "--seed", SEED, "--continue-on-failure", "--phases", "examples,coverage,fuzzing,stateful", *options]
        done = subprocess.run(command, cwd=OUT, capture_output=True, text=True)
        report.write_text(done.stdout + done.stderr)
        cases = [line.strip() for line in done.stdout.splitlines() if "generated" in line]
        proof.check(done.returncode == 0, f"{folder.name}, {api}: {cases[-1] if cases else 'no summary'} ({report.relative_to(OUT.parent.parent)})")
    proof.check(server.alive(), "the server is still there")


folder = project("schemas-public", "[serve]\n")
with Server(folder) as server:
    study(server, folder)

key = "proof-key-of-the-schema-tests"
folder = project("schemas-guarded", '[serve]\npublic-documents = true\n[serve.authentication]\napi-keys = "keys.toml"\n', guarded=True)
(folder / "keys.toml").write_text(f'[[key]]\nid = "schemas"\nsha256 = "{hashlib.sha256(key.encode()).hexdigest()}"\nroles = ["clerk"]\n')
with Server(folder) as server:
    study(server, folder, "--header", f"X-API-Key: {key}")
proof.end()
