//! The job XMLs, artifacts and JUnit classes of the Jakarta Batch TCK, unmodified, drive this engine from a Java process.
//!
//! Maven fetches the TCK (Apache-2.0) at test time. Without Maven, a JDK or the network the test is skipped and reports the reason.
//! `QUAYLINE_TCK=all` runs every class; the default is some quick ones. This shows the coverage of the specification; it is not a
//! claim of certified compatibility, which needs the official package and a Java API.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use quayline_batch::artifact::Registry;
use quayline_batch::record::{ExecutionId, InstanceId};
use quayline_batch::{BatchError, Drift, Engine, Repository, StartError, Work};
use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};
use quayline_project::job::{JobFile, Parameters};

use crate::around::{Around, AroundBackend};
use crate::java::{PORT, Parts, Wire, pairs, register, step_parts, text, transaction};
use crate::kit::{backend, medium};

/// Classes of the suite that need CDI or are about Java alone.
const JAVA_ONLY: &[&str] = &["CDITests", "InjectImplProvidedJobOperatorTests"];
/// Classes that take no more than some seconds together, run by default.
const QUICK: &str = ".*\\.(Metrics|PropertySubstitution|RetryListener|SplitTransitioning|FlowTransitioning|ContextsGetId|BatchletRestartStateMachine|ParallelExecution|Transaction)Tests";
/// Tests that do not pass, with the reason.
const KNOWN: &[(&str, &str)] = &[(
    "CDIDependentScopedBatchletPropsNonString",
    "refers to a CDI bean by the name in an annotation; there is no CDI here",
)];

/// Tables of the suite's database tests. The suite's script for PostgreSQL leaves the number of an order without a default, which its artifacts need.
const TABLES: &str = "CREATE SCHEMA app; CREATE TABLE app.numbers (item int, quantity int); \
    CREATE TABLE app.orders (orderid serial PRIMARY KEY, itemid int, quantity int); \
    CREATE TABLE app.inventory (itemid int NOT NULL PRIMARY KEY, quantity int NOT NULL); INSERT INTO app.inventory VALUES (1, 100); \
    INSERT INTO app.numbers SELECT n, 10 FROM generate_series(1, 20) n";

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>quayline</groupId><artifactId>tck</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>jakarta.batch</groupId><artifactId>com.ibm.jbatch.tck</artifactId><version>2.1.1</version></dependency>
    <dependency><groupId>jakarta.batch</groupId><artifactId>com.ibm.jbatch.tck.spi</artifactId><version>2.1.1</version></dependency>
    <dependency><groupId>jakarta.batch</groupId><artifactId>jakarta.batch-api</artifactId><version>2.1.1</version></dependency>
    <dependency><groupId>jakarta.inject</groupId><artifactId>jakarta.inject-api</artifactId><version>2.0.1</version></dependency>
    <dependency><groupId>jakarta.enterprise</groupId><artifactId>jakarta.enterprise.cdi-api</artifactId><version>4.0.1</version></dependency>
    <dependency><groupId>org.postgresql</groupId><artifactId>postgresql</artifactId><version>42.7.14</version></dependency>
    <dependency><groupId>org.junit.platform</groupId><artifactId>junit-platform-console-standalone</artifactId><version>1.9.3</version></dependency>
  </dependencies>
</project>
"#;

/// Returns the class path of the TCK, or the reason why it is missing.
fn class_path(folder: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::write(folder.join("pom.xml"), POM).map_err(|error| error.to_string())?;
    let run = |program: &str, arguments: &[&str]| -> Result<(), String> {
        let done = Command::new(program).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
        match done {
            Err(error) => Err(format!("{program}: {error}")),
            Ok(output) if output.status.success() => Ok(()),
            Ok(_) => Err(format!("{program} {} failed", arguments.join(" "))),
        }
    };
    run("java", &["-version"])?;
    run("mvn", &["-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=cp.txt"])?;
    let found = std::fs::read_to_string(folder.join("cp.txt")).map_err(|error| error.to_string())?;
    // The console has JUnit in it; the engine that the TCK names is an older one.
    let is_older = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        (name.starts_with("junit-") && !name.contains("console"))
            || name.starts_with("opentest4j")
            || name.starts_with("apiguardian")
    };
    let paths: Vec<&str> = found.trim().split(':').filter(|path| !is_older(path)).collect();
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tck/Host.java");
    run("javac", &["-d", "classes", "-cp", &paths.join(":"), &host.display().to_string()])?;
    let services = folder.join("classes/META-INF/services");
    std::fs::create_dir_all(&services).map_err(|error| error.to_string())?;
    std::fs::write(services.join("jakarta.batch.operations.JobOperator"), "Host\n")
        .map_err(|error| error.to_string())?;
    let mut all = vec![folder.join("classes")];
    all.extend(paths.iter().map(PathBuf::from));
    Ok(all)
}

/// The database of the suite commits with the repository.
struct JointCommit;

impl Around for JointCommit {
    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        transaction("commit").map_err(|_| BatchError::Damaged { what: "the database of the suite" })?;
        work.commit()
    }

    fn dropped(&self) {
        // A thread that ends may have lost the host.
        let _ = transaction("rollback");
    }

    fn marked(&self) {
        let _ = transaction("mark");
    }

    fn went_back(&self) {
        let _ = transaction("restore");
    }
}

fn unpack(jar: &Path, folder: &Path) {
    let done = Command::new("jar").arg("xf").arg(jar).arg("META-INF").current_dir(folder).status();
    assert!(done.is_ok_and(|status| status.success()), "the JDK has jar");
}

#[test]
fn the_tck_of_jakarta_batch_runs_against_this_engine() {
    let folder = tempfile::tempdir().unwrap();
    let paths = match class_path(folder.path()) {
        Ok(paths) => paths,
        Err(why) => {
            println!("skipped: the_tck_of_jakarta_batch_runs_against_this_engine: {why}");
            return;
        }
    };
    let jar = paths.iter().find(|path| path.display().to_string().ends_with("com.ibm.jbatch.tck-2.1.1.jar")).unwrap();
    unpack(jar, folder.path());
    every_job_xml_parses(&folder.path().join("META-INF/batch-jobs"));
    let artifacts = std::fs::read_to_string(folder.path().join("META-INF/batch.xml")).unwrap();
    let mut names: Vec<String> =
        artifacts.split("<ref id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    names.extend(artifacts.split("class=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
    let mut registry = Registry::default();
    register(&mut registry, &names);
    // Database changes of artifacts commit with the unit of work of the chunk.
    let joint = AroundBackend { inner: backend(&medium()), around: Arc::new(JointCommit) };
    let mut engine = Engine::new(Arc::new(Repository::new(Arc::new(joint))), registry, PathBuf::new());
    engine.system = Box::new(|name| SYSTEM.lock().get(name).cloned());
    // Executions run on threads that outlive the test.
    let engine: &'static Engine = Box::leak(Box::new(engine));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || operate(&listener, engine));

    let server = match OwnServer::start(&folder.path().join("server"), Durable::No) {
        Ok(server) => Some(server),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped in part: the_tck_of_jakarta_batch_runs_against_this_engine: PostgreSQL is not installed");
            None
        }
        Err(error) => panic!("the server does not start: {error}"),
    };
    let all = std::env::var("QUAYLINE_TCK").is_ok_and(|value| value == "all");
    let separator = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":");
    let mut command = Command::new("java");
    command.arg(format!("-Dquayline.port={port}")).arg("-Xmx256m").arg("-Djava.naming.factory.initial=Host$Names");
    if let Some(server) = &server {
        let endpoint = server.endpoint();
        let (host, port, user) = (&endpoint.host, endpoint.port, &endpoint.user);
        command.arg(format!("-Dquayline.database=jdbc:postgresql://{host}:{port}/{}?user={user}", endpoint.database));
        if !all {
            // The suite lets vendors choose the sleep times of its artifacts.
            let mix = "TransactionTests.testGlobalTranLongDelayMixOfLongTimeoutStepsAndShortTimeoutSteps";
            command.args([format!("-D{mix}.sleep=500"), format!("-D{mix}CustomCheckpointAlgorithm.sleep=500")]);
        }
    }
    command.args(["-cp", &separator, "org.junit.platform.console.ConsoleLauncher", "--disable-banner"]);
    if let Some(server) = &server {
        let endpoint = server.endpoint();
        Connection::open(&endpoint).unwrap().script(TABLES).unwrap();
        command.args(["--select-package", "com.ibm.jbatch.tck.tests.ee"]);
    }
    command.args([
        "--select-package",
        "com.ibm.jbatch.tck.tests.jslxml",
        "--include-classname",
        if all { ".*Tests" } else { QUICK },
    ]);
    command.args(["--details", "tree", "--details-theme", "ascii", "--disable-ansi-colors"]);
    for class in JAVA_ONLY {
        command.args(["--exclude-classname", &format!(".*\\.{class}")]);
    }
    let output = command.stdin(Stdio::null()).current_dir(folder.path()).output().unwrap();
    let report = text(&output.stdout);
    let count = |what: &str| -> usize {
        let line = report.lines().find(|line| line.contains(&format!("tests {what}"))).unwrap_or("[ 0");
        line.trim_start_matches(['[', ' ']).split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let (found, good, bad, skipped) = (count("found"), count("successful"), count("failed"), count("skipped"));
    println!("TCK: {found} tests, {good} passed, {bad} failed, {skipped} switched off by the TCK");
    let failures: Vec<&str> = report
        .lines()
        .filter(|line| line.contains("[X]"))
        .filter(|line| !KNOWN.iter().any(|(name, _)| line.contains(name)))
        .collect();
    if let Ok(path) = std::env::var("QUAYLINE_TCK_REPORT") {
        std::fs::write(path, format!("{report}\n{}", text(&output.stderr))).unwrap();
    }
    assert!(
        failures.is_empty() && bad <= KNOWN.len() && good >= if all && server.is_some() { ALL_PASS } else { SOME_PASS },
        "{good} passed\n{}\n{}",
        failures.join("\n"),
        text(&output.stderr)
    );
}

/// Tests that pass at least: of the suite with its tests of transactions, and of the classes that take seconds.
const ALL_PASS: usize = 155;
const SOME_PASS: usize = 30;

fn every_job_xml_parses(folder: &Path) {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // A comment without a job, which no test of the TCK uses.
        if path.file_name().is_some_and(|name| name == "chunkSkipOnErrorCallTest.xml") {
            continue;
        }
        let parsed = JobFile::open(&path);
        assert!(parsed.is_ok(), "{}", parsed.unwrap_err());
        count += 1;
    }
    assert_eq!(count, 115);
}

/// System properties of the Java process.
static SYSTEM: Mutex<Parameters> = Mutex::new(Parameters::new());

/// Answers the `JobOperator` of the Java process.
fn operate(listener: &TcpListener, engine: &'static Engine) {
    let Ok((stream, _)) = listener.accept() else { return };
    let mut wire = Wire::new(stream).unwrap();
    while let Ok(request) = wire.receive() {
        let answer = match answer(engine, &request) {
            Ok(mut parts) => {
                parts.insert(0, b"ok".to_vec());
                parts
            }
            Err((class, message)) => vec![b"error".to_vec(), class.as_bytes().to_vec(), message.into_bytes()],
        };
        if wire.send(&answer).is_err() {
            return;
        }
    }
}

type Refused = (&'static str, String);

fn refused(error: BatchError) -> Refused {
    let message = error.to_string();
    let class = match &error {
        BatchError::NoSuchExecution(_) => "NoSuchJobExecutionException",
        BatchError::NotRestartable { why, .. } if why.contains("most recent") => "JobExecutionNotMostRecentException",
        BatchError::NotRestartable { why, .. } if why.contains("COMPLETED") => "JobExecutionAlreadyCompleteException",
        BatchError::NotRestartable { .. } => "JobRestartException",
        BatchError::IsRunning { .. } => "JobExecutionIsRunningException",
        BatchError::NotRunning { .. } => "JobExecutionNotRunningException",
        _ => "BatchRuntimeException",
    };
    (class, message)
}

fn parameters(parts: &[Vec<u8>]) -> Parameters {
    parts.as_chunks::<2>().0.iter().map(|[name, value]| (text(name), text(value))).collect()
}

fn answer(engine: &'static Engine, request: &[Vec<u8>]) -> Result<Parts, Refused> {
    let repository = &engine.repository;
    let argument = |at: usize| request.get(at).map(|part| text(part)).unwrap_or_default();
    let id = |at: usize| ExecutionId(argument(at).parse().unwrap_or(0));
    let part = |value: &dyn ToString| value.to_string().into_bytes();
    let known = |job: &str| -> Result<(), Refused> {
        let known = repository.jobs().map_err(refused)?.iter().any(|name| name == job);
        if known { Ok(()) } else { Err(("NoSuchJobException", format!("no job {job}"))) }
    };
    match argument(0).as_str() {
        "hello" => {
            PORT.store(argument(1).parse().unwrap(), Ordering::SeqCst);
            Ok(Vec::new())
        }
        "system" => {
            *SYSTEM.lock() = parameters(&request[1..]);
            Ok(Vec::new())
        }
        "start" => {
            let file =
                JobFile::parse(&argument(1), &argument(2)).map_err(|error| ("JobStartException", error.to_string()))?;
            let launched = engine.start(&file, parameters(&request[3..]));
            let launched = launched.map_err(|error| ("JobStartException", error.to_string()))?;
            let id = launched.id();
            std::thread::spawn(move || launched.run());
            Ok(vec![part(&id)])
        }
        "restart" => {
            let before = repository.execution(id(1)).map_err(refused)?;
            let xml = repository.text(before.digest).map_err(refused)?.unwrap_or_default();
            let file = JobFile::parse("restart", &xml).map_err(|error| ("JobRestartException", error.to_string()))?;
            let launched = engine.restart(id(1), &file, parameters(&request[2..]), Drift::Refuse);
            let launched = launched.map_err(|error| match error {
                StartError::Batch(error @ BatchError::IsRunning { .. }) => ("JobRestartException", error.to_string()),
                StartError::Batch(error) => refused(error),
                StartError::Job(findings) => ("JobRestartException", findings.to_string()),
            })?;
            let id = launched.id();
            std::thread::spawn(move || launched.run());
            Ok(vec![part(&id)])
        }
        "stop" => engine.stop(id(1)).map(|()| Vec::new()).map_err(refused),
        "abandon" => repository.abandon(id(1)).map(|_| Vec::new()).map_err(refused),
        "names" => Ok(repository.jobs().map_err(refused)?.iter().map(|name| part(name)).collect()),
        "count" => {
            known(&argument(1))?;
            Ok(vec![part(&repository.instances(&argument(1), 0, usize::MAX).map_err(refused)?.len())])
        }
        "instances" => {
            known(&argument(1))?;
            let (start, count) = (argument(2).parse().unwrap_or(0), argument(3).parse().unwrap_or(0));
            let found = repository.instances(&argument(1), start, count).map_err(refused)?;
            Ok(found.iter().map(|id| part(id)).collect())
        }
        "running" => {
            known(&argument(1))?;
            let mut running = Vec::new();
            for id in engine.running() {
                if repository.execution(id).map_err(refused)?.job == argument(1) {
                    running.push(part(&id));
                }
            }
            Ok(running)
        }
        "instance" => {
            let execution = repository.execution(id(1)).map_err(refused)?;
            Ok(vec![part(&execution.instance), part(&execution.job)])
        }
        "executions" => {
            let instance = InstanceId(id(1).0);
            if repository.instance(instance).map_err(refused)?.is_none() {
                return Err(("NoSuchJobInstanceException", format!("no instance {instance}")));
            }
            Ok(repository.executions(instance).map_err(refused)?.iter().map(|id| part(id)).collect())
        }
        "execution" => {
            let found = repository.execution(id(1)).map_err(refused)?;
            let ms = |at: Option<u64>| at.map_or_else(Vec::new, |at| part(&at));
            let mut parts = vec![part(&found.id), part(&found.job), part(&found.status)];
            parts.push(part(&found.exit_status.clone().unwrap_or_default()));
            parts.extend([
                ms(Some(found.created_ms)),
                ms(found.started_ms),
                ms(found.ended_ms),
                ms(Some(found.updated_ms)),
            ]);
            pairs(&found.parameters, &mut parts);
            Ok(parts)
        }
        "steps" => {
            repository.execution(id(1)).map_err(refused)?;
            let mut parts = Vec::new();
            repository.steps(id(1)).map_err(refused)?.iter().for_each(|step| step_parts(step, &mut parts));
            Ok(parts)
        }
        other => Err(("BatchRuntimeException", format!("the host wants {other}"))),
    }
}
