//! Parameters and rows of a statement, without a database.

use std::path::Path;
use std::sync::Arc;

use quayline_gateway::{ProviderSpec, Service, SqlForm};

fn form(folder: &Path, encoding: &str, rows: &str) -> Arc<SqlForm> {
    let copybook = "       01 R.\n          05 ASKED PIC X(4).\n          05 N PIC 9(2).\n          05 REF PIC X(2) OCCURS 4 VALUE 'zz'.\n          05 AMOUNT PIC 9(2) OCCURS 4.\n";
    form_of(copybook, folder, encoding, rows)
}

fn form_of(copybook: &str, folder: &Path, encoding: &str, rows: &str) -> Arc<SqlForm> {
    form_with(copybook, folder, (encoding, rows), "")
}

fn form_with(copybook: &str, folder: &Path, (encoding, rows): (&str, &str), options: &str) -> Arc<SqlForm> {
    std::fs::write(folder.join("r.cpy"), copybook).unwrap();
    let text = format!(
        "copybook = \"r.cpy\"\nencoding = \"{encoding}\"\n[provider]\nkind = \"sql\"\ndatabase = \"d\"\nuser = \"u\"\nquery = \"SELECT 1\"\nparameters = [\"ASKED\"]\nrows = \"{rows}\"\ncount = \"N\"\n{options}"
    );
    let service = Service::compile("services/r.toml", &text, folder).unwrap_or_else(|findings| panic!("{findings}"));
    match &service.provider {
        ProviderSpec::Sql(sql) => Arc::clone(&sql.form),
        other => panic!("{other:?}"),
    }
}

/// A reload that changed nothing but the encoding kept the old provider, which wrote bytes of the old code page.
#[test]
fn another_encoding_is_another_provider() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(form(folder.path(), "ascii", "REF"), form(folder.path(), "ascii", "REF"));
    assert_ne!(form(folder.path(), "latin1", "REF"), form(folder.path(), "cp037", "REF"));
}

/// A NULL in a list of one column let all later rows move up.
#[test]
fn a_null_keeps_its_place_in_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let record = |field: &str, rows: &[Option<&str>]| {
        let form = form(folder.path(), "ascii", field);
        let columns = form.columns(&[field.to_ascii_lowercase()]).unwrap();
        let rows: Vec<_> = rows.iter().map(|value| vec![value.map(str::to_owned)]).collect();
        String::from_utf8(form.record(&columns, &rows).unwrap()).unwrap()
    };
    // INITIALIZE leaves spaces and zeros, whatever the VALUE clause is.
    assert_eq!(&record("REF", &[Some("A"), None, Some("C")])[..14], "    03A   C   ");
    assert_eq!(&record("AMOUNT", &[Some("1"), None, Some("3")])[14..], "01000300");
}

/// A field that was not set contains low-values by default, which a text in a database cannot hold.
#[test]
fn a_text_of_low_values_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let form = form(folder.path(), "ascii", "REF");
    assert_eq!(form.parameters(b"\x00\x00\x00\x0000........"), [b""]);
    assert_eq!(form.parameters(b"AB  00........"), [b"AB"]);
}

/// With `trim = "both"`, which is for answers, a parameter lost the blank that it began with.
#[test]
fn a_parameter_has_the_blanks_before_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let copybook =
        "       01 R.\n          05 ASKED PIC X(4).\n          05 N PIC 9(2).\n          05 REF PIC X(2) OCCURS 4.\n";
    for trim in ["trailing", "both", "none"] {
        let options = format!("[options]\ntrim = \"{trim}\"\n");
        let form = form_with(copybook, folder.path(), ("ascii", "REF"), &options);
        assert_eq!(form.parameters(b" AB 00........"), [b" AB"], "{trim}");
    }
}

/// A number of a row became the nearest float of its field, and the response showed the other number.
#[test]
fn a_number_that_a_float_rounds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let copybook =
        "       01 R.\n          05 ASKED PIC X(4).\n          05 N PIC 9(2).\n          05 WEIGHT COMP-1 OCCURS 4.\n";
    let form = form_of(copybook, folder.path(), "ascii", "WEIGHT");
    let columns = form.columns(&["weight".to_owned()]).unwrap();
    let record = |text: &str| form.record(&columns, &[vec![Some("1".to_owned())], vec![Some(text.to_owned())]]);
    for kept in ["0.1", "16777216", "1e10", "0.30000001"] {
        assert!(record(kept).is_ok(), "{kept}: {:?}", record(kept));
    }
    for other in ["16777217", "0.1234567891"] {
        let refused = record(other).unwrap_err();
        assert!(refused.contains("WEIGHT is a float") && !refused.contains(other), "{refused}");
    }
}
