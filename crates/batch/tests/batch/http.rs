//! Items that go to a server and come back.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quayline_batch::BatchStatus;

use crate::kit::{Process, backend, medium, properties};

/// A request: its first line, its headers in lower case, and its content.
struct Asked {
    line: String,
    headers: String,
    content: String,
}

/// Reads one request of a connection; `None` at its end.
fn read(from: &mut impl std::io::BufRead) -> Option<Asked> {
    let mut line = String::new();
    from.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        from.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&header.to_lowercase());
    }
    let mut content = vec![0; length];
    from.read_exact(&mut content).ok()?;
    Some(Asked { line: line.trim().to_owned(), headers, content: String::from_utf8(content).unwrap() })
}

fn answer(to: &mut impl Write, status: u16, content: &str) {
    // The client may have disconnected.
    let _ = write!(to, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{content}", content.len());
    let _ = to.flush();
}

/// Starts a server whose threads end with the test. Returns its port.
fn serve(answers: impl Fn(&Asked) -> Option<(u16, String)> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = Arc::new(answers);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answers = Arc::clone(&answers);
            std::thread::spawn(move || {
                let mut to: TcpStream = stream.try_clone().unwrap();
                let mut from = BufReader::new(stream);
                while let Some(asked) = read(&mut from) {
                    match answers(&asked) {
                        Some((status, content)) => answer(&mut to, status, &content),
                        // The server never answers this request.
                        None => std::thread::park(),
                    }
                }
            });
        }
    });
    port
}

/// Returns a job of 50 lines in chunks of 7.
fn xml(processor: &[(&str, &str)], classes: &str) -> String {
    let list = properties(processor);
    format!(
        "<step id=\"s\"><chunk item-count=\"7\" skip-limit=\"9\" retry-limit=\"9\">\
         <reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"quayline.httpProcessor\">{list}</processor>\
         <writer ref=\"quayline.fileWriter\">{}</writer>{classes}</chunk></step>",
        properties(&[("file", "in.txt")]),
        properties(&[("file", "out.txt")]),
    )
}

fn prepare(folder: &Path) -> Process {
    let lines: String = (0..50).map(|number| format!("line {number}\n")).collect();
    std::fs::write(folder.join("in.txt"), lines).unwrap();
    Process::new(backend(&medium()), folder.to_owned())
}

fn out(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("out.txt")).unwrap()
}

#[test]
fn answers_are_written_in_the_order_of_the_items() {
    let port = serve(|asked| {
        assert_eq!(asked.line, "POST /rate HTTP/1.1");
        assert!(asked.headers.contains("accept: text/plain\r\n") && asked.headers.contains("x-key: secret\r\n"));
        assert!(asked.headers.contains("content-type: text/csv\r\n"));
        let number: usize = asked.content.strip_prefix("line ")?.parse().ok()?;
        // Later items are faster, so that answers arrive in another order.
        std::thread::sleep(std::time::Duration::from_millis(7 - number as u64 % 7));
        Some(if number % 10 == 3 { (204, String::new()) } else { (200, format!("rated {number}")) })
    });
    let url = format!("http://127.0.0.1:{port}/rate");
    let expected: String = (0..50).filter(|n| n % 10 != 3).map(|n| format!("rated {n}\n")).collect();
    for parallel in ["1", "5", "64"] {
        let folder = tempfile::tempdir().unwrap();
        let process = prepare(folder.path());
        std::fs::write(folder.path().join("headers"), "X-Key: secret\nContent-Type: text/csv\n").unwrap();
        let list = [
            ("url", url.as_str()),
            ("headers", "Accept: text/plain"),
            ("headers-file", "headers"),
            ("parallel", parallel),
        ];
        let execution = process.start(&xml(&list, ""), &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        assert_eq!(out(folder.path()), expected, "{parallel} at once");
        let steps = process.steps(execution.id);
        assert_eq!((steps[0].counts.read, steps[0].counts.filter, steps[0].counts.write), (50, 5, 45));
    }
}

/// A server that is busy is asked again, a request that it refuses is skipped, and a filtered item is in the URL.
#[test]
fn faults_that_pass_are_retried_and_refusals_are_skipped() {
    let busy = Arc::new(AtomicUsize::new(0));
    let times = Arc::clone(&busy);
    let port = serve(move |asked| {
        assert!(!asked.headers.contains("content-length") || asked.content.is_empty());
        let item = asked.line.strip_prefix("GET /customers/line%20")?.strip_suffix("?deep=1 HTTP/1.1")?;
        Some(match item {
            "20" if times.fetch_add(1, Ordering::SeqCst) < 3 => (503, String::new()),
            "31" => (404, "no such customer".to_owned()),
            item => (200, item.to_owned()),
        })
    });
    let url = format!("http://127.0.0.1:{port}/customers/{{item}}?deep=1");
    let classes = "<skippable-exception-classes><include class=\"quayline.HttpRefused\"/></skippable-exception-classes>\
                   <retryable-exception-classes><include class=\"quayline.HttpUnavailable\"/></retryable-exception-classes>";
    for parallel in ["1", "4"] {
        busy.store(0, Ordering::SeqCst);
        let folder = tempfile::tempdir().unwrap();
        let process = prepare(folder.path());
        let execution = process.start(&xml(&[("url", &url), ("method", "GET"), ("parallel", parallel)], classes), &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        let expected: String = (0..50).filter(|n| *n != 31).map(|n| format!("{n}\n")).collect();
        assert_eq!(out(folder.path()), expected, "{parallel} at once");
        assert!(busy.load(Ordering::SeqCst) >= 4);
    }
}

/// Errors are reported without data of the item, the URL or a header.
#[test]
fn what_went_wrong_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let process = prepare(folder.path());
    let cause = |list: &[(&str, &str)]| {
        let execution = process.start(&xml(list, ""), &[]);
        assert_eq!(execution.status, BatchStatus::Failed);
        execution.cause.unwrap()
    };
    let port = serve(|asked| match asked.line.split(' ').nth(1)? {
        "/moved" => Some((302, String::new())),
        "/long" => Some((200, "x".repeat(5_000))),
        _ => None,
    });
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    assert_eq!(
        cause(&[("url", &at("/moved")), ("headers", "Authorization: secret")]),
        format!("quayline.HttpRefused: 127.0.0.1:{port} answers with status 302")
    );
    assert_eq!(
        cause(&[("url", &at("/long")), ("limit", "record-bytes=4K")]),
        format!("quayline.Rejected: the answer of 127.0.0.1:{port} has more than 4096 bytes")
    );
    assert_eq!(
        cause(&[("url", &at("/never?token=secret")), ("timeout-s", "1")]),
        format!("quayline.HttpUnavailable: 127.0.0.1:{port} did not answer in time")
    );
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(cause(&[("url", &format!("http://127.0.0.1:{nobody}/"))]).contains("cannot be reached"));
    assert!(
        cause(&[("url", "ftp://here/")]).contains("property url of quayline.httpProcessor does not begin with http")
    );
    assert!(cause(&[("url", "http://{item}/")]).contains("has {item} before the path"));
    assert!(cause(&[("url", &at("/")), ("headers", "no colon")]).contains("property headers"));
}

fn openssl(folder: &Path, arguments: &str) -> Option<()> {
    let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().ok()?;
    done.status.success().then_some(())
}

/// An authority that the job names is trusted, and no other.
#[test]
fn a_server_is_trusted_by_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let name = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    let made = ["own", "other"].iter().try_for_each(|file| {
        let files = format!("-keyout {file}.key -out {file}.pem -subj /CN={file} -days 30");
        openssl(folder.path(), &format!("req -x509 {key} {files} {name}"))
    });
    if made.is_none() {
        eprintln!("skipped: a_server_is_trusted_by_its_certificate: openssl is not installed");
        return;
    }
    use rustls::pki_types::pem::PemObject as _;
    let certificate = rustls::pki_types::CertificateDer::from_pem_file(folder.path().join("own.pem")).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::from_pem_file(folder.path().join("own.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = BufReader::new(rustls::StreamOwned::new(connection, stream));
            while let Some(asked) = read(&mut stream) {
                answer(stream.get_mut(), 200, &format!("safe {}", asked.content));
            }
        }
    });
    let process = prepare(folder.path());
    let url = format!("https://127.0.0.1:{port}/");
    let refused = process.start(&xml(&[("url", &url), ("ca", "other.pem")], ""), &[]);
    let cause = refused.cause.unwrap();
    assert!(cause.contains("is not trusted"), "{cause}");
    let execution = process.start(&xml(&[("url", &url), ("ca", "own.pem")], ""), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert!(out(folder.path()).starts_with("safe line 0\nsafe line 1\n"));
}
