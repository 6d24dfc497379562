//! `quayline queue serve`: permitted clients, transports, and shutdown. The listener's crate tests the protocol.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use expect_test::expect;

use crate::world::World;

/// SHA-256 of `secret`.
const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
const SASL: &[u8; 8] = b"AMQP\x03\x01\x00\x00";

/// A server that a command started.
pub(crate) struct Serving {
    pub(crate) child: Child,
    address: SocketAddr,
}

impl Serving {
    fn start(world: &World, arguments: &str) -> Serving {
        Serving::of(world, &format!("queue serve --listen 127.0.0.1:0 {arguments}"))
    }

    /// Starts a command whose first line has its listening address.
    pub(crate) fn of(world: &World, arguments: &str) -> Serving {
        let mut command = world.command(arguments.split_whitespace());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("text");
        let address = line.strip_prefix("listening on ").map(|address| address.trim_end_matches(" for AMQP"));
        let address = address.and_then(|address| address.parse().ok());
        let Some(address) = address else {
            panic!("{line}\n{}", lines.map_while(Result::ok).collect::<Vec<_>>().join("\n"))
        };
        std::thread::spawn(move || lines.for_each(drop));
        Serving { child, address }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the listener accepts");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        stream
    }

    /// Ends it as an operator does. The exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let killed = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(killed.success());
        self.child.wait().expect("it ends").code()
    }
}

/// Builds a SASL frame with a list of two fields: the choice of a mechanism.
fn init(mechanism: &str, response: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u8::try_from(bytes).expect("a short field");
    let mut fields = vec![2, 0xa3, length(mechanism.len())];
    fields.extend_from_slice(mechanism.as_bytes());
    fields.extend_from_slice(&[0xa0, length(response.len())]);
    fields.extend_from_slice(response);
    let mut frame = vec![0, 0, 0, length(8 + 5 + fields.len()), 2, 1, 0, 0, 0, 0x53, 0x41, 0xc0, length(fields.len())];
    frame.extend_from_slice(&fields);
    frame
}

/// Chooses a mechanism. Returns the offer of the server, and the code of the outcome.
fn authenticate(mut input: impl Read, mut output: impl Write, init: &[u8]) -> (String, u8) {
    output.write_all(&[SASL, init].concat()).expect("the server reads");
    output.flush().expect("the server reads");
    let mut header = [0; 8];
    input.read_exact(&mut header).expect("a header");
    assert_eq!(&header, SASL);
    let mut frame = || {
        let mut size = [0; 4];
        input.read_exact(&mut size).expect("a frame");
        let mut rest = vec![0; usize::try_from(u32::from_be_bytes(size)).expect("a size") - 4];
        input.read_exact(&mut rest).expect("a frame");
        rest
    };
    let offered = frame();
    let outcome = frame();
    let offered = offered.escape_ascii().to_string();
    (offered, *outcome.last().expect("a code"))
}

fn world() -> World {
    let keys = format!(
        "[[key]]\nid = \"clerk\"\nsha256 = \"{SECRET}\"\nroles = [\"queues\"]\n\
         [[key]]\nid = \"guest\"\nsha256 = \"{}\"\n",
        // SHA-256 of `visitor`.
        "5f14f9e6d80f802a65269804f2552ef9889f2c7ccec5067214e58a1e48e0b3ff"
    );
    let world = World::new();
    world.write("keys.toml", keys);
    world.run("queue define ORDERS").code(0);
    world
}

#[test]
fn nobody_can_connect_unless_the_settings_say_who() {
    let world = world();
    world.run("queue serve").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: no client can log in: the settings name no user

        hint: name the folder of a project whose quayline.toml has users with --project, or add --anonymous
    "#]]);
    let refused = world.run("queue serve --anonymous --listen 0.0.0.0:5672").code(2).err();
    for part in ["SRV-002", "open-to-network = true", "without TLS"] {
        assert!(refused.contains(part), "{part} is not in\n{refused}");
    }
    world.write("quayline.toml", "[serve.amqp]\ncredit = 0\nport = 1\n");
    let refused = world.run("queue serve --project .").code(2).err();
    assert!(refused.contains("quayline.toml:3:1"), "{refused}");
    world.write("quayline.toml", "[serve.amqp]\ncredit = 0\n");
    let refused = world.run("queue serve --project .").code(2).err();
    for part in
        ["serve.amqp: no client can log in", "serve.amqp.credit: expected at least 1 message", "quayline.toml:2:10"]
    {
        assert!(refused.contains(part), "{part} is not in\n{refused}");
    }
}

#[test]
fn a_server_of_apis_and_flows_serves_queues_too() {
    let world = world();
    let amqp = "[serve.amqp]\nlisten = \"127.0.0.1:0\"\nroles = [\"queues\"]\n";
    world.write("quayline.toml", format!("{amqp}[serve.authentication]\napi-keys = \"keys.toml\"\n"));
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let stream = serving.connect();
    let found = authenticate(&stream, &stream, &init("PLAIN", b"\0clerk\0secret"));
    assert_eq!(found.1, 0, "{found:?}");
    drop(stream);
    assert_eq!(serving.stop(), Some(0));
    // Regression: queues were open before the server handled signals, so an early SIGTERM ended the process without closing the store.
    for _ in 0..20 {
        let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
        assert_eq!(serving.stop(), Some(0));
    }
    world.run("store check").code(0);
}

#[test]
fn a_user_of_the_gateway_connects_with_a_key_as_password() {
    let world = world();
    world.write(
        "quayline.toml",
        "[serve.amqp]\nroles = [\"queues\"]\n[serve.authentication]\napi-keys = \"keys.toml\"\n",
    );
    let serving = Serving::start(&world, "--project .");
    for (response, code) in [
        ("\0clerk\0secret", 0),
        ("clerk\0clerk\0secret", 0),
        ("\0clerk\0wrong", 1),
        ("\0guest\0secret", 1),
        // The right key, and no role that is needed.
        ("\0guest\0visitor", 1),
        ("guest\0clerk\0secret", 1),
        ("\0clerk", 1),
    ] {
        let stream = serving.connect();
        let found = authenticate(&stream, &stream, &init("PLAIN", response.as_bytes()));
        assert_eq!(found.1, code, "{response:?}");
        assert!(found.0.contains("PLAIN") && !found.0.contains("ANONYMOUS"), "{}", found.0);
    }
    let stream = serving.connect();
    assert_eq!(authenticate(&stream, &stream, &init("ANONYMOUS", b"")).1, 1);
    assert_eq!(serving.stop(), Some(0));
    // The store was closed, so the next command opens it.
    assert_eq!(world.run("queue depth ORDERS").code(0).out(), "ORDERS  0\n");
}

#[test]
fn this_machine_connects_without_a_name_if_that_was_asked() {
    let world = world();
    let serving = Serving::start(&world, "--anonymous");
    let stream = serving.connect();
    assert_eq!(authenticate(&stream, &stream, &init("ANONYMOUS", b"")).1, 0);
    // Another command cannot open the store during that time.
    let refused = world.run("queue depth ORDERS").err();
    assert!(refused.contains("STO-005"), "{refused}");
    assert_eq!(serving.stop(), Some(0));
}

/// A client without a name used every queue of a listener that only some roles may use: `roles` applied to clients with a name alone.
#[test]
fn roles_exclude_clients_without_a_name() {
    let world = world();
    world.write(
        "quayline.toml",
        "[serve.amqp]\nroles = [\"queues\"]\n[serve.authentication]\nrequired = false\napi-keys = \"keys.toml\"\n",
    );
    let serving = Serving::start(&world, "--project .");
    let stream = serving.connect();
    let (offered, code) = authenticate(&stream, &stream, &init("ANONYMOUS", b""));
    assert_eq!((offered.contains("ANONYMOUS"), code), (false, 1), "{offered}");
    let stream = serving.connect();
    assert_eq!(authenticate(&stream, &stream, &init("PLAIN", b"\0clerk\0secret")).1, 0);
    // A client that omits SASL is told to use it, and the connection ends (AMQP 1.0, part 5, section 5.3.2).
    let mut stream = serving.connect();
    stream.write_all(b"AMQP\x00\x01\x00\x00").expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the connection ends");
    assert_eq!(answer, SASL);
    assert_eq!(serving.stop(), Some(0));
    world.write("quayline.toml", "[serve.amqp]\nroles = [\"queues\"]\n[serve.authentication]\nrequired = false\n");
    let refused = world.run("queue serve --project .").code(2).err();
    assert!(refused.contains("no client can log in"), "{refused}");
}

fn openssl(folder: &Path, arguments: &str) -> Option<()> {
    let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().ok()?;
    assert!(done.status.success(), "openssl {arguments}");
    Some(())
}

/// Creates an authority, and certificates of a server and a client signed by it.
fn certificates(folder: &Path) -> Option<()> {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(folder, &format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority -days 30"))?;
    for (name, extension) in [("localhost", "subjectAltName=DNS:localhost"), ("shop", "extendedKeyUsage=clientAuth")] {
        openssl(folder, &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"))?;
        std::fs::write(folder.join("extension"), extension).expect("a file");
        let sign =
            format!("x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem -days 30");
        openssl(folder, &format!("{sign} -extfile extension"))?;
    }
    Some(())
}

#[test]
fn tls_protects_passwords_and_a_certificate_is_a_name() {
    let world = world();
    let folder = world.path("keys.toml").parent().expect("a folder").to_owned();
    if certificates(&folder).is_none() {
        eprintln!("skipped: tls_protects_passwords_and_a_certificate_is_a_name: openssl is not installed");
        return;
    }
    world.write(
        "quayline.toml",
        "[serve.amqp]\nroles = [\"queues\"]\n[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"\n\
         client-authorities = \"ca.pem\"\n[serve.authentication]\napi-keys = \"keys.toml\"\n\
         [serve.authentication.certificate-roles]\nshop = [\"queues\"]\n",
    );
    let serving = Serving::start(&world, "--project .");
    let connect = |more: &str, init: &[u8]| {
        let line = format!(
            "s_client -quiet -verify_return_error -CAfile ca.pem -servername localhost -connect {} {more}",
            serving.address
        );
        let mut process = Command::new("openssl")
            .args(line.split_whitespace())
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl runs");
        let (input, output) = (process.stdout.take().expect("a pipe"), process.stdin.take().expect("a pipe"));
        let found = authenticate(input, output, init);
        let _ = process.kill();
        let _ = process.wait();
        found
    };
    let (offered, code) = connect("", &init("PLAIN", b"\0clerk\0secret"));
    assert_eq!((code, offered.contains("EXTERNAL")), (0, false));
    let (offered, code) = connect("-cert shop.pem -key shop.key", &init("EXTERNAL", b""));
    assert_eq!((code, offered.contains("EXTERNAL")), (0, true));
    // Without a certificate there is nothing external.
    assert_eq!(connect("", &init("EXTERNAL", b"")).1, 1);
    assert_eq!(serving.stop(), Some(0));
}

/// The classpath of Qpid JMS, which Maven fetches once; nothing where it cannot.
fn qpid_jms() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("qpid-jms-2.8.0");
    let mark = folder.join("fetched");
    if !mark.exists() {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::copy(jms_probe().with_file_name("pom.xml"), folder.join("pom.xml")).expect("a file");
        let arguments = ["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"];
        let done = Command::new("mvn").args(arguments).current_dir(&folder).stdin(Stdio::null()).output();
        done.ok().filter(|done| done.status.success())?;
        std::fs::write(mark, "").expect("a file");
    }
    Some(folder.join("lib/*").display().to_string())
}

fn jms_probe() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../connect/tests/clients/JmsProbe.java")
}

/// A JMS program with transacted sessions, once with a password and once with a certificate.
#[test]
fn jms_programs_log_in_over_tls() {
    let test = "jms_programs_log_in_over_tls";
    let world = world();
    let folder = world.path("keys.toml").parent().expect("a folder").to_owned();
    let (Some(classpath), Some(())) = (qpid_jms(), certificates(&folder)) else {
        return eprintln!("skipped: {test}: openssl, Java or Maven is not installed");
    };
    openssl(&folder, "pkcs12 -export -in shop.pem -inkey shop.key -out shop.p12 -passout pass:secret")
        .expect("openssl");
    let arguments =
        "-importcert -noprompt -alias ca -file ca.pem -keystore trust.p12 -storetype PKCS12 -storepass secret";
    let trusted =
        Command::new("keytool").args(arguments.split(' ')).current_dir(&folder).output().expect("keytool runs");
    assert!(trusted.status.success(), "{}", trusted.stderr.escape_ascii());
    world.write(
        "quayline.toml",
        "[serve.amqp]\nroles = [\"queues\"]\n[serve.tls]\ncertificate = \"localhost.pem\"\nkey = \"localhost.key\"\n\
         client-authorities = \"ca.pem\"\n[serve.authentication]\napi-keys = \"keys.toml\"\n\
         [serve.authentication.certificate-roles]\nshop = [\"queues\"]\n",
    );
    for name in ["TX.IN", "TX.OUT"] {
        world.run(&format!("queue define {name}")).code(0);
    }
    let serving = Serving::start(&world, "--project .");
    let password = "jms.username=clerk&jms.password=secret&amqp.saslMechanisms=PLAIN".to_owned();
    let certificate = format!(
        "amqp.saslMechanisms=EXTERNAL&transport.keyStoreLocation={}&transport.keyStorePassword=secret",
        folder.join("shop.p12").display()
    );
    for login in [password, certificate] {
        let url = format!(
            "amqps://localhost:{}?{login}&transport.storeType=PKCS12&transport.trustStoreLocation={}&transport.trustStorePassword=secret",
            serving.address.port(),
            folder.join("trust.p12").display()
        );
        let output = Command::new("java")
            .args(["-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", &classpath])
            .arg(jms_probe())
            .args([&url, "transacted"])
            .output()
            .expect("java runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success() && text.contains("ok transacted"), "{text}\n{}", output.stderr.escape_ascii());
    }
    assert_eq!(serving.stop(), Some(0));
}
