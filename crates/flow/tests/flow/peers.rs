//! Servers of other vendors, which Maven fetches at pinned versions. A test without them is skipped and says so.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::support::until;

/// Lock for fetching, since tests of one binary run at the same time.
static FETCH: Mutex<()> = Mutex::new(());

/// A folder of this build with the jars of `tests/peers/NAME` in `lib`, and its Java sources compiled.
pub(crate) fn java(name: &str) -> Result<PathBuf, String> {
    let _one = FETCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let shown = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(&folder).map_err(shown)?;
    let mut is_new = !folder.join("fetched").exists();
    let mut sources = Vec::new();
    for file in std::fs::read_dir(&source).map_err(shown)? {
        let path = file.map_err(shown)?.path();
        let copy = folder.join(path.file_name().unwrap_or_default());
        let text = std::fs::read(&path).map_err(shown)?;
        if std::fs::read(&copy).ok().as_ref() != Some(&text) {
            is_new = true;
            std::fs::write(&copy, text).map_err(shown)?;
        }
        sources.extend((path.extension().is_some_and(|extension| extension == "java")).then_some(copy));
    }
    if !is_new {
        return Ok(folder);
    }
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).current_dir(&folder).stdin(Stdio::null()).output();
        match done {
            Ok(done) if done.status.success() => Ok(()),
            Ok(_) => Err(format!("{program} cannot prepare {name}")),
            Err(_) => Err(format!("{program} is not installed")),
        }
    };
    run("mvn", &["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"])?;
    for source in &sources {
        run("javac", &["-cp", "lib/*", "-d", ".", &source.display().to_string()])?;
    }
    std::fs::write(folder.join("fetched"), "").map_err(shown)?;
    Ok(folder)
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// Waits until a server listens.
pub(crate) fn listens(port: u16) {
    until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
}

/// Runs OpenSSL or keytool in a folder. False where it is not installed.
fn tool(folder: &Path, program: &str, arguments: &str) -> bool {
    let done = Command::new(program).args(arguments.split(' ')).current_dir(folder).output();
    let Ok(done) = done else { return false };
    assert!(done.status.success(), "{program} {arguments}: {}", done.stderr.escape_ascii());
    true
}

/// Makes `ca.pem`, and for each name a key and a certificate for 127.0.0.1 and localhost. False where OpenSSL is not installed.
pub(crate) fn certificates(folder: &Path, names: &[&str]) -> bool {
    std::fs::write(folder.join("ext.cnf"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").expect("a file");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    let mut done =
        tool(folder, "openssl", &format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority -days 30"));
    for name in names {
        done = done
            && tool(folder, "openssl", &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"))
            && tool(
                folder,
                "openssl",
                &format!(
                    "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile ext.cnf -out {name}.pem"
                ),
            );
    }
    done
}

/// Stores of keys as Java has them: `server.p12` and, with the authority, `trust.p12`.
pub(crate) fn java_stores(folder: &Path) -> bool {
    tool(folder, "openssl", "pkcs12 -export -in server.pem -inkey server.key -out server.p12 -passout pass:secret")
        && tool(
            folder,
            "keytool",
            "-importcert -noprompt -alias ca -file ca.pem -keystore trust.p12 -storetype PKCS12 -storepass secret",
        )
}
