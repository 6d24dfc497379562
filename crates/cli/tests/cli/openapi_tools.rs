//! The OpenAPI documents of a running server, read by published tools: Redocly and Spectral find no error, and two generated clients compile and call
//! every operation of the example APIs. `scripts/openapi-tools.sh` fetches the tools.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::world::World;

const KEY: &str = "key-of-the-tests";
const KEY_DIGEST: &str = "0db0cfa9c68ac89c105d4e21f5081f11c9e99114313652db9aeb5aed1bb6e71d";

const SETTINGS: &str = "[serve]\nlisten = \"127.0.0.1:0\"\n\
     [serve.authentication]\nrequired = false\napi-keys = \"keys.toml\"\n\
     [serve.admin]\nlisten = \"ADMIN\"\noperate = [\"operator\"]\n\
     [serve.queues]\n[serve.queues.queue.IN]\nput = [\"*\"]\nget = [\"*\"]\nbrowse = [\"*\"]\n";

const CUSTOMER: &str = "       01 CUSTOMER.\n          05 CUSTOMER-ID PIC 9(6).\n          05 CITY PIC X(10).\n          05 BALANCE PIC S9(5)V99 COMP-3.\n          05 TOTAL PIC S9(11)V99 COMP-3.\n";

/// APIs whose operations clients call.
const APIS: [&str; 4] = ["car100", "car100rename", "scenarios", "customer"];

/// Warnings that only the author of an API can end, or that concern what Quayline has no place for.
const AUTHORS: [&str; 5] =
    ["info-license", "info-contact", "info-description", "operation-description", "operation-tags"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folder of the tools, if those of a kind are fetched.
fn tools(kind: &str, test: &str) -> Option<PathBuf> {
    let folder = root().join("target/openapi-tools");
    if folder.join(format!("{kind}.fetched")).exists() {
        return Some(folder.canonicalize().expect("the folder is there"));
    }
    eprintln!("skipped: {test}: the tools of {kind} are not fetched, see scripts/openapi-tools.sh");
    None
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// The dealership with an API of a record file, queues, jobs and partners.
struct Serving {
    world: World,
    child: Child,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn start() -> Serving {
        let world = World::new();
        for part in ["apis", "services", "program", "data", "car100.cpy", "rename.toml"] {
            let (from, to) = (root().join("examples/dealership").join(part), world.path(part));
            if from.is_dir() { copy(&from, &to) } else { std::fs::copy(from, to).map(drop).expect("a copy") }
        }
        let admin = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        world.write("quayline.toml", SETTINGS.replace("ADMIN", &admin.to_string()));
        world.write(
            "keys.toml",
            format!("[[key]]\nid = \"tests\"\nsha256 = \"{KEY_DIGEST}\"\nroles = [\"operator\"]\n"),
        );
        world.write("customer.cpy", CUSTOMER);
        world.write("jobs/one.xml", "<job id=\"one\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"/>");
        world.write(
            "partners/us.toml",
            "name = \"US\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"US\"\n",
        );
        let store = "--store store";
        world
            .run(&format!(
                "api new customer.cpy --file CUSTOMER --key CUSTOMER-ID --index CITY=CITY:duplicates {store}"
            ))
            .code(0);
        world.run(&format!("queue define DEAD.LETTER {store}")).code(0);
        world.run(&format!("queue define IN {store}")).code(0);
        let mut child =
            world.command(["serve", "--store", "store"]).stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut told = String::new();
        let address = lines.find_map(|line| {
            let address = line.strip_prefix("listening on ").and_then(|address| address.parse().ok());
            told.push_str(&line);
            address
        });
        std::thread::spawn(move || lines.for_each(drop));
        Serving { world, child, address: address.unwrap_or_else(|| panic!("no address: {told}")), admin }
    }

    fn get(&self, address: SocketAddr, target: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let head = format!("GET {target} HTTP/1.1\r\nhost: {address}\r\nx-api-key: {KEY}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200"), "{target}: {answer}");
        body.to_owned()
    }

    /// Writes the documents, each to `NAME.json`.
    fn documents(&self) -> Vec<&'static str> {
        let paths = APIS.into_iter().chain(["queues"]).map(|name| (self.address, name, name));
        let of_operators =
            [("batch", "batch"), ("partner", "partner"), ("store", "store/queues"), ("files", "store/files")];
        let paths: Vec<_> = paths.chain(of_operators.map(|(name, path)| (self.admin, name, path))).collect();
        for (address, name, path) in &paths {
            let document = self.get(*address, &format!("/{path}/openapi.json"));
            self.world.write(&format!("{name}.json"), document);
        }
        paths.into_iter().map(|(_, name, _)| name).collect()
    }

    /// Returns the ids of all operations of the example APIs.
    fn operations(&self) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for name in APIS {
            let document: Value = serde_json::from_slice(&self.world.read(&format!("{name}.json"))).expect("JSON");
            for operations in document["paths"].as_object().expect("paths").values() {
                let operations = operations.as_object().expect("operations").values();
                ids.extend(operations.map(|one| one["operationId"].as_str().expect("an id").to_owned()));
            }
        }
        ids
    }

    fn tool(&self, command: &mut Command) -> String {
        let done =
            command.current_dir(self.world.path("")).env("REDOCLY_TELEMETRY", "off").output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let told = text(done.stdout);
        let told = if done.status.success() { told } else { told + &text(done.stderr) };
        assert!(done.status.success(), "{command:?}: {told}");
        told
    }

    /// Holds what a client printed against the operations of the documents.
    fn called(&self, told: &str) {
        let told: BTreeSet<String> = told.lines().map(str::to_owned).collect();
        assert_eq!(told, self.operations());
    }
}

#[test]
fn linters_find_no_error_in_any_document() {
    let Some(tools) = tools("node", "linters_find_no_error_in_any_document") else { return };
    let serving = Serving::start();
    let files: Vec<String> = serving.documents().iter().map(|name| format!("{name}.json")).collect();
    for (tool, option, rule) in [("redocly", "--config", "ruleId"), ("spectral", "--ruleset", "code")] {
        let config = root().join("bench/openapi-tools").join(format!("{tool}.yaml"));
        let mut command = Command::new("node");
        command.arg(tools.join("node_modules/.bin").join(tool)).args(["lint", "--format=json", option]);
        let told = serving.tool(command.arg(config.canonicalize().expect("a file")).args(&files));
        // Redocly prints a report for each file, Spectral one list.
        for report in serde_json::Deserializer::from_str(&told).into_iter::<Value>() {
            let report = report.expect("JSON");
            let problems = report.as_array().or_else(|| report["problems"].as_array()).expect("problems");
            let ours = |problem: &&Value| !AUTHORS.contains(&problem[rule].as_str().expect("a rule"));
            let ours: Vec<&Value> = problems.iter().filter(ours).collect();
            assert!(ours.is_empty(), "{tool}: {ours:#?}");
        }
    }
}

#[test]
fn a_generated_typescript_client_calls_every_operation() {
    const NAME: &str = "a_generated_typescript_client_calls_every_operation";
    let Some(tools) = tools("node", NAME) else { return };
    let serving = Serving::start();
    for name in serving.documents() {
        let generator = tools.join("node_modules/.bin/openapi-ts");
        serving.tool(Command::new("node").arg(generator).args([
            "-i",
            &format!("{name}.json"),
            "-o",
            &format!("ts/{name}"),
        ]));
    }
    let main = root().join("bench/openapi-tools/clients/main.ts");
    serving.world.write("ts/main.ts", std::fs::read(main).expect("a file"));
    let options =
        "--strict --target es2022 --lib es2022,dom,dom.iterable --module commonjs --skipLibCheck false --outDir js";
    let mut compiler = Command::new("node");
    compiler.arg(tools.join("node_modules/.bin/tsc")).args(options.split(' ')).arg("ts/main.ts");
    serving.tool(
        compiler.args(["queues", "batch", "partner", "store", "files"].map(|name| format!("ts/{name}/index.ts"))),
    );
    if Command::new("cobc").arg("--version").output().is_err() {
        return eprintln!("skipped: {NAME}: GnuCOBOL (cobc) is not installed");
    }
    let base = format!("http://{}", serving.address);
    serving.called(&serving.tool(Command::new("node").args(["js/main.js", &base])));
}

#[test]
fn a_generated_go_client_calls_every_operation() {
    const NAME: &str = "a_generated_go_client_calls_every_operation";
    let Some(tools) = tools("go", NAME) else { return };
    let serving = Serving::start();
    let source = root().join("bench/openapi-tools");
    for (from, to) in [("go.mod", "go/go.mod"), ("go.sum", "go/go.sum"), ("clients/main.go", "go/main.go")] {
        serving.world.write(to, std::fs::read(source.join(from)).expect("a file"));
    }
    for name in serving.documents() {
        std::fs::create_dir_all(serving.world.path(&format!("go/{name}"))).expect("a folder");
        let mut generator = Command::new(tools.join("bin/oapi-codegen"));
        generator.args(["-generate", "types,client", "-package", name, "-o", &format!("go/{name}/client.go")]);
        serving.tool(generator.arg(format!("{name}.json")));
    }
    // Nothing is fetched here.
    let mut compiler = Command::new("go");
    compiler
        .args(["build", "-o", "bin/", "./..."])
        .env("GOPROXY", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=mod");
    let compiled = compiler.current_dir(serving.world.path("go")).output().expect("go starts");
    assert!(compiled.status.success(), "{}", compiled.stderr.escape_ascii());
    if Command::new("cobc").arg("--version").output().is_err() {
        return eprintln!("skipped: {NAME}: GnuCOBOL (cobc) is not installed");
    }
    let base = format!("http://{}", serving.address);
    serving.called(&serving.tool(Command::new(serving.world.path("go/bin/openapi-tools")).arg(&base)));
}
