//! Clients of other vendors against the listener: Qpid JMS and rhea. Maven and npm fetch them at pinned versions. A test without them is skipped
//! and says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::server::Server;

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

fn skip(test: &str, why: &str) {
    eprintln!("skipped: {test}: {why}");
}

/// Runs a command that fetches into a folder, once; a file marks that it was done.
fn fetched(folder: &Path, mark: &str, command: &mut Command) -> Result<(), String> {
    let done = folder.join(mark);
    if done.exists() {
        return Ok(());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(folder).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => std::fs::write(done, "").map_err(|error| error.to_string()),
        Ok(_) => Err(format!("{program} cannot fetch the client")),
        Err(_) => Err(format!("{program} is not installed")),
    }
}

/// Returns a folder of this build that keeps fetched files.
fn folder(name: &str, files: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for file in files {
        std::fs::copy(clients().join(file), folder.join(file)).unwrap();
    }
    folder
}

/// The classpath of Qpid JMS, if it can be had.
pub(crate) fn qpid_jms() -> Result<String, String> {
    let folder = folder("qpid-jms-2.8.0", &["pom.xml"]);
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]);
    fetched(&folder, "fetched", &mut maven)?;
    Command::new("java").arg("-version").output().map_err(|_| "java is not installed".to_owned())?;
    Ok(folder.join("lib/*").display().to_string())
}

fn check(output: &Output, parts: &[&str]) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    for part in parts {
        assert!(text.lines().any(|line| line.split(' ').take(2).eq(["ok", part])), "{part} is not in\n{text}");
    }
}

#[test]
fn qpid_jms_sends_receives_browses_and_transacts() {
    let classpath = match qpid_jms() {
        Ok(classpath) => classpath,
        Err(why) => return skip("qpid_jms_sends_receives_browses_and_transacts", &why),
    };
    let server = Server::start();
    let output = Command::new("java")
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", &classpath])
        .arg(clients().join("JmsProbe.java"))
        .arg(format!("amqp://{}", server.listener.address()))
        .output()
        .unwrap();
    let parts = [
        "types",
        "headers",
        "transacted",
        "poison",
        "recover",
        "request_reply",
        "selectors",
        "browser",
        "missing",
        "full",
        "anonymous",
        "expiry",
        "large",
        "many",
    ];
    check(&output, &parts);
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(server.depth("MANY"), 0);
    let facts = server.listener.facts();
    assert!(facts.received > 10_000 && facts.rolled_back >= 4, "{facts:?}");
    server.listener.stop();
    // Temporary queues are gone with their connections.
    let unit = server.store.begin().unwrap();
    let names = server.store.queues(&unit).unwrap();
    assert!(names.iter().all(|name| !name.starts_with("AMQP.")), "{names:?}");
}

#[test]
fn rhea_sends_receives_settles_and_drains() {
    let folder = folder("rhea-3.0.5", &["package.json", "probe.js"]);
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]);
    if let Err(why) = fetched(&folder, "fetched", &mut npm) {
        return skip("rhea_sends_receives_settles_and_drains", &why);
    }
    let server = Server::start();
    let output = Command::new("node")
        .current_dir(&folder)
        .args(["probe.js", &server.listener.address().port().to_string()])
        .output()
        .unwrap();
    check(&output, &["sections", "outcomes", "drain", "dynamic", "refused", "settled", "close"]);
}
