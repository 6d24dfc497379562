"""TLS as other programs see it: Python's ssl and openssl s_client (both OpenSSL, where ours is rustls)."""

import hashlib
import os
import ssl
import subprocess
import threading
import time

from world import OUT, BASELINE, Proof, Server, project, read_answer, request

proof = Proof("TLS by independent clients")
keys = OUT / "tls-keys"
keys.mkdir(parents=True, exist_ok=True)


def openssl(*words, **more):
    return subprocess.run(["openssl", *words], cwd=keys, check=True, capture_output=True, **more)


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
            "-days", "2", "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")


def certificate(name, subject, by, usage):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={subject}")
    (keys / f"{name}.ext").write_text(f"basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={usage}\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.pem", "-extfile", f"{name}.ext")


authority("authority")
authority("stranger")
certificate("server-1", "localhost", "authority", "serverAuth")
certificate("server-2", "localhost", "authority", "serverAuth")
certificate("shop", "shop", "authority", "clientAuth")
certificate("guest", "guest", "authority", "clientAuth")
certificate("false-shop", "shop", "stranger", "clientAuth")


def install(folder, name):
    """As an operator would: each file is replaced whole, but one after the other."""
    for kind in ("key", "pem"):
        new = folder / f"server.{kind}.new"
        new.write_bytes((keys / f"{name}.{kind}").read_bytes())
        os.replace(new, folder / f"server.{kind}")


def s_client(server, *words, sends=b""):
    command = ["openssl", "s_client", "-connect", server.address, "-CAfile", "authority.pem", "-servername", "localhost", *words]
    done = subprocess.run(command, cwd=keys, input=sends, capture_output=True, timeout=20)
    return (done.stdout + done.stderr).decode(errors="replace")


def context(version=None, client=None):
    made = ssl.create_default_context(cafile=str(keys / "authority.pem"))
    if version:
        made.minimum_version = made.maximum_version = version
    if client:
        made.load_cert_chain(keys / f"{client}.pem", keys / f"{client}.key")
    return made


def connect(server, made, session=None):
    return made.wrap_socket(server.connect(), server_hostname="localhost", session=session)


def call(server, made):
    with connect(server, made) as stream:
        stream.sendall(request())
        return read_answer(stream)


TLS = "[serve]\nreload-seconds = 1\n[serve.tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n"
folder = project("tls", TLS)
install(folder, "server-1")
with Server(folder) as server:
    close = request(more="connection: close\r\n")
    for version, flag in (("TLSv1.3", "-tls1_3"), ("TLSv1.2", "-tls1_2")):
        said = s_client(server, flag, "-ign_eof", "-verify_return_error", sends=close)
        proof.check("HTTP/1.1 200" in said and "Verify return code: 0 (ok)" in said and f"New, {version}" in said, f"openssl s_client, {version}: verified, answered")
        s_client(server, flag, "-ign_eof", "-sess_out", "session.pem", sends=close)
        said = s_client(server, flag, "-ign_eof", "-sess_in", "session.pem", sends=close)
        proof.check(f"Reused, {version}" in said, f"openssl s_client, {version}: the session is resumed")
    for flag in ("-tls1_1", "-tls1"):
        said = s_client(server, flag, "-cipher", "ALL:@SECLEVEL=0")
        alert = next((word for word in ("alert protocol version", "alert handshake failure") if word in said), None)
        proof.check(alert is not None, f"openssl s_client {flag}: refused by the server ({alert})")
    for cipher in ("AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "NULL", "ECDHE-ECDSA-AES256-SHA384"):
        said = s_client(server, "-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0")
        proof.check("handshake failure" in said, f"openssl s_client, TLS 1.2 with {cipher}: refused")
    said = s_client(server, "-tls1_2", "-alpn", "h2,http/1.1", sends=close, *("-ign_eof",))
    proof.check("ALPN protocol: http/1.1" in said, "ALPN chooses http/1.1")
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        made = context(version)
        with connect(server, made) as first:
            first.sendall(request())
            status, body = read_answer(first)
            session = first.session
            used = f"{first.version()}, {first.cipher()[0]}"
        with connect(server, made, session) as second:
            second.sendall(request())
            again = read_answer(second)
            # Answers have the time in them, so bodies are of one length and no more.
            same = (status, len(body)) == (again[0], len(again[1])) == (200, len(body))
            proof.check(same and second.session_reused, f"Python ssl: {used}, resumed, {len(body):,} bytes again")
    try:
        made = ssl.create_default_context(cafile=str(keys / "stranger.pem"))
        call(server, made)
        proof.check(False, "a client that trusts another authority")
    except ssl.SSLCertVerificationError:
        proof.check(True, "a client that trusts another authority does not verify the server")
    with server.connect() as plain:
        plain.sendall(request())
        plain.settimeout(5)
        proof.check(b"HTTP/1.1 200" not in plain.recv(1000), "plain HTTP on the TLS port gets no answer")

    # Certificates change twenty times under clients that call all the time, on kept and on new connections.
    counts, failures, serials, over = [0], [], set(), threading.Event()

    def keep_calling():
        made = context()
        kept = connect(server, made)
        while not over.is_set():
            try:
                kept.sendall(request("/car100/models?maxCars=1&maxDealers=1"))
                ok = read_answer(kept)[0] == 200
                with connect(server, made) as new:
                    serials.add(hashlib.sha256(new.getpeercert(True)).hexdigest())
                    new.sendall(request("/car100/models?maxCars=1&maxDealers=1"))
                    ok &= read_answer(new)[0] == 200
                counts[0] += 2
                if not ok:
                    failures.append("status")
            except (OSError, ConnectionError) as error:
                failures.append(repr(error))
                return

    callers = [threading.Thread(target=keep_calling) for _ in range(8)]
    for caller in callers:
        caller.start()
    for turn in range(20):
        install(folder, f"server-{2 - turn % 2}")
        time.sleep(1.3)
    over.set()
    for caller in callers:
        caller.join()
    proof.check(not failures and len(serials) == 2, f"20 changes of the certificate: {counts[0]:,} requests, {len(failures)} failures, {len(serials)} certificates seen {failures[:1] or ''}")
    (folder / "server.pem").write_text("no certificate\n")
    time.sleep(2.5)
    proof.check(call(server, context())[0] == 200, "a file that is no certificate changes nothing")
    proof.check("stay in force" in server.log.read_text(), "and is told in the log")

folder = project("tls-13", TLS + 'minimum-version = "1.3"\n')
install(folder, "server-1")
with Server(folder) as server:
    proof.check("alert protocol version" in s_client(server, "-tls1_2"), 'minimum-version = "1.3": TLS 1.2 is refused')
    proof.check(call(server, context(ssl.TLSVersion.TLSv1_3))[0] == 200, 'minimum-version = "1.3": TLS 1.3 is answered')

MUTUAL = TLS + 'client-authorities = "authority.pem"\nrequire-client-certificate = {}\n[serve.authentication.certificate-roles]\n"shop" = ["clerk"]\n'
for required in ("true", "false"):
    folder = project(f"tls-mutual-{required}", MUTUAL.format(required), guarded=True)
    install(folder, "server-1")
    (folder / "authority.pem").write_bytes((keys / "authority.pem").read_bytes())
    with Server(folder) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            title = f"client certificate {'required' if required == 'true' else 'asked for'}, {version.name.replace('_', '.')}"
            expected = [("shop", 200), ("guest", 403), ("false-shop", None), (None, None if required == "true" else 401)]
            for client, status in expected:
                try:
                    found = call(server, context(version, client))[0]
                except (OSError, ConnectionError):
                    found = None
                proof.check(found == status, f"{title}: {client or 'none'} gets {found or 'no connection'}")
proof.end()
