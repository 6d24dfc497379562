//! A PostgreSQL server of the test's own as provider.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::world::{Server, wait_for};

/// A database server that ends with the test.
struct Postgres {
    folder: tempfile::TempDir,
    process: Child,
    binaries: PathBuf,
    port: u16,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Fast shutdown; killed where that takes too long.
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        for _ in 0..100 {
            if matches!(self.process.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the folder in which Debian and others install the programs of the server.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.extend([PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]);
    folders.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// The command as a user that PostgreSQL accepts: it refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0");
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

impl Postgres {
    fn start() -> Option<Postgres> {
        Postgres::start_with(&[], |_| {})
    }

    /// Starts a server with settings. `prepare` gets the data folder before the start.
    fn start_with(settings: &[&str], prepare: impl FnOnce(&Path)) -> Option<Postgres> {
        let binaries = binaries()?;
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        // The other user must reach it.
        Command::new("chmod").arg("755").arg(folder.path()).status().unwrap();
        std::fs::create_dir(&data).unwrap();
        if Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0") {
            let owned = Command::new("chown").arg("postgres").arg(&data).stderr(Stdio::null()).status();
            if !owned.is_ok_and(|status| status.success()) {
                return None;
            }
        }
        std::fs::write(folder.path().join("password"), "s3cret word\n").unwrap();
        let done = unprivileged(&binaries.join("initdb"))
            .args(["-U", "quay", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--pwfile"])
            .arg(folder.path().join("password"))
            .arg(&data)
            .current_dir(folder.path())
            .output()
            .ok()?;
        if !done.status.success() {
            eprintln!("initdb: {}", String::from_utf8(done.stderr).unwrap_or_default());
            return None;
        }
        prepare(&data);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = unprivileged(&binaries.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
            .args(["-c", "fsync=off"])
            .args(settings.iter().flat_map(|setting| ["-c", *setting]))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .ok()?;
        let postgres = Postgres { folder, process, binaries, port };
        wait_for("the database", || postgres.sql("SELECT 1"));
        Some(postgres)
    }

    fn sql(&self, text: &str) -> bool {
        let done = Command::new(self.binaries.join("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "quay", "-d", "postgres", "-q"])
            .args(["-v", "ON_ERROR_STOP=1", "-c", text])
            .env("PGPASSWORD", "s3cret word")
            .output();
        done.is_ok_and(|done| done.status.success())
    }
}

const COPYBOOK: &str = "
       01 STOCK-AREA.
          05 ASK-MODEL   PIC X(8).
          05 ASK-LEAST   PIC 9(5)V99.
          05 FOUND       PIC 9(3).
          05 CAR OCCURS 1 TO 3 TIMES DEPENDING ON FOUND.
             10 REF      PIC X(6).
             10 PRICE    PIC S9(7)V99 COMP-3.
             10 BUILT    PIC X(10).
             10 NOTE     PIC X(12).
";

fn project(folder: &Path, postgres: &Postgres, query: &str, more: &str) {
    for sub in ["services", "apis", "copybooks"] {
        std::fs::create_dir_all(folder.join(sub)).unwrap();
    }
    std::fs::write(folder.join("copybooks/stock.cpy"), COPYBOOK).unwrap();
    std::fs::copy(postgres.folder.path().join("password"), folder.join("password")).unwrap();
    let service = format!(
        "copybook = \"stock.cpy\"\nencoding = \"latin1\"\n[provider]\nkind = \"sql\"\nport = {}\ndatabase = \"postgres\"\nuser = \"quay\"\npassword-file = \"password\"\nquery = '''{query}'''\nparameters = [\"ASK-MODEL\", \"ASK-LEAST\"]\nrows = \"CAR\"\n{more}\n[request]\nkey-style = \"camel\"\nexclude = [\"FOUND\", \"CAR\"]\n[response]\nkey-style = \"camel\"\nexclude = [\"ASK-MODEL\", \"ASK-LEAST\"]\n",
        postgres.port
    );
    std::fs::write(folder.join("services/stock.toml"), service).unwrap();
    std::fs::write(
        folder.join("apis/stock.toml"),
        "base-path = \"/v1\"\n[[operation]]\nid = \"stock\"\nmethod = \"GET\"\npath = \"/stock/{model}\"\nservice = \"stock\"\n[[operation.parameter]]\nname = \"model\"\nin = \"path\"\nfield = \"ASK-MODEL\"\n[[operation.parameter]]\nname = \"least\"\nin = \"query\"\nfield = \"ASK-LEAST\"\ndefault = 0\n[[operation.response]]\nstatus = 404\nwhen = [{ field = \"FOUND\", equals = 0 }]\nbody = \"problem\"\ndetail = \"there is none\"\n[[operation.response]]\nstatus = 200\n",
    )
    .unwrap();
    std::fs::write(
        folder.join("quayline.toml"),
        "[serve]\nlisten = \"127.0.0.1:0\"\nthreads = 1\n[serve.authentication]\nrequired = false\n",
    )
    .unwrap();
}

#[test]
fn a_database_answers_rows_as_records() {
    let Some(mut postgres) = Postgres::start() else {
        eprintln!("skipped: a_database_answers_rows_as_records: PostgreSQL's server is not installed");
        return;
    };
    assert!(postgres.sql(
        "CREATE TABLE cars (ref text, model text, price numeric, built date, note text);
         INSERT INTO cars VALUES ('C1', 'VECTOR', 12.50, '2024-02-29', NULL), ('C2', 'VECTOR', -700, '2025-01-01', 'Gr\u{f6}\u{df}e \"L\"'),
           ('B1', 'BIG', 99999999, NULL, ''), ('M1', 'MANY', 1, NULL, ''), ('M2', 'MANY', 2, NULL, ''), ('M3', 'MANY', 3, NULL, ''),
           ('M4', 'MANY', 4, NULL, '');"
    ));
    let query =
        "SELECT ref, price, built, note FROM cars WHERE model = $1 AND price >= $2::numeric - 1000 ORDER BY ref DESC;";
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), &postgres, query, "time-limit-ms = 1000\nconnections = 1");
    let server = Server::start(folder);
    for _ in 0..3 {
        let answer = server.get("/v1/stock/VECTOR", "");
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (
                200,
                r#"{"found":2,"car":[{"ref":"C2","price":-700.00,"built":"2025-01-01","note":"Größe \"L\""},{"ref":"C1","price":12.50,"built":"2024-02-29","note":""}]}"#
            )
        );
    }
    assert_eq!(server.get("/v1/stock/VECTOR?least=1012.5", "").text().matches("ref").count(), 1, "a parameter counts");
    assert_eq!(server.get("/v1/stock/NONE", "").status, 404);
    let injected = server.get("/v1/stock/x'%20OR%201=1", "");
    assert!(injected.status == 404 || injected.status == 400, "{}", injected.text());
    for unfit in ["BIG", "MANY"] {
        let answer = server.get(&format!("/v1/stock/{unfit}"), "");
        assert_eq!(answer.status, 502, "{}", answer.text());
        assert!(
            !answer.text().contains("99999999") && !answer.text().to_lowercase().contains("price"),
            "{}",
            answer.text()
        );
    }
    // The database stops, and comes back: so does the service.
    let data = postgres.folder.path().join("data");
    let _ = Command::new("kill").args(["-INT", &postgres.process.id().to_string()]).status();
    let _ = postgres.process.wait();
    let gone = server.get("/v1/stock/VECTOR", "");
    assert!(gone.status == 503 && !gone.text().contains("s3cret"), "{}", gone.text());
    postgres.process = unprivileged(&postgres.binaries.join("postgres"))
        .arg("-D")
        .arg(&data)
        .args(["-p", &postgres.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
        .current_dir(postgres.folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the service", || server.get("/v1/stock/VECTOR", "").status == 200);
    assert!(!server.log().contains("s3cret"), "{}", server.log());
}

#[test]
fn a_statement_has_a_time_limit_and_waits_for_a_place() {
    let Some(postgres) = Postgres::start() else {
        eprintln!("skipped: a_statement_has_a_time_limit_and_waits_for_a_place: PostgreSQL's server is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let query = "SELECT $1::text AS ref FROM (SELECT pg_sleep(CASE WHEN $1 = 'SLOW' THEN 60 ELSE 0 END)) AS s WHERE $2::numeric >= 0";
    project(folder.path(), &postgres, query, "time-limit-ms = 900\nwait-limit-ms = 200\nconnections = 1");
    let server = Server::start(folder);
    assert_eq!(server.get("/v1/stock/FAST", "").status, 200);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.get("/v1/stock/SLOW", ""));
        std::thread::sleep(std::time::Duration::from_millis(200));
        let busy = server.get("/v1/stock/FAST", "");
        assert!(busy.status == 503 && busy.header("retry-after").is_some(), "{}", busy.text());
        let slow = slow.join().unwrap();
        assert!(slow.status == 504 && slow.text().contains("GTW-122"), "{}", slow.text());
    });
    assert_eq!(server.get("/v1/stock/FAST", "").status, 200, "the connection is as good as before");
}

/// After a cut connection, the response said that the database was unavailable, so a client repeated a statement that the database had performed.
#[test]
fn a_statement_whose_connection_ends_may_have_been_performed() {
    let Some(postgres) = Postgres::start() else {
        eprintln!(
            "skipped: a_statement_whose_connection_ends_may_have_been_performed: PostgreSQL's server is not installed"
        );
        return;
    };
    assert!(postgres.sql("CREATE TABLE calls (ref text, least text);"));
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()";
    for (query, status, code) in [
        ("INSERT INTO calls SELECT $1, $2 FROM pg_sleep(20) RETURNING ref", 504, "GTW-134"),
        // A join that takes long, and only reads.
        (
            "SELECT max(a.oid::text || b.oid::text || c.oid::text || $1 || $2) AS ref FROM pg_proc AS a CROSS JOIN pg_proc AS b CROSS JOIN pg_proc AS c",
            503,
            "GTW-124",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        project(folder.path(), &postgres, query, "time-limit-ms = 20000");
        let server = Server::start(folder);
        let answer = std::thread::scope(|scope| {
            let answer = scope.spawn(|| server.get("/v1/stock/X", ""));
            let running = "DO $$ BEGIN IF (SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'WITH answer%') = 0 \
                           THEN RAISE EXCEPTION 'none'; END IF; END $$;";
            wait_for("the statement", || postgres.sql(running));
            assert!(postgres.sql(end));
            answer.join().unwrap()
        });
        assert!(answer.status == status && answer.text().contains(code), "{query}: {}", answer.text());
        assert_eq!(answer.header("retry-after").is_some(), status == 503, "{query}");
    }
}

/// An empty text of a type that the library does not know was NULL.
#[test]
fn an_empty_text_is_no_null_for_domains_over_text() {
    let Some(postgres) = Postgres::start() else {
        eprintln!("skipped: an_empty_text_is_no_null_for_domains_over_text: PostgreSQL's server is not installed");
        return;
    };
    assert!(
        postgres
            .sql("CREATE DOMAIN label AS varchar(20); CREATE DOMAIN code AS label; CREATE DOMAIN amount AS numeric;")
    );
    let has_citext = postgres.sql("CREATE EXTENSION citext;");
    let kinds = [("label", "false"), ("code", "false"), ("amount", "true"), ("citext", "false")];
    for (kind, is_null) in kinds.into_iter().filter(|(kind, _)| *kind != "citext" || has_citext) {
        let folder = tempfile::tempdir().unwrap();
        project(
            folder.path(),
            &postgres,
            &format!("SELECT ($1::{kind} IS NULL)::text AS ref WHERE $2::numeric >= 0"),
            "",
        );
        let server = Server::start(folder);
        let answer = server.get("/v1/stock/%20", "").text();
        assert!(answer.contains(&format!("\"ref\":\"{is_null}\"")), "{kind}: {answer}");
    }
}

/// Each request that its client abandoned left its statement running, and the next one opened a connection more.
#[test]
fn abandoned_requests_keep_their_places() {
    let Some(postgres) = Postgres::start() else {
        eprintln!("skipped: abandoned_requests_keep_their_places: PostgreSQL's server is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let query = "SELECT $1::text AS ref FROM (SELECT pg_sleep(CASE WHEN $1 = 'SLOW' THEN 60 ELSE 0 END)) AS s WHERE $2::numeric >= 0";
    project(folder.path(), &postgres, query, "time-limit-ms = 3000\nwait-limit-ms = 100\nconnections = 1");
    let server = Server::start(folder);
    assert_eq!(server.get("/v1/stock/FAST", "").status, 200);
    for _ in 0..12 {
        let mut client = std::net::TcpStream::connect(server.address).unwrap();
        client.write_all(b"GET /v1/stock/SLOW HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // The project has one thread with one connection.
    let threads = 1;
    let running = "DO $$ BEGIN IF (SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' AND \
                   pid <> pg_backend_pid()) > ";
    assert!(postgres.sql(&format!("{running}{threads} THEN RAISE EXCEPTION 'more'; END IF; END $$;")));
    wait_for("the places", || server.get("/v1/stock/FAST", "").status == 200);
}

/// A server that speaks TLS, and only TLS, with a certificate of an authority of ours for `names`.
fn secured(pki: &Path, name: &str, names: &str) -> Option<Postgres> {
    crate::tls::certificate(pki, name, &format!("subjectAltName={names}"))?;
    let (certificate, key) = (pki.join(format!("{name}.pem")), pki.join(format!("{name}.key")));
    Postgres::start_with(&["ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key"], |data| {
        for (from, to) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = data.join(to);
            std::fs::copy(from, &to).unwrap();
            // The database looks at a key's owner and rights.
            Command::new("chown").args(["--reference"]).arg(data).arg(&to).status().unwrap();
            Command::new("chmod").arg("600").arg(&to).status().unwrap();
        }
        std::fs::write(data.join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n").unwrap();
    })
}

#[test]
fn a_database_is_spoken_to_by_tls_or_not_at_all() {
    let pki = tempfile::tempdir().unwrap();
    Command::new("chmod").arg("755").arg(pki.path()).status().unwrap();
    let Some(postgres) = secured(pki.path(), "database", "DNS:localhost,IP:127.0.0.1") else {
        eprintln!(
            "skipped: a_database_is_spoken_to_by_tls_or_not_at_all: PostgreSQL's server or OpenSSL is not installed"
        );
        return;
    };
    let strangers = tempfile::tempdir().unwrap();
    crate::tls::certificate(strangers.path(), "database", "subjectAltName=IP:127.0.0.1").unwrap();
    let query = "SELECT version AS ref, $1::text AS note FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl AND $2::numeric >= 0";
    let ask = |postgres: &Postgres, more: &str| {
        let folder = tempfile::tempdir().unwrap();
        project(folder.path(), postgres, &query.replace("version AS", "right(version, 6) AS"), more);
        let server = Server::start(folder);
        let answer = server.get("/v1/stock/VECTOR", "");
        if answer.status == 503 {
            server.has_logged("GTW-");
        }
        assert!(!server.log().contains("s3cret"), "{}", server.log());
        (answer.status, answer.text(), server.log())
    };
    let by = |folder: &Path| format!("authorities = \"{}\"", folder.join("ca.pem").display());
    let (status, text, log) = ask(&postgres, &by(pki.path()));
    assert!(status == 200 && text.contains("\"ref\":\"LSv1.3\""), "{text}{log}");
    let (status, text, log) = ask(&postgres, &format!("{}\nhost = \"localhost\"", by(pki.path())));
    assert!(status == 200, "by name: {text}{log}");
    // Another authority than the one that signed the certificate.
    let (status, text, log) = ask(&postgres, &by(strangers.path()));
    assert!(status == 503 && text.contains("GTW-124") && log.contains("invalid peer certificate"), "{text}{log}");
    // Without TLS, which this database refuses: nothing falls back to anything.
    let (status, _, log) = ask(&postgres, "");
    assert!(status == 503 && log.contains("no encryption"), "{log}");
    drop(postgres);
    // A certificate for another name.
    let postgres = secured(pki.path(), "elsewhere", "DNS:db.example").unwrap();
    let (status, _, log) = ask(&postgres, &by(pki.path()));
    assert!(status == 503 && log.contains("invalid peer certificate"), "{log}");
    drop(postgres);
    // A database that has no TLS, where the service wants it: the password does not go to it.
    let postgres = Postgres::start().unwrap();
    let (status, _, log) = ask(&postgres, &by(pki.path()));
    assert!(status == 503 && log.contains("server does not support TLS"), "{log}");
    assert!(ask(&postgres, "").0 == 404, "it answers without TLS, and says that there is none");
}
