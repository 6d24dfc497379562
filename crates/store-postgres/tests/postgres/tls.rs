//! Both drivers over TLS: the certificates that each mode accepts, and SCRAM bound to the certificate.

use std::path::Path;
use std::process::Command;

use quayline_postgres::{Answers, Connection, Param, Pipeline, Statement};
use quayline_store::Space;
use quayline_store_postgres::{Endpoint, PostgresEngine};

use crate::{Server, store};

fn openssl(folder: &Path, arguments: &str) -> bool {
    let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
    done.is_ok_and(|done| done.status.success())
}

/// Two authorities, and a certificate of the first for `localhost` whose signature has a digest of 384 bits.
fn certificates(folder: &Path) -> bool {
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    ["authority", "other"].iter().all(|name| {
        openssl(
            folder,
            &format!("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out {name}.crt"),
        )
    }) && openssl(folder, "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr")
        && openssl(
            folder,
            "x509 -req -in server.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -sha384 -extfile names -out server.crt",
        )
}

#[test]
fn tls_checks_what_its_mode_says() {
    const NAME: &str = "tls_checks_what_its_mode_says";
    let Some(server) = Server::start() else {
        eprintln!("skipped: {NAME}: PostgreSQL's server is not installed");
        return;
    };
    server.ready();
    let folder = server.folder.path().to_owned();
    let endpoint = |host: &str, options: &str| {
        let text = format!("postgresql://quay:s3cret%20word@{host}:{}/postgres?{options}", server.port);
        Endpoint::parse(&text).unwrap()
    };
    let authority = format!("sslrootcert={}", folder.join("authority.crt").display());
    let refused = Connection::open(&endpoint("localhost", "sslmode=require")).unwrap_err().to_string();
    assert!(refused.contains("does not offer TLS"), "{refused}");
    if !certificates(&folder) {
        eprintln!("skipped: {NAME}: openssl is not installed");
        return;
    }
    let data = folder.join("data");
    for name in ["server.key", "server.crt"] {
        std::fs::copy(folder.join(name), data.join(name)).unwrap();
        Command::new("chmod").arg("600").arg(data.join(name)).status().unwrap();
        let _ = Command::new("chown").arg("postgres").arg(data.join(name)).status();
    }
    let settings = std::fs::read_to_string(data.join("postgresql.conf")).unwrap();
    std::fs::write(data.join("postgresql.conf"), settings + "\nssl = on\n").unwrap();
    server.restart();
    server.ready();

    let over_tls = |endpoint: &Endpoint| {
        let mut connection = Connection::open(endpoint)?;
        connection.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[])
    };
    let full = endpoint("localhost", &format!("sslmode=verify-full&{authority}"));
    let good = [
        endpoint("127.0.0.1", "sslmode=require"),
        endpoint("127.0.0.1", &format!("sslmode=verify-ca&{authority}")),
        full.clone(),
    ];
    for endpoint in good {
        let answers = over_tls(&endpoint).unwrap();
        assert_eq!(answers.row(0).and_then(|row| row.bool(0)), Some(true), "{endpoint:?}");
        // The driver of the store, with the same settings.
        drop(PostgresEngine::open(endpoint).unwrap());
    }
    let other = format!("sslrootcert={}", folder.join("other.crt").display());
    let bad = [
        endpoint("127.0.0.1", &format!("sslmode=verify-full&{authority}")),
        endpoint("localhost", &format!("sslmode=verify-full&{other}")),
        endpoint("localhost", &format!("sslmode=verify-ca&{other}")),
        endpoint("localhost", &format!("sslmode=require&{other}")),
    ];
    for endpoint in bad {
        let said = over_tls(&endpoint).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains("certificate"), "{endpoint:?}: {said}");
        assert!(PostgresEngine::open(endpoint).is_err());
    }
    let none =
        Endpoint::parse("postgresql://quay@localhost/db?sslmode=verify-full&sslrootcert=").map(|found| found.tls);
    assert!(none.is_err() || none.is_ok_and(|tls| tls.client().is_err()));

    // More in each direction than any buffer holds.
    let mut connection = Connection::open(&full).unwrap();
    let echo = Statement::new("SELECT $1::text || 'x'");
    let text = "y".repeat(200_000);
    let (mut pipeline, mut answers) = (Pipeline::default(), Answers::default());
    for tag in 0..50 {
        pipeline.add(&echo, &[Param::Text(text.as_bytes())], quayline_postgres::Format::Text, tag);
    }
    connection.run(&mut pipeline, &mut answers).unwrap();
    assert_eq!(answers.len(), 50);
    assert!(answers.rows().all(|row| row.get(0).is_some_and(|found| found.len() == text.len() + 1)));

    let store = store(PostgresEngine::open(full).unwrap());
    let mut unit = store.begin().unwrap();
    unit.put(Space(20), b"k", vec![7; 5 << 20]).unwrap();
    unit.commit().unwrap();
    let read = store.begin().unwrap().read(Space(20), b"k").unwrap();
    assert_eq!(read.map(|value| value.len()), Some(5 << 20));
}
