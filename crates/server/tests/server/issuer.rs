//! An issuer of tokens that publishes its keys by URL: rotation, refresh, and failures.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::world::{RECORDS, Server, project, wait_for};

/// An issuer that publishes a settable key set and counts requests.
struct Issuer {
    url: String,
    answer: Arc<Mutex<String>>,
    /// Answer to the next request in place of the keys.
    once: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
    /// Held while answers that have been chosen must wait.
    gate: Arc<Mutex<()>>,
}

impl Issuer {
    fn start(answer: String) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Issuer::on(listener, answer)
    }

    fn on(listener: TcpListener, answer: String) -> Issuer {
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let issuer = Issuer {
            url,
            answer: Arc::new(Mutex::new(answer)),
            once: Arc::default(),
            asked: Arc::default(),
            gate: Arc::default(),
        };
        let (answer, once) = (Arc::clone(&issuer.answer), Arc::clone(&issuer.once));
        let (asked, gate) = (Arc::clone(&issuer.asked), Arc::clone(&issuer.gate));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.push(byte[0]);
                }
                assert!(head.is_empty() || head.starts_with(b"GET /keys HTTP/1.1\r\n"));
                let text = once.lock().unwrap().take().unwrap_or_else(|| answer.lock().unwrap().clone());
                asked.fetch_add(1, Ordering::SeqCst);
                drop(gate.lock());
                // Nothing is said at all where the answer is empty: the connection stays open.
                if text.is_empty() {
                    std::mem::forget(stream);
                    continue;
                }
                let _ = stream.write_all(text.as_bytes());
            }
        });
        issuer
    }

    fn says(&self, answer: String) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Returns the number of requests, after a moment without a new one.
    fn asked_at_last(&self) -> usize {
        loop {
            let before = self.asked();
            std::thread::sleep(Duration::from_millis(300));
            if self.asked() == before {
                return before;
            }
        }
    }

    fn says_once(&self, answer: String) {
        *self.once.lock().unwrap() = Some(answer);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn key() -> Ed25519KeyPair {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap()
}

fn set(keys: &[(&str, &Ed25519KeyPair)]) -> String {
    let one = |(id, pair): &(&str, &Ed25519KeyPair)| {
        let x = quayline_gateway::to_base64url(pair.public_key().as_ref());
        format!(r#"{{"kty":"OKP","crv":"Ed25519","kid":"{id}","use":"sig","x":"{x}"}}"#)
    };
    format!("{{\"keys\":[{}]}}", keys.iter().map(one).collect::<Vec<_>>().join(","))
}

fn answer(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn token(id: &str, pair: &Ed25519KeyPair, subject: &str) -> String {
    let part = |text: String| quayline_gateway::to_base64url(text.as_bytes());
    let claims =
        format!(r#"{{"iss":"https://issuer","aud":"us","sub":"{subject}","exp":4102444800,"roles":["reader"]}}"#);
    let signed = format!("{}.{}", part(format!(r#"{{"alg":"EdDSA","kid":"{id}"}}"#)), part(claims));
    format!("{signed}.{}", quayline_gateway::to_base64url(pair.sign(signed.as_bytes()).as_ref()))
}

fn server(folder: tempfile::TempDir, url: &str, settings: &str) -> (Server, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "[serve.authentication.jwt]\nissuer = \"https://issuer\"\naudience = \"us\"\njwks-url = \"{url}\"\n{settings}\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""
    );
    project(folder.path(), &settings, RECORDS, "roles = [\"reader\"]");
    (Server::start(folder), port)
}

fn status(server: &Server, token: &str) -> u16 {
    server.get("/v1/echo/x", &format!("authorization: Bearer {token}\r\n")).status
}

fn ready(port: u16) -> (u16, String) {
    get(port, "/ready")
}

/// Requests a page of the administrator.
fn get(port: u16, path: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).unwrap();
    let answer = crate::world::read(&mut stream);
    (answer.status, answer.text())
}

#[test]
fn keys_are_read_once_and_new_ones_are_found_by_the_first_token_that_names_them() {
    let (old, new) = (key(), key());
    let issuer = Issuer::start(answer(&set(&[("a", &old)])));
    let (server, port) = server(tempfile::tempdir().unwrap(), &issuer.url, "jwks-soonest-seconds = 0");
    for subject in ["ann", "ben", "cem"] {
        assert_eq!(status(&server, &token("a", &old, subject)), 200, "{}", server.log());
    }
    let before = issuer.asked();
    assert!(before == 1 && ready(port).0 == 200, "{before}");
    // The issuer changes its key. The first token by the new one is let in, without a failed request in between.
    issuer.says(answer(&set(&[("b", &new)])));
    assert_eq!(status(&server, &token("b", &new, "ann")), 200);
    assert_eq!(issuer.asked(), before + 1);
    assert_eq!(status(&server, &token("a", &old, "ann")), 401, "what was believed before is looked at again");
    // What is wrong in other ways asks nobody.
    let before = issuer.asked_at_last();
    assert_eq!((status(&server, "x.y.z"), status(&server, &token("b", &old, "eve"))), (401, 401));
    assert_eq!(issuer.asked_at_last(), before);
}

/// The server reads the keys, and the issuer changes them before its answer arrives.
#[test]
fn a_new_key_is_found_although_an_attempt_from_before_it_was_in_progress() {
    let (old, new) = (key(), key());
    let issuer = Issuer::start(answer(&set(&[("a", &old)])));
    let (server, port) = server(tempfile::tempdir().unwrap(), &issuer.url, "jwks-soonest-seconds = 0");
    assert_eq!(status(&server, &token("a", &old, "ann")), 200);
    let before = issuer.asked();
    let gate = issuer.gate.lock().unwrap();
    std::thread::scope(|scope| {
        let strange = scope.spawn(|| status(&server, &token("z", &new, "eve")));
        wait_for("the attempt", || issuer.asked() == before + 1);
        issuer.says(answer(&set(&[("b", &new)])));
        let early = scope.spawn(|| status(&server, &token("b", &new, "ben")));
        // Time for the second request to arrive.
        std::thread::sleep(Duration::from_millis(300));
        drop(gate);
        assert_eq!((strange.join().unwrap(), early.join().unwrap()), (401, 200));
    });
    assert!((before + 2..=before + 3).contains(&issuer.asked()), "{before} and {}", issuer.asked());
    let (_, metrics) = get(port, "/metrics");
    assert!(metrics.contains("quayline_refused_total 1\n"), "the token that is let in counts as refused: {metrics}");
}

#[test]
fn tokens_with_unknown_keys_do_not_make_us_ask_all_the_time() {
    let (known, strange) = (key(), key());
    let issuer = Issuer::start(answer(&set(&[("a", &known)])));
    let (server, _) = server(tempfile::tempdir().unwrap(), &issuer.url, "jwks-soonest-seconds = 60");
    assert_eq!(status(&server, &token("a", &known, "ann")), 200);
    for i in 0..50 {
        assert_eq!(status(&server, &token(&format!("z{i}"), &strange, "eve")), 401);
    }
    assert_eq!(issuer.asked(), 1);
}

#[test]
fn without_keys_no_token_is_taken_and_with_them_again() {
    let pair = key();
    // A port that nobody listens on yet.
    let place = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = place.local_addr().unwrap();
    drop(place);
    let (server, port) =
        server(tempfile::tempdir().unwrap(), &format!("http://{address}/keys"), "jwks-soonest-seconds = 0");
    let good = token("a", &pair, "ann");
    let refused = server.get("/v1/echo/x", &format!("authorization: Bearer {good}\r\n"));
    assert!(refused.status == 503 && refused.text().contains("GTW-115"), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    let (code, text) = ready(port);
    assert!(code == 503 && text.contains("authentication") && text.contains("the issuer's keys"), "{text}");
    assert_eq!(server.get("/v1/echo/x", "").status, 401, "who shows nothing is told to");
    server.has_logged("the issuer's keys cannot be read");
    server.has_logged("the server accepts no token");
    let issuer = Issuer::on(TcpListener::bind(address).unwrap(), answer(&set(&[("a", &pair)])));
    wait_for("the keys", || status(&server, &good) == 200);
    assert!(issuer.asked() >= 1 && ready(port).0 == 200);
    server.has_logged("can be read again");
}

#[test]
fn old_keys_stay_in_force_for_as_long_as_is_said_and_then_no_longer() {
    let pair = key();
    let issuer = Issuer::start(answer(&set(&[("a", &pair)])));
    let settings = "jwks-refresh-seconds = 1\njwks-keep-seconds = 4\njwks-time-limit-ms = 300";
    let (server, port) = server(tempfile::tempdir().unwrap(), &issuer.url, settings);
    let good = token("a", &pair, "ann");
    assert_eq!(status(&server, &good), 200);
    let long = format!("{{\"keys\":[\"{}\"]}}", "x".repeat(300 << 10));
    let began = Instant::now();
    for (bad, why) in [
        ("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n".to_owned(), "it answered 500"),
        ("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned(), "redirections"),
        (answer(&long), "longer than 262144 bytes"),
        (answer("{}"), "it has no list `keys`"),
        (String::new(), "no answer within 300 ms"),
    ] {
        issuer.says(bad);
        wait_for(why, || server.log().contains(why));
        if began.elapsed() < Duration::from_secs(3) {
            assert_eq!(status(&server, &good), 200, "{why}");
        }
    }
    wait_for("no keys", || status(&server, &good) == 503);
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(ready(port).0, 503);
    issuer.says(answer(&set(&[("a", &pair)])));
    wait_for("the keys again", || status(&server, &good) == 200);
}

/// OpenSSL's server in front of a file with keys; ends with the test.
struct Secured(std::process::Child);

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn secured(folder: &Path, name: &str) -> (Secured, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let process = std::process::Command::new("openssl")
        .args(["s_server", "-WWW", "-quiet", "-accept", &format!("127.0.0.1:{port}")])
        .args(["-cert", &format!("{name}.pem"), "-key", &format!("{name}.key")])
        .current_dir(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let secured = Secured(process);
    wait_for("the issuer", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    (secured, port)
}

#[test]
fn an_issuer_must_be_who_its_certificate_says() {
    let pair = key();
    let pki = tempfile::tempdir().unwrap();
    let Some(()) = crate::tls::certificate(pki.path(), "good", "subjectAltName=DNS:localhost") else {
        eprintln!("skipped: an_issuer_must_be_who_its_certificate_says: OpenSSL is not installed");
        return;
    };
    crate::tls::certificate(pki.path(), "other", "subjectAltName=DNS:other.example").unwrap();
    let strangers = tempfile::tempdir().unwrap();
    crate::tls::certificate(strangers.path(), "good", "subjectAltName=DNS:localhost").unwrap();
    std::fs::write(pki.path().join("keys"), set(&[("a", &pair)])).unwrap();
    for (name, authorities, fits) in [
        ("good", pki.path().join("ca.pem"), true),
        ("other", pki.path().join("ca.pem"), false),
        ("good", strangers.path().join("ca.pem"), false),
    ] {
        let (_issuer, port) = secured(pki.path(), name);
        let settings = format!("jwks-authorities = \"{}\"", authorities.display());
        let url = format!("https://localhost:{port}/keys");
        let (server, _) = server(tempfile::tempdir().unwrap(), &url, &settings);
        let found = status(&server, &token("a", &pair, "ann"));
        let expected = if fits { 200 } else { 503 };
        assert_eq!(found, expected, "{name} by {}: {}", authorities.display(), server.log());
        if !fits {
            server.has_logged("invalid peer certificate");
        }
    }
}

/// An issuer that answered with an empty set could not withdraw its keys: the old ones stayed valid for a day.
#[test]
fn an_issuer_may_withdraw_all_its_keys() {
    let pair = key();
    let issuer = Issuer::start(answer(&set(&[("a", &pair)])));
    let settings = "jwks-refresh-seconds = 1\njwks-soonest-seconds = 60";
    let (server, port) = server(tempfile::tempdir().unwrap(), &issuer.url, settings);
    let good = token("a", &pair, "ann");
    assert_eq!(status(&server, &good), 200, "{}", server.log());
    for empty in ["{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}"] {
        issuer.says(answer(empty));
        wait_for("no keys", || status(&server, &good) == 401);
        let (code, text) = ready(port);
        assert!(code == 503 && text.contains("no key of a supported kind"), "{text}");
        issuer.says(answer(&set(&[("a", &pair)])));
        wait_for("the keys", || status(&server, &good) == 200);
    }
    server.has_logged("the issuer's set has no key of a supported kind");
}

/// After one answer without keys, for example from an issuer that restarts, the server refused every token for five minutes.
#[test]
fn one_empty_set_withdraws_nothing_and_the_next_look_comes_soon() {
    let (pair, strange) = (key(), key());
    let issuer = Issuer::start(answer(&set(&[("a", &pair)])));
    let settings = "jwks-refresh-seconds = 300\njwks-soonest-seconds = 0";
    let (server, port) = server(tempfile::tempdir().unwrap(), &issuer.url, settings);
    let good = token("a", &pair, "ann");
    assert_eq!(status(&server, &good), 200, "{}", server.log());
    let before = issuer.asked_at_last();
    // A token that names another key causes a request for the keys.
    issuer.says_once(answer("{\"keys\":[]}"));
    assert_eq!(status(&server, &token("z", &strange, "eve")), 401);
    server.has_logged("the earlier keys stay in force until the next set");
    assert_eq!((status(&server, &good), ready(port).0), (200, 200));
    let began = Instant::now();
    wait_for("another look", || issuer.asked() > before + 1);
    wait_for("the line", || server.log().contains("the issuer's keys can be read again"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((status(&server, &good), ready(port).0), (200, 200));
    // The next request withdraws the keys, and a later one restores them. No token causes these requests.
    issuer.says(answer("{\"keys\":[]}"));
    assert_eq!(status(&server, &token("z", &strange, "eve")), 401);
    wait_for("no keys", || ready(port).0 == 503);
    issuer.says(answer(&set(&[("a", &pair)])));
    wait_for("the keys", || ready(port).0 == 200);
    assert_eq!(status(&server, &good), 200);
}

/// RFC 6750, section 3.1: the response reports an invalid token. The client can then request another one.
#[test]
fn a_refused_token_is_named_in_the_challenge() {
    let (pair, other) = (key(), key());
    let issuer = Issuer::start(answer(&set(&[("a", &pair)])));
    let (server, _) = server(tempfile::tempdir().unwrap(), &issuer.url, "");
    let challenge = |headers: &str| {
        let refused = server.get("/v1/echo/x", headers);
        (refused.status, refused.header("www-authenticate").unwrap_or("").to_owned())
    };
    assert_eq!(challenge(""), (401, "Bearer".to_owned()));
    for bad in ["x.y.z".to_owned(), token("a", &other, "eve"), token("z", &other, "eve")] {
        let expected = (401, "Bearer error=\"invalid_token\"".to_owned());
        assert_eq!(challenge(&format!("authorization: Bearer {bad}\r\n")), expected);
    }
    // The API key is invalid, not a token.
    assert_eq!(challenge("x-api-key: none\r\n"), (401, "Bearer".to_owned()));
}
