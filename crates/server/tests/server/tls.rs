//! TLS, with OpenSSL as an independent client.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::world::{RECORDS, Server, project};

/// Makes a key and a certificate that an authority has signed; `None` where OpenSSL is not installed.
pub(crate) fn certificate(folder: &Path, name: &str, extension: &str) -> Option<()> {
    let run = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).current_dir(folder).output().ok()?;
        assert!(done.status.success(), "{}", String::from_utf8(done.stderr).unwrap());
        Some(())
    };
    if !folder.join("ca.pem").exists() {
        run(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=authority",
            "-days",
            "30",
        ])?;
    }
    let (key, csr, pem) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
    run(&[
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        &key,
        "-out",
        &csr,
        "-subj",
        &format!("/O=Shop/CN={name}"),
    ])?;
    std::fs::write(folder.join("ext.cnf"), extension).unwrap();
    run(&[
        "x509",
        "-req",
        "-in",
        &csr,
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "30",
        "-extfile",
        "ext.cnf",
        "-out",
        &pem,
    ])
}

/// Returns the output of OpenSSL's client for one request.
fn client(server: &Server, arguments: &[&str]) -> String {
    let mut process = Command::new("openssl")
        .args([
            "s_client",
            "-quiet",
            "-verify_return_error",
            "-CAfile",
            "ca.pem",
            "-servername",
            "localhost",
            "-connect",
        ])
        .arg(server.address.to_string())
        .args(arguments)
        .current_dir(server.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A client that was refused has closed its input already.
    let _ = process
        .stdin
        .take()
        .unwrap()
        .write_all(b"GET /v1/echo/x?fields=respCode HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let done = process.wait_with_output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn an_independent_client_is_served_by_both_versions_and_by_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = certificate(folder.path(), "localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1") else {
        eprintln!("skipped: tls: OpenSSL is not installed");
        return;
    };
    certificate(folder.path(), "shop", "extendedKeyUsage=clientAuth").unwrap();
    certificate(folder.path(), "guest", "extendedKeyUsage=clientAuth").unwrap();
    let settings = "[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"\nclient-authorities = \"ca.pem\"\n[serve.authentication.certificate-roles]\nshop = [\"clerk\"]";
    project(folder.path(), settings, RECORDS, "roles = [\"clerk\"]");
    let server = Server::start(folder);
    let shop = ["-cert", "shop.pem", "-key", "shop.key"];
    for version in ["-tls1_2", "-tls1_3"] {
        let answer = client(&server, &[&[version], &shop[..]].concat());
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("{\"respCode\":7}"), "{version}: {answer}");
    }
    assert!(client(&server, &[]).starts_with("HTTP/1.1 401"), "no certificate");
    assert!(client(&server, &["-cert", "guest.pem", "-key", "guest.key"]).starts_with("HTTP/1.1 403"), "no role");
    assert_eq!(client(&server, &["-tls1_1"]), "", "an old version");
    let mut plain = server.connect();
    plain.write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut plain, &mut answer);
    assert!(!answer.starts_with(b"HTTP"), "nothing is served without TLS");
}

/// Returns everything that `openssl s_client` prints about a connection with one request.
fn spoken(server: &Server, arguments: &[&str]) -> String {
    let mut process = Command::new("openssl")
        .args(["s_client", "-ign_eof", "-verify_return_error", "-CAfile", "ca.pem", "-servername", "localhost"])
        .arg("-connect")
        .arg(server.address.to_string())
        .args(arguments)
        .current_dir(server.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = process.stdin.take().unwrap().write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let done = process.wait_with_output().unwrap();
    [done.stdout, done.stderr].concat().into_iter().map(char::from).collect()
}

#[test]
fn sessions_are_resumed_and_certificates_change_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = certificate(folder.path(), "localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1") else {
        eprintln!("skipped: sessions_are_resumed_and_certificates_change_under_load: OpenSSL is not installed");
        return;
    };
    certificate(folder.path(), "second", "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
    let settings = "reload-seconds = 1\n[serve.authentication]\nrequired = false\n[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"";
    project(folder.path(), settings, RECORDS, "");
    let server = Server::start(folder);
    for version in ["-tls1_2", "-tls1_3"] {
        assert!(spoken(&server, &[version, "-sess_out", "session.pem"]).contains("HTTP/1.1 200"), "{version}");
        let again = spoken(&server, &[version, "-sess_in", "session.pem"]);
        assert!(again.contains("Reused, TLSv1.") && again.contains("HTTP/1.1 200"), "{version}: {again}");
    }
    let over = std::sync::atomic::AtomicBool::new(false);
    let path = |name: &str| server.folder.path().join(name);
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            let mut subjects = std::collections::BTreeSet::new();
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let said = spoken(&server, &[]);
                assert!(said.contains("HTTP/1.1 200") && said.contains("Verify return code: 0 (ok)"), "{said}");
                subjects.extend(said.lines().filter(|line| line.starts_with("subject=")).map(str::to_owned));
            }
            subjects
        });
        // One file after the other, as operators do it; in between they do not go together, and the old pair stays.
        std::fs::copy(path("second.key"), path("localhost.key")).unwrap();
        crate::world::wait_for("the finding", || server.log().contains("certificate and key do not go together"));
        std::fs::copy(path("second.pem"), path("localhost.pem")).unwrap();
        crate::world::wait_for("the new certificate", || spoken(&server, &[]).contains("CN = second"));
        std::fs::write(path("localhost.pem"), "no certificate\n").unwrap();
        crate::world::wait_for("the second finding", || server.log().contains("it holds no certificate in PEM"));
        assert!(spoken(&server, &[]).contains("HTTP/1.1 200"), "a file that is none changes nothing");
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(caller.join().unwrap().len(), 2, "both were shown, and no connection failed");
    });
}

#[test]
fn clients_without_a_certificate_get_no_connection_where_one_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = certificate(folder.path(), "localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1") else {
        eprintln!("skipped: clients_without_a_certificate: OpenSSL is not installed");
        return;
    };
    certificate(folder.path(), "shop", "extendedKeyUsage=clientAuth").unwrap();
    let strangers = tempfile::tempdir().unwrap();
    certificate(strangers.path(), "shop", "extendedKeyUsage=clientAuth").unwrap();
    for kind in ["pem", "key"] {
        let to = folder.path().join(format!("stranger.{kind}"));
        std::fs::copy(strangers.path().join(format!("shop.{kind}")), to).unwrap();
    }
    let settings = "[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"\nclient-authorities = \"ca.pem\"\nrequire-client-certificate = true\nminimum-version = \"1.3\"\n[serve.authentication.certificate-roles]\nshop = [\"clerk\"]";
    project(folder.path(), settings, RECORDS, "roles = [\"clerk\"]");
    let server = Server::start(folder);
    assert!(client(&server, &["-cert", "shop.pem", "-key", "shop.key"]).starts_with("HTTP/1.1 200"));
    assert_eq!(client(&server, &[]), "", "no certificate");
    assert_eq!(client(&server, &["-cert", "stranger.pem", "-key", "stranger.key"]), "", "of another authority");
    assert_eq!(client(&server, &["-tls1_2", "-cert", "shop.pem", "-key", "shop.key"]), "", "below the lowest version");
    crate::world::wait_for("the line of the log", || {
        server.log().contains("(tls-handshake): 1; the last from 127.0.0.1: ")
    });
}

#[test]
fn a_handshake_has_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = certificate(folder.path(), "localhost", "subjectAltName=DNS:localhost") else {
        eprintln!("skipped: a_handshake_has_a_time: OpenSSL is not installed");
        return;
    };
    let settings =
        "[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"\n[serve.limits]\nbody-seconds = 1";
    project(folder.path(), settings, RECORDS, "");
    let server = Server::start(folder);
    let mut silent = server.connect();
    let began = std::time::Instant::now();
    assert!(crate::world::is_closed(&mut silent));
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
}

/// A probe that only connects delayed the stop for all of `drain-seconds`.
#[test]
fn a_stop_waits_for_no_handshake() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "drain-seconds = 60\n[serve.authentication]\nrequired = false\n[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"\n[serve.limits]\nbody-seconds = 60";
    project(folder.path(), settings, RECORDS, "");
    if certificate(folder.path(), "localhost", "subjectAltName=DNS:localhost").is_none() {
        eprintln!("skipped: a_stop_waits_for_no_handshake: OpenSSL is not installed");
        return;
    }
    let mut server = Server::start(folder);
    let _silent = server.connect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let began = std::time::Instant::now();
    server.signal("-TERM");
    assert!(server.process.wait().unwrap().success());
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}
