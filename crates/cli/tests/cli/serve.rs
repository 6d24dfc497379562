//! `quayline serve`: faults of a project are reported at once. (The server's crate tests the server itself.)

use expect_test::expect;

use crate::world::World;

const COPYBOOK: &[u8] = b"       01 A.\n          05 REQ PIC X(4).\n          05 ANSWER PIC 9(4).\n";

const SERVICE: &[u8] = b"copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"a.dat\"\n";

const API: &[u8] =
    b"base-path = \"/a\"\n[[operation]]\nid = \"get\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"a\"\n";

#[test]
fn a_good_project_is_counted() {
    let world = World::with([
        ("copybooks/a.cpy", COPYBOOK),
        ("services/a.toml", SERVICE),
        ("apis/a.toml", API),
        ("a.dat", b"ABCD0001"),
        ("quayline.toml", b"[serve]\nlisten = \"127.0.0.1:0\"\n[serve.authentication]\nrequired = false\n"),
    ]);
    world.run("serve --check").check(expect![[r#"
        exit 0
        --- stderr
        1 service, 1 API, 1 operation: no findings
    "#]]);
}

/// Regression: `--check` did not report missing programs, unset secrets, and APIs without callers.
#[test]
fn what_cannot_work_is_found_before_a_server_starts() {
    let program = |more: &str| {
        format!(
            "copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"program\"\nprogram = \"NOWHERE\"\n{more}"
        )
    };
    let http = "copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\nheaders = { authorization = \"Bearer ${QUAYLINE_TEST_SECRET_NOT_SET}\" }\n";
    let api = |service: &str| {
        format!(
            "base-path = \"/{service}\"\n[[operation]]\nid = \"{service}\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"{service}\"\n"
        )
    };
    let world = World::with([("copybooks/a.cpy", COPYBOOK)]);
    world.write("services/gone.toml", program("")).write("services/http.toml", http);
    world.write("apis/gone.toml", api("gone")).write("apis/http.toml", api("http"));
    let ran = world.run("serve --check");
    let told = ran.code(2).err();
    for part in [
        "error[SRV-006]: the program NOWHERE has no module: NOWHERE.so is not in",
        "at services/gone.toml",
        "error[SRV-006]: the header authorization cannot be made: the environment has no QUAYLINE_TEST_SECRET_NOT_SET",
        "error[SRV-007]: 2 of 2 operations need authentication, and none is configured",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    world.write("quayline.toml", "[serve.limits]\nbody-bytes = 0\nconnections-per-address = 0\n");
    let told = world.run("serve --check").code(2).err();
    assert!(told.contains("serve.limits.body-bytes: expected at least 1 byte"), "{told}");
    assert!(told.contains("serve.limits.connections-per-address: expected at least 1 connection"), "{told}");
    // If a compiler is installed: a source that it refuses.
    if std::process::Command::new("cobc").arg("--version").output().is_ok() {
        world.write("quayline.toml", "");
        world
            .write("services/gone.toml", program("source = \"gone.cbl\"\n"))
            .write("gone.cbl", "       THIS IS NO PROGRAM.\n");
        let ran = world.run("serve --check");
        assert!(ran.code(2).err().contains("gone.cbl does not compile: cobc says"), "{}", ran.err());
        assert!(!world.files().iter().any(|name| name.starts_with(".compile")));
    }
}

/// A finding of a provider named a file that did not exist if the service had a name of its own.
#[test]
fn a_finding_of_a_provider_names_the_file_of_its_service() {
    let canned = "name = \"other\"\ncopybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"none.dat\"\n";
    let file = "name = \"more\"\ncopybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"queue\"\nqueue = \"NOWHERE\"\n";
    let world = World::with([("copybooks/a.cpy", COPYBOOK)]);
    let operation = |service: &str| {
        format!("[[operation]]\nid = \"{service}\"\nmethod = \"GET\"\npath = \"/{service}\"\nservice = \"{service}\"\n")
    };
    let api = format!("base-path = \"/x\"\n{}{}", operation("other"), operation("more"));
    world.write("services/c.toml", canned).write("services/q.toml", file).write("apis/x.toml", api);
    world.run("queue define Q").code(0);
    let told = world.run("serve --check").code(2).err();
    for (code, file) in [("SRV-006", "c"), ("SRV-008", "q")] {
        let finding = told.split("error[").find(|finding| finding.starts_with(code)).unwrap_or_default();
        assert!(finding.contains(&format!("at services/{file}.toml\n")), "{told}");
    }
}

/// With `required = false`, operations with roles were a 401 for every client, and the check did not report it.
#[test]
fn operations_with_roles_need_authentication_that_is_configured() {
    let canned = "copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"a.dat\"\n";
    let operation = |id: &str, more: &str| {
        format!("[[operation]]\nid = \"{id}\"\nmethod = \"GET\"\npath = \"/{id}\"\nservice = \"c\"\n{more}")
    };
    let world = World::with([("copybooks/a.cpy", COPYBOOK)]);
    world.write("services/c.toml", canned).write("a.dat", "");
    world.write("quayline.toml", "[serve.authentication]\nrequired = false\n");
    let api = |more: &str| format!("base-path = \"/c\"\n{}{}", operation("a", ""), operation("b", more));
    world.write("apis/c.toml", api("roles = [\"r\"]\n"));
    let told = world.run("serve --check").code(2).err();
    assert!(told.contains("error[SRV-007]: 1 of 2 operations need authentication, and none is configured"), "{told}");
    assert!(told.contains("remove `roles`") && !told.contains("required = false"), "{told}");
    world.write("apis/c.toml", api(""));
    assert!(!world.run("serve --check").err().contains("SRV-007"));
}

/// Missing canned records, listeners and flows on one address, an audit file that cannot be written, queues without a backout queue.
#[test]
fn what_cannot_begin_or_be_written_is_found_before_a_server_starts() {
    let canned = "copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"none.dat\"\n";
    let api = "base-path = \"/c\"\n[[operation]]\nid = \"c\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"c\"\n";
    let listens = |port: u16| {
        format!(
            "[node.in]\ntype = \"http_input\"\nlisten = \"127.0.0.1:{port}\"\npath = \"/x\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"Q\"\n\
             [node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"put\"\n"
        )
    };
    let world = World::with([("copybooks/a.cpy", COPYBOOK), ("plain", b"" as &[u8])]);
    world.write("services/c.toml", canned).write("apis/c.toml", api);
    world.write("flows/one.toml", listens(18_080)).write("flows/two.toml", listens(18_081));
    world.write("flows/three.toml", listens(18_081));
    world.write(
        "quayline.toml",
        "[serve]\nlisten = \"127.0.0.1:18080\"\naudit = \"plain/audit.jsonl\"\n[serve.authentication]\nrequired = false\n\
         [serve.admin]\nlisten = \"127.0.0.1:18080\"\n[serve.queues]\npath = \"/c\"\n[serve.queues.queue.Q]\nput = [\"*\"]\n",
    );
    world.run("queue define Q").code(0);
    world.run("queue define IN --backout-queue NOWHERE").code(0);
    let ran = world.run("serve --check");
    let told = ran.code(2).err();
    for part in [
        "error[SRV-006]: the canned records cannot be read from",
        "error[SRV-009]: serve.admin.listen: 127.0.0.1:18080 is the address of serve.listen too",
        "error[SRV-010]: serve.audit:",
        "error[SRV-012]: serve.queues.path: GET /c/x takes requests that are for queues below /c",
        "error[FLO-039]: 127.0.0.1:18080 is the address of serve.listen too",
        "error[FLO-039]: 127.0.0.1:18081 is the address of node `in` of flow three too",
        "error[SRV-011]: queue IN has no backout queue: the store has no NOWHERE",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!world.files().iter().any(|name| name.contains("quayline-check")), "{:?}", world.files());
    assert!(world.run("flow check").code(2).err().contains("error[FLO-039]"));
}

#[test]
fn all_that_is_wrong_is_told_at_once_with_its_place_and_remedy() {
    let world = World::with([
        ("copybooks/a.cpy", COPYBOOK),
        ("services/a.toml", b"copybook = \"b.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\n" as &[u8]),
        ("services/b.toml", b"copybook = \"a.cpy\"\nencodng = \"ascii\"\nlength = \"4\"\n[provider]\nkind = 1\n"),
        ("apis/a.toml", b"base-path = \"a\"\nbase-paths = 1\n[[operation]]\nmethod = \"GET\"\n"),
        ("quayline.toml", b"[serve]\nlisten = \"0.0.0.0:80\"\nthreads = 0\n[serve.tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"\nminimum-version = \"1.0\"\n"),
    ]);
    world.run("serve --check").check(expect![[r#"
        exit 2
        --- stderr
        error[SRV-002]: serve.listen: `listen` is an address that other machines reach
          at quayline.toml:2:10
          |
        2 | listen = "0.0.0.0:80"
          |          ^^^^^^^^^^^^

        hint: if that is meant, write `open-to-network = true` in [serve]

        error[SRV-003]: serve.threads: expected 1 to 1024 threads
          at quayline.toml:3:11
          |
        3 | threads = 0
          |           ^

        hint: leave the key out for its default, which docs/reference/gateway.md gives

        error[SRV-003]: serve.tls.minimum-version: this version of TLS is not supported
          at quayline.toml:7:19
          |
        7 | minimum-version = "1.0"
          |                   ^^^^^

        hint: write "1.2" or "1.3"

        error[GTW-002]: there is no copybook `b.cpy`
          at services/a.toml:1:12
          |
        1 | copybook = "b.cpy"
          |            ^^^^^^^

        hint: paths begin at the project's folder or at copybooks/

        error[GTW-001]: missing field `encoding`
          at services/b.toml:1:1
          |
        1 | copybook = "a.cpy"
          | ^

        hint: docs/reference/gateway.md shows every key of such a file

        error[GTW-001]: unknown field `encodng`, expected one of `name`, `description`, `copybook`, `record`, `response-copybook`, `response-record`, `parameter`, `encoding`, `dialect`, `dialect-settings`, `length`, `provider`, `options`, `request`, `request-interface`, `response`, `response-interface`, `required`, `type`, `counter`
          at services/b.toml:2:1
          |
        2 | encodng = "ascii"
          | ^^^^^^^

        hint: did you mean `encoding`?

        error[GTW-001]: invalid type: string "4", expected a whole number from 0
          at services/b.toml:3:10
          |
        3 | length = "4"
          |          ^^^

        hint: docs/reference/gateway.md shows every key of such a file

        error[GTW-001]: invalid type: integer `1`, expected a string
          at services/b.toml:5:8
          |
        5 | kind = 1
          |        ^

        hint: docs/reference/gateway.md shows every key of such a file

        error[GTW-001]: unknown field `base-paths`, expected one of `name`, `title`, `version`, `description`, `terms-of-service`, `contact`, `license`, `servers`, `tag`, `tags`, `base-path`, `etag`, `compression`, `roles`, `public`, `unknown-parameters`, `operation`
          at apis/a.toml:2:1
          |
        2 | base-paths = 1
          | ^^^^^^^^^^

        hint: did you mean `base-path`?

        error[GTW-001]: missing field `path`
          at apis/a.toml:3:1
          |
        3 | [[operation]]
          | ^^^^^^^^^^^^^

        hint: docs/reference/gateway.md shows every key of such a file
    "#]]);
    world.run("serve --check nowhere").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: nowhere has nothing to serve: expected APIs in apis/*.toml, flows in flows/*.toml, `[serve.queues]`, or `[serve.admin]` for jobs and partners

        hint: `quayline new` writes a project that serves an API; docs/reference/project.md lists the files of a project
    "#]]);
}
