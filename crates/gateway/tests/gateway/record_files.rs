//! Services and APIs of record files: contradictions are found in the files, without a store.

use quayline_cobol::layout::Dialect;
use quayline_core::{Findings, Limits};
use quayline_gateway::{
    Conditions, Definitions, FileAction, FileProposal, OperationLane, Proposed, ProposedFile, Request, layout_of,
};

const COPYBOOK: &str = "
       01 CUSTOMER.
          05 CUST-KEY.
             10 BRANCH  PIC X(2).
             10 CUST-ID PIC 9(4).
          05 NAME       PIC X(8).
          05 LINES-USED PIC 9.
          05 LINE-TEXT  PIC X(4) OCCURS 3 TIMES.
";

const SLIDING: &str = "
       01 CUSTOMER.
          05 CUST-KEY   PIC X(6).
          05 LINES-USED PIC 9.
          05 LINE-TEXT  PIC X(4) OCCURS 0 TO 3 TIMES
             DEPENDING ON LINES-USED.
          05 NAME       PIC X(8).
";

const PROVIDER: &str =
    "kind = \"file\"\nfile = \"CUSTOMER\"\nkey = \"CUST-KEY\"\n[[provider.index]]\nname = \"NAME\"\nfield = \"NAME\"\n";

/// Returns the findings of a project with one service and one operation.
fn findings(copybook: &str, provider: &str, interface: &str, operation: &str) -> String {
    definitions(copybook, provider, interface, operation)
        .err()
        .map_or_else(String::new, |findings| findings.to_string())
}

fn definitions(copybook: &str, provider: &str, interface: &str, operation: &str) -> Result<Definitions, Findings> {
    let folder = tempfile::tempdir().unwrap();
    for sub in ["services", "apis"] {
        std::fs::create_dir_all(folder.path().join(sub)).unwrap();
    }
    std::fs::write(folder.path().join("a.cpy"), copybook).unwrap();
    let service =
        format!("copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\n{provider}\n[request]\n{interface}\n");
    std::fs::write(folder.path().join("services/s.toml"), service).unwrap();
    let api = format!("base-path = \"/v\"\n[[operation]]\nservice = \"s\"\n{operation}\n");
    std::fs::write(folder.path().join("apis/a.toml"), api).unwrap();
    Definitions::load(folder.path())
}

/// Returns the warnings of a service of which `FIELD` is the key, with a browse of `matching`.
fn warnings_of_a_browse(field: &str, matching: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    for sub in ["services", "apis"] {
        std::fs::create_dir_all(folder.path().join(sub)).unwrap();
    }
    let service =
        "copybook = \"a.cpy\"\nencoding = \"cp037\"\n[provider]\nkind = \"file\"\nfile = \"F\"\nkey = \"K\"\n";
    std::fs::write(folder.path().join("services/s.toml"), service).unwrap();
    let copybook = format!("       01 R.\n          05 K {field}.\n          05 V PIC X(4).\n");
    std::fs::write(folder.path().join("a.cpy"), copybook).unwrap();
    let api = format!(
        "base-path = \"/v\"\n[[operation]]\nservice = \"s\"\nmethod = \"GET\"\npath = \"/c\"\naction = \"browse\"\n{matching}\n{}",
        parameter("k", "query", "K")
    );
    std::fs::write(folder.path().join("apis/a.toml"), api).unwrap();
    let found = Definitions::load(folder.path()).unwrap();
    found.apis[0].warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A client that asked for the records from -5 on got those whose bytes are greater.
#[test]
fn a_browse_from_a_number_whose_bytes_have_another_order_is_a_warning() {
    for (field, kind) in [
        ("PIC S9(5) COMP-3", "K is a packed number with a sign"),
        ("PIC S9(5)", "K is a DISPLAY number with a sign"),
        ("PIC S9(5) SIGN LEADING SEPARATE", "K is a DISPLAY number with a sign"),
        ("PIC S9(5) COMP", "K is a binary number with a sign"),
        ("COMP-2", "K is a floating-point number"),
        ("PIC ZZZ9", "K is a numeric-edited field"),
    ] {
        let found = warnings_of_a_browse(field, "match = \"from\"");
        finds(&found, &["warning[GTW-016]", kind, "a.toml"]);
        assert_eq!(warnings_of_a_browse(field, "match = \"equal\""), "", "{field}");
    }
    for field in ["PIC 9(5) COMP-3", "PIC 9(5)", "PIC 9(5) COMP", "PIC X(5)"] {
        assert_eq!(warnings_of_a_browse(field, "match = \"from\""), "", "{field}");
    }
}

fn parameter(name: &str, place: &str, field: &str) -> String {
    format!("[[operation.parameter]]\nname = \"{name}\"\nin = \"{place}\"\nfield = \"{field}\"\n")
}

#[track_caller]
fn finds(found: &str, expected: &[&str]) {
    for part in expected {
        assert!(found.contains(part), "`{part}` is not in\n{found}");
    }
}

#[test]
fn providers() {
    let get = format!("method = \"GET\"\npath = \"/c/{{k}}\"\n{}", parameter("k", "path", "CUST-KEY"));
    for (provider, expected) in [
        ("kind = \"file\"", ["GTW-006", "needs `file`", "needs `key`"]),
        ("kind = \"file\"\nfile = \"F\"\nkey = \"NOWHERE\"", ["GTW-003", "NOWHERE", "s.toml"]),
        ("kind = \"file\"\nfile = \"F\"\nkey = \"LINE-TEXT\"", ["GTW-012", "a key is not in a table", "s.toml"]),
        (
            "kind = \"file\"\nfile = \"F\"\nkey = \"CUST-KEY\"\nworkers = 2",
            ["GTW-012", "`workers`", "not a key of a file provider"],
        ),
        ("kind = \"queue\"", ["GTW-006", "needs `queue`", "s.toml"]),
        ("kind = \"queue\"\nqueue = 4", ["GTW-005", "`queue` is not a name", "s.toml"]),
        ("kind = \"queue\"\nqueue = \"Q\"\nwaiting = 2", ["GTW-012", "`waiting` without a `reply-queue`", "s.toml"]),
        ("kind = \"queue\"\nqueue = \"Q\"\npriority = 10", ["GTW-005", "expected 0 to 9, found 10", "s.toml"]),
    ] {
        finds(&findings(COPYBOOK, provider, "", &get), &expected);
    }
    let twice = format!("{PROVIDER}[[provider.index]]\nname = \"NAME\"\nfield = \"BRANCH\"\n");
    finds(&findings(COPYBOOK, &twice, "", &get), &["GTW-004", "two indexes have this name"]);
    let behind = "kind = \"file\"\nfile = \"F\"\nkey = \"NAME\"";
    finds(&findings(SLIDING, behind, "", &get), &["GTW-012", "follows a table of varying length"]);
}

#[test]
fn operations() {
    let branch = parameter("branch", "path", "BRANCH");
    let id = parameter("id", "path", "CUST-ID");
    let both = format!("{branch}{id}");
    let found = |operation: &str| findings(COPYBOOK, PROVIDER, "", operation);
    for (method, path, more) in [
        ("GET", "/c/{branch}/{id}", both.as_str()),
        ("GET", "/c", "action = \"browse\"\nby = \"NAME\"\nmatch = \"generic\"\npage = { default = 5, most = 10 }\n"),
        ("POST", "/c", ""),
        ("PUT", "/c/{branch}/{id}", &both),
        ("PATCH", "/c/{branch}/{id}", &both),
        ("DELETE", "/c/{branch}/{id}", &both),
        ("GET", "/c/B1/{id}", &format!("assign = {{ \"BRANCH\" = \"B1\" }}\n{id}")),
    ] {
        assert_eq!(found(&format!("method = \"{method}\"\npath = \"{path}\"\n{more}")), "", "{method} {path}");
    }
    let get = |more: &str| found(&format!("method = \"GET\"\npath = \"/c\"\n{more}"));
    finds(&get("action = \"fetch\""), &["GTW-005", "`fetch` is not an action", "read, insert, replace"]);
    finds(&get("action = \"delete\""), &["GTW-012", "GET does not fit the action `delete`"]);
    finds(&get("action = \"browse\"\nby = \"CITY\""), &["GTW-003", "no index `CITY`", "the indexes are NAME"]);
    finds(&get("action = \"browse\"\nmatch = \"like\""), &["GTW-005", "`like` is not a value of `match`"]);
    finds(&get("action = \"browse\"\npage = { most = 20000 }"), &["GTW-005", "1 to 10000 records, found 20000"]);
    finds(&get("action = \"browse\"\n[operation.body]\n"), &["GTW-012", "takes no body"]);
    finds(
        &get(
            "action = \"browse\"\n[[operation.response]]\nstatus = 404\nwhen = [{ field = \"LINES-USED\", equals = 1 }]\n[[operation.response]]\nstatus = 200\n",
        ),
        &["GTW-012", "a browse has one response"],
    );
    finds(&get(&format!("action = \"browse\"\n{}", parameter("limit", "query", "BRANCH"))), &["GTW-004", "`limit`"]);
    finds(
        &get(&format!("action = \"browse\"\n{}", parameter("n", "query", "NAME"))),
        &["GTW-012", "not part of the key"],
    );
    finds(
        &found(&format!("method = \"GET\"\npath = \"/c/{{branch}}\"\n{branch}")),
        &["GTW-012", "which record", "CUST-ID"],
    );
    finds(&found("method = \"DELETE\"\npath = \"/c\"\nby = \"NAME\"\n"), &["GTW-012", "changed by their primary key"]);
    let hidden = findings(COPYBOOK, PROVIDER, "exclude = [\"CUST-ID\"]", "method = \"POST\"\npath = \"/c\"");
    finds(&hidden, &["GTW-012", "do not set all of the key", "2 of 6 bytes"]);
    let other = findings(
        COPYBOOK,
        "kind = \"queue\"\nqueue = \"Q\"",
        "",
        "method = \"POST\"\npath = \"/c\"\naction = \"insert\"\n",
    );
    finds(&other, &["GTW-012", "`action` belongs to operations of a record file"]);
}

/// A delete was accepted with a body that it never has, and pages of a browse without bodies were `{"items":[,]}`.
#[test]
fn responses_that_an_action_cannot_give_are_refused() {
    let key = format!("{}{}", parameter("branch", "path", "BRANCH"), parameter("id", "path", "CUST-ID"));
    let delete = format!("method = \"DELETE\"\npath = \"/c/{{branch}}/{{id}}\"\n{key}");
    let browse = "method = \"GET\"\naction = \"browse\"\npath = \"/c\"\n".to_owned();
    let when = "when = [{ field = \"NAME\", equals = \"A\" }]\n";
    let response = |status: u16, more: &str| format!("[[operation.response]]\nstatus = {status}\n{more}");
    let none = response(204, "body = \"none\"\n");
    for (operation, responses, expected) in [
        (&delete, none.clone(), ""),
        (&delete, response(200, ""), "the answer to a delete has no body"),
        (&delete, response(404, "body = \"problem\"\n"), "the answer to a delete has no body"),
        (&delete, response(204, ""), "has no body"),
        (&delete, response(204, &format!("body = \"none\"\n{when}")), "a delete has one response"),
        (&delete, format!("{}{none}", response(200, when)), "a delete has one response"),
        (&browse, response(200, ""), ""),
        (&browse, response(200, "body = \"none\"\n"), "the answer to a browse is a page"),
        (&browse, response(200, "body = \"problem\"\n"), "the answer to a browse is a page"),
        (&browse, format!("{}{}", response(200, when), response(200, "")), "a browse has one response"),
    ] {
        let found = findings(COPYBOOK, PROVIDER, "", &format!("{operation}{responses}"));
        assert_eq!(found.is_empty(), expected.is_empty(), "{responses}: {found}");
        assert!(
            found.contains(expected) && (found.is_empty() || found.contains("GTW-012") || found.contains("GTW-005")),
            "{responses}: {found}"
        );
        assert!(found.matches("GTW-").count() <= 1, "one finding for one fault: {found}");
    }
}

/// `%6Cimit=1` was accepted and had no effect.
#[test]
fn names_of_page_parameters_may_be_encoded() {
    let browse = "method = \"GET\"\naction = \"browse\"\npath = \"/c\"\n";
    let definitions = definitions(COPYBOOK, PROVIDER, "", browse).unwrap_or_else(|findings| panic!("{findings}"));
    let operation = &definitions.operations[0];
    for (query, count) in [("", 50), ("limit=1", 1), ("%6Cimit=1", 1)] {
        let request = Request { path_values: &[], query, header: &|_| None, body: b"", media_type: None };
        let call = OperationLane::new(operation).record_call(operation, &request, Conditions::default()).unwrap();
        assert_eq!(call.count, count, "{query}");
    }
}

/// Regression: a browse for a name found the records of one of its codes, and left the others out with 200.
#[test]
fn a_key_with_one_name_for_several_codes_is_refused() {
    let copybook = "
       01 O.
          05 ID    PIC X(2).
          05 STATE PIC X.
             88 DONE VALUE 'D' 'E'.
             88 OPEN VALUE 'O'.
";
    let provider = |write: &str| {
        format!(
            "kind = \"file\"\nfile = \"F\"\nkey = \"ID\"\n[[provider.index]]\nname = \"S\"\nfield = \"STATE\"\n\
             [[type]]\nfield = \"STATE\"\nis = \"codes\"\n{write}"
        )
    };
    let browse = format!("method = \"GET\"\npath = \"/c/{{k}}\"\nby = \"S\"\n{}", parameter("k", "path", "STATE"));
    let write = "write = { done = \"E\" }";
    let found = findings(copybook, &provider(write), "key-style = \"camel\"", &browse);
    finds(
        &found,
        &["GTW-012", "`done` names several codes of STATE, and the operation would find only the records with `E`"],
    );
    let read = format!("method = \"GET\"\npath = \"/c/{{k}}\"\n{}", parameter("k", "path", "ID"));
    assert_eq!(findings(copybook, &provider(write), "key-style = \"camel\"", &read), "");
    let one = copybook.replace("'D' 'E'", "'D'");
    assert_eq!(findings(&one, &provider(""), "key-style = \"camel\"", &browse), "");
}

/// A field after a table of varying length has no fixed position, so it cannot be kept.
#[test]
fn records_of_varying_length_are_replaced_whole_or_not_at_all() {
    let provider = "kind = \"file\"\nfile = \"F\"\nkey = \"CUST-KEY\"";
    let operation =
        |method: &str| format!("method = \"{method}\"\npath = \"/c/{{k}}\"\n{}", parameter("k", "path", "CUST-KEY"));
    assert_eq!(findings(SLIDING, provider, "", &operation("PUT")), "");
    finds(&findings(SLIDING, provider, "", &operation("PATCH")), &["GTW-012", "single members cannot be updated"]);
    let hidden = findings(SLIDING, provider, "exclude = [\"NAME\"]", &operation("PUT"));
    finds(&hidden, &["GTW-012", "a replacement would lose it"]);
}

#[test]
fn a_proposal_compiles_and_says_what_it_does() {
    for (copybook, key, actions) in [(COPYBOOK, "CUST-KEY", 7), (SLIDING, "CUST-KEY", 5)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cpy");
        std::fs::write(&path, copybook).unwrap();
        for sub in ["services", "apis"] {
            std::fs::create_dir_all(folder.path().join(sub)).unwrap();
        }
        let dialect = Dialect::preset("ibm").unwrap();
        let layout = layout_of(&path, None, &dialect, &Limits::default()).unwrap();
        let indexes = [("CUST.NAME".to_owned(), "NAME".to_owned())];
        let proposal = FileProposal::new(
            &layout,
            ProposedFile {
                from: Proposed {
                    copybook: "a.cpy",
                    record: None,
                    encoding: "ascii",
                    dialect: "ibm",
                    parameters: &[],
                    program: None,
                    source: None,
                    is_free: false,
                },
                name: "customer",
                file: "CUSTOMER",
                key,
                indexes: if actions == 7 { &indexes } else { &[] },
            },
        )
        .unwrap();
        std::fs::write(folder.path().join("services/customer.toml"), &proposal.service).unwrap();
        std::fs::write(folder.path().join("apis/customer.toml"), &proposal.api).unwrap();
        let definitions = Definitions::load(folder.path()).unwrap_or_else(|findings| panic!("{findings}"));
        let all = definitions.operations.iter().map(|operation| operation.file_action());
        assert_eq!(all.clone().count(), actions);
        assert_eq!(all.filter(|action| *action == Some(FileAction::Update)).count(), usize::from(actions == 7));
    }
}

/// An update that set a list and not its counter answered 200 and dropped the elements that the old counter does not count, or showed an empty one.
/// A list that an update sets now sets its counter with it, wherever that is, and whether or not requests show it.
#[test]
fn an_update_of_a_list_sets_its_counter() {
    const ODO: &str = "
       01 R.
          05 K PIC X(3).
          05 N PIC 9(2).
          05 T PIC X(2) OCCURS 0 TO 5 TIMES DEPENDING ON N.
";
    const FIXED: &str = "
       01 R.
          05 K PIC X(3).
          05 N PIC 9(2).
          05 T PIC X(2) OCCURS 5 TIMES.
          05 U PIC X(1) OCCURS 5 TIMES.
";
    let counter = |list: &str| format!("[[counter]]\nlist = \"{list}\"\nfield = \"N\"\n");
    let one = counter("T");
    let both = format!("{one}{}", counter("U"));
    // Copybook, counters, hidden in requests, old record, body, and the new record or what is wrong.
    for (copybook, counters, hidden, old, body, expected) in [
        (ODO, "", "", "K  021122      ", r#"{"T":["AA","BB","CC"]}"#, "K  03AABBCC    "),
        (ODO, "", "", "K  021122      ", r#"{"T":["XX"]}"#, "K  01XX        "),
        (ODO, "", "", "K  021122      ", r#"{"T":[]}"#, "K  00          "),
        (ODO, "", "", "K  021122      ", r#"{"T":["XX"],"N":1}"#, "K  01XX        "),
        (ODO, "", "", "K  021122      ", r#"{"T":["XX"],"N":2}"#, "$.T REC-031"),
        (ODO, "", "", "K  021122      ", r#"{"N":4}"#, "$.T required"),
        (ODO, "", "N", "K  021122      ", r#"{"T":["XX"]}"#, "K  01XX        "),
        (FIXED, one.as_str(), "", "K  021122      abcde", r#"{"T":["AA","BB","CC"]}"#, "K  03AABBCC    abcde"),
        (FIXED, &one, "N", "K  021122      abcde", r#"{"T":["XX"]}"#, "K  01XX        abcde"),
        (FIXED, &one, "", "K  021122      abcde", r#"{"U":["Z"]}"#, "K  021122      Z    "),
        // Two lists with one counter change together.
        (FIXED, &both, "", "K  021122      ab   ", r#"{"T":["XX"]}"#, "$.U required"),
        (FIXED, &both, "", "K  021122      ab   ", r#"{"T":["XX"],"U":["z"]}"#, "K  01XX        z    "),
    ] {
        let hide = if hidden.is_empty() { String::new() } else { format!("exclude = [\"{hidden}\"]\n") };
        let service = format!("[options]\ninitialize = \"initial\"\n[request]\n{hide}{counters}");
        let definitions =
            operation_on(copybook, ("gnucobol", &service), "PATCH").unwrap_or_else(|found| panic!("{found}"));
        let made = merged(&definitions, body, old);
        assert_eq!(made, expected, "{body} over `{old}`, hidden `{hidden}`");
    }
}

/// A null in an update was a 200 that changed nothing: the member counted as absent, and absent members keep their values.
#[test]
fn a_null_in_an_update_sets_the_initial_value_or_is_refused() {
    const FIXED: &str = "
       01 R.
          05 K PIC X(3).
          05 N PIC 9(2).
          05 G.
             10 A PIC X(2).
             10 B PIC 9(2).
          05 T PIC X(1) OCCURS 3 TIMES.
";
    let old = "K  12xy34abc";
    for (options, method, body, expected) in [
        ("initialize = \"initial\"", "PATCH", r#"{"N":null}"#, "K  00xy34abc"),
        ("initialize = \"initial\"", "PATCH", r#"{"N":""}"#, "K  00xy34abc"),
        ("initialize = \"initial\"", "PATCH", r#"{"G":{"A":null}}"#, "K  12  34abc"),
        ("initialize = \"initial\"", "PATCH", r#"{"G":null}"#, "K  12  00abc"),
        ("initialize = \"initial\"", "PATCH", r#"{"T":null,"N":7}"#, "K  07xy34   "),
        ("initialize = \"initial\"", "PATCH", r#"{"T":["z",null]}"#, "K  12xy34z  "),
        ("initialize = \"initial\"", "PATCH", r#"{"K":null}"#, "$.K closed"),
        // Not a number, without an initial value.
        ("", "PATCH", r#"{"N":null}"#, "$.N null"),
        ("", "PATCH", r#"{"G":null}"#, "$.G.A null"),
        ("", "PATCH", r#"{"T":null}"#, "$.T null"),
        ("default", "PATCH", r#"{"N":null}"#, "K  05xy34abc"),
        // A replacement gives each absent member its initial value.
        ("initialize = \"initial\"", "PUT", r#"{"N":null,"G":{"A":null,"B":1},"T":null}"#, "K  00  01   "),
    ] {
        let (options, default) = if options == "default" { ("", "default = { N = 5 }\n") } else { (options, "") };
        let service = format!("[options]\nlenient-requests = true\n{options}\n[request]\n{default}");
        let definitions = operation_on(FIXED, ("ibm", &service), method).unwrap_or_else(|found| panic!("{found}"));
        let made = merged(&definitions, body, old);
        assert_eq!(made, expected, "{body} {method} {options}{default}");
    }
}

/// An operation on a record file whose service has a dialect and more, or the findings about it.
fn operation_on(copybook: &str, (dialect, more): (&str, &str), method: &str) -> Result<Definitions, String> {
    let folder = tempfile::tempdir().unwrap();
    for sub in ["services", "apis"] {
        std::fs::create_dir_all(folder.path().join(sub)).unwrap();
    }
    std::fs::write(folder.path().join("a.cpy"), copybook).unwrap();
    let service = format!(
        "copybook = \"a.cpy\"\nencoding = \"ascii\"\ndialect = \"{dialect}\"\n[provider]\nkind = \"file\"\nfile = \"F\"\nkey = \"K\"\n{more}"
    );
    std::fs::write(folder.path().join("services/s.toml"), service).unwrap();
    let api = format!(
        "base-path = \"/v\"\n[[operation]]\nmethod = \"{method}\"\npath = \"/c/{{k}}\"\nservice = \"s\"\n{}",
        parameter("k", "path", "K")
    );
    std::fs::write(folder.path().join("apis/a.toml"), api).unwrap();
    Definitions::load(folder.path()).map_err(|findings| findings.to_string())
}

/// An operation whose requests do not show some fields.
fn operation_without(copybook: &str, exclude: &str, method: &str) -> Result<Definitions, String> {
    let more = format!("[options]\ninitialize = \"initial\"\n[request]\nexclude = [{exclude}]\n");
    operation_on(copybook, ("ibm", &more), method)
}

/// Returns the record that a request makes of the stored one, or the first field in error and its rule.
fn merged(definitions: &Definitions, body: &str, old: &str) -> String {
    let operation = &definitions.apis[0].operations[0];
    let request = Request {
        path_values: &[if old.starts_with("0001") { "0001" } else { "K" }],
        query: "",
        header: &|_| None,
        body: body.as_bytes(),
        media_type: Some("application/json"),
    };
    let call = OperationLane::new(operation).record_call(operation, &request, Conditions::default());
    let made = call.and_then(|call| {
        let new = call.merged(old.as_bytes());
        call.check(Some(old.as_bytes()), &new).map(|()| new)
    });
    match made {
        Ok(record) => String::from_utf8(record).unwrap(),
        Err(problem) => format!("{} {}", problem.errors[0].field, problem.errors[0].rule),
    }
}

/// The selector of a view was that of the request alone: an update without it was refused, or made a record that nobody could read.
#[test]
fn views_of_an_update_are_chosen_by_the_selector_of_the_record() {
    const PAY: &str = "
       01 PAY.
          05 K PIC X(4).
          05 KIND PIC X.
          05 RAW PIC X(8).
          05 CARD REDEFINES RAW.
             10 C-NO PIC 9(6).
             10 C-EXP PIC 9(2).
          05 TBL REDEFINES RAW.
             10 T PIC 9 OCCURS 4 TIMES.
          05 NOTE PIC X(2).
";
    let choose = |side: &str, otherwise: &str| {
        format!(
            "[[{side}.choose]]\nstorage = \"RAW\"\nby = \"KIND\"\nwhen = {{ C = \"CARD\", T = \"TBL\" }}\n{otherwise}"
        )
    };
    let (raw, none) = ("otherwise = \"RAW\"\n", "");
    let (card, text) = ("K   C12345629no", "K   RABCDEFGHno");
    for (old, otherwise, method, body, expected) in [
        (card, raw, "PATCH", r#"{"CARD":{"C-EXP":30}}"#, "K   C12345630no"),
        (card, none, "PATCH", r#"{"CARD":{"C-EXP":30}}"#, "K   C12345630no"),
        (card, raw, "PATCH", r#"{"NOTE":"x"}"#, "K   C12345629x "),
        (card, raw, "PATCH", r#"{"RAW":"free"}"#, "$.RAW REC-037"),
        (card, raw, "PATCH", r#"{"RAW":"12345678"}"#, "$.RAW REC-037"),
        (card, raw, "PATCH", r#"{"TBL":{"T":[1]}}"#, "$.TBL REC-037"),
        (card, raw, "PATCH", r#"{"KIND":"R"}"#, "K   R12345629no"),
        (card, raw, "PATCH", r#"{"KIND":"R","RAW":"free"}"#, "K   Rfree    no"),
        (card, none, "PATCH", r#"{"KIND":"R"}"#, "$.RAW REC-013"),
        (text, raw, "PATCH", r#"{"KIND":"C"}"#, "$.CARD.C-NO REC-001"),
        (text, raw, "PATCH", r#"{"KIND":"C","CARD":{"C-NO":7,"C-EXP":1}}"#, "K   C00000701no"),
        // What could not be read before may be changed, and corrected.
        ("K   CABCDEFGHno", raw, "PATCH", r#"{"NOTE":"x"}"#, "K   CABCDEFGHx "),
        ("K   CABCDEFGHno", raw, "PATCH", r#"{"CARD":{"C-NO":7,"C-EXP":1}}"#, "K   C00000701no"),
        (card, raw, "PUT", r#"{"KIND":"R","RAW":"free","NOTE":"x"}"#, "K   Rfree    x "),
        (card, raw, "PUT", r#"{"KIND":"R","CARD":{"C-NO":7},"NOTE":"x"}"#, "$.CARD REC-037"),
    ] {
        let interfaces = format!("{}{}", choose("request", otherwise), choose("response", otherwise));
        let service = format!("[options]\ninitialize = \"initial\"\n{interfaces}");
        let definitions = operation_on(PAY, ("ibm", &service), method).unwrap_or_else(|found| panic!("{found}"));
        assert_eq!(merged(&definitions, body, old), expected, "{method} {body} over `{old}` {otherwise}");
    }
}

/// PUT and PATCH wrote whole elements of tables: FILLER and fields that requests do not show became blanks.
#[test]
fn tables_of_a_request_keep_the_bytes_that_it_does_not_show() {
    const TABLES: &str = "
       01 R.
          05 K PIC X(4).
          05 FILLER PIC X(2).
          05 LIN OCCURS 2.
             10 ITEM PIC X(3).
             10 FILLER PIC X(2).
             10 SIZES OCCURS 2.
                15 W PIC 9.
                15 FILLER PIC X.
";
    for method in ["PUT", "PATCH"] {
        let definitions = operation_without(TABLES, "", method).unwrap();
        let old = "0001ffAAAxx1a2bBBByy3c4dTAIL";
        let body = r#"{"LIN":[{"ITEM":"A2","SIZES":[{"W":7},{"W":8}]},{"ITEM":"BBB","SIZES":[{"W":9}]}]}"#;
        assert_eq!(merged(&definitions, body, old), "0001ffA2 xx7a8bBBByy9c0dTAIL", "{method}");
        assert_eq!(merged(&definitions, r#"{"LIN":[]}"#, old), "0001ff   xx0a0b   yy0c0dTAIL", "{method}");
        // Nobody can say to which element the content of a hidden field belongs.
        let named = TABLES.replace("10 FILLER", "10 COST");
        let found = operation_without(&named, "\"COST\"", method).unwrap_err();
        assert!(found.contains("GTW-012") && found.contains("LIN and do not show COST"), "{found}");
        assert!(operation_without(&named, "\"LIN\"", method).is_ok());
    }
    assert!(operation_without(&TABLES.replace("10 FILLER", "10 COST"), "\"COST\"", "POST").is_ok());
    // A table in an element sets its counter, which requests do not show.
    let counted = "
       01 R.
          05 K PIC X(4).
          05 LIN OCCURS 2.
             10 N PIC 9.
             10 T PIC X OCCURS 0 TO 2 DEPENDING ON N.
             10 FILLER PIC X.
";
    let hidden = "[options]\ninitialize = \"initial\"\n[request]\nexclude = [\"N\"]\n";
    let definitions = operation_on(counted, ("gnucobol", hidden), "PUT").unwrap();
    let body = r#"{"LIN":[{"T":["a","b"]},{"T":[]}]}"#;
    assert_eq!(merged(&definitions, body, "00012xxf1yzg"), "00012abf0  g");
}

/// PUT of a record whose length varies lost the bytes after its fields.
#[test]
fn a_replaced_record_of_varying_length_keeps_the_bytes_after_its_fields() {
    const VARYING: &str = "
       01 R.
          05 K PIC X(4).
          05 N PIC 9.
          05 LIN OCCURS 0 TO 4 DEPENDING ON N.
             10 ITEM PIC X(3).
             10 AMT PIC 9(3).
";
    let definitions = operation_without(VARYING, "", "PUT").unwrap();
    let same = r#"{"LIN":[{"ITEM":"AAA","AMT":1},{"ITEM":"BBB","AMT":2}]}"#;
    assert_eq!(merged(&definitions, same, "00012AAA001BBB002TAIL"), "00012AAA001BBB002TAIL");
    assert_eq!(merged(&definitions, r#"{"LIN":[]}"#, "00012AAA001BBB002TAIL"), "00010TAIL");
    assert_eq!(merged(&definitions, same, "00010"), "00012AAA001BBB002");
    // Of a record that has no valid counter, nothing is known.
    assert_eq!(merged(&definitions, same, "0001xAAA"), "00012AAA001BBB002");
    let filler = VARYING.replace("10 AMT PIC 9(3).", "10 FILLER PIC X(3).");
    assert!(operation_without(&filler, "", "PUT").unwrap_err().contains("does not show all"));
}

/// Regression: PUT of a record of varying length lost the bytes after its fields if its length depended on more than counters before all tables.
#[test]
fn bytes_after_a_record_of_any_varying_length_are_kept() {
    const HEAD: &str = "\n       01 R.\n          05 K PIC X(4).\n          05 N PIC 9.\n";
    const VIEWS: &str = "          05 A PIC 9(3).\n          05 B REDEFINES A PIC X(3).\n          05 T OCCURS 0 TO 3 DEPENDING ON N PIC X(2).\n";
    const NESTED: &str = "          05 L OCCURS 0 TO 3 DEPENDING ON N.\n             10 M PIC 9.\n             10 U OCCURS 0 TO 2 DEPENDING ON M PIC X.\n";
    const SECOND: &str = "          05 T OCCURS 0 TO 3 DEPENDING ON N PIC X(2).\n          05 M PIC 9.\n          05 U OCCURS 0 TO 2 DEPENDING ON M PIC X.\n";
    for (fields, body, old, expected) in [
        (VIEWS, r#"{"A":7,"T":["cd"]}"#, "00012001aabbTAIL5", "00011007cdTAIL5"),
        (VIEWS, r#"{"A":7,"T":["cd"]}"#, "00010001TAIL5", "00011007cdTAIL5"),
        (NESTED, r#"{"L":[{"U":["x"]},{"U":[]}]}"#, "000112abTAIL5", "000121x0TAIL5"),
        (SECOND, r#"{"T":["cd"],"U":["x","y"]}"#, "00012aabb1xTAIL5", "00011cd2xyTAIL5"),
    ] {
        let definitions = operation_without(&format!("{HEAD}{fields}"), "", "PUT").unwrap();
        assert_eq!(merged(&definitions, body, old), expected, "{fields}");
    }
}

/// Regression: Quayline looked for a selector after a table at its place after a full table, and refused requests with shorter lists.
#[test]
fn a_selector_after_a_table_of_varying_length_chooses_the_view_of_a_request() {
    const PAY: &str = "
       01 R.
          05 K PIC X(4).
          05 N PIC 9.
          05 T OCCURS 0 TO 3 DEPENDING ON N PIC X(2).
          05 S PIC X.
          05 A PIC 9(3).
          05 B REDEFINES A PIC X(3).
";
    let choose = |side: &str| {
        format!("[[{side}.choose]]\nstorage = \"A\"\nby = \"S\"\nwhen = {{ \"1\" = \"A\", \"2\" = \"B\" }}\n")
    };
    let service = format!("[options]\ninitialize = \"initial\"\n{}{}", choose("request"), choose("response"));
    for method in ["PUT", "POST"] {
        let definitions = operation_on(PAY, ("ibm", &service), method).unwrap_or_else(|found| panic!("{found}"));
        for count in 0..=3 {
            let list = ["\"aa\"", "\"bb\"", "\"cc\""][..count].join(",");
            let elements = &"aabbcc"[..2 * count];
            for (view, end) in [(r#""S":"1","A":12"#, "1012"), (r#""S":"2","B":"xyz""#, "2xyz")] {
                let made = merged(&definitions, &format!(r#"{{"T":[{list}],{view}}}"#), "00010");
                assert_eq!(made, format!("0001{count}{elements}{end}"), "{method}");
            }
            let other = format!(r#"{{"T":[{list}],"S":"1","B":"xyz"}}"#);
            assert_eq!(merged(&definitions, &other, "00010"), "$.B REC-037", "{method}");
        }
    }
}
