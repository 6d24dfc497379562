use std::fs;

use quayline_cobol::copybook::{CopyError, CopyLibrary as _};
use quayline_project::CopyFolders;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, bytes).expect("written");
    }
    folder
}

#[track_caller]
fn check(files: &[(&str, &[u8])], member: &str, library: Option<&str>, expected: Option<&str>) {
    let folder = folder(files);
    let found = CopyFolders::new(vec![folder.path().into()]).find(member, library).expect("readable");
    let relative = found.map(|m| m.path.strip_prefix(folder.path()).expect("inside").display().to_string());
    assert_eq!(relative.as_deref(), expected);
}

#[test]
fn extensions_are_tried_in_order() {
    check(&[("A.cob", b""), ("A.cpy", b"")], "A", None, Some("A.cpy"));
    check(&[("A", b""), ("A.CBL", b"")], "A", None, Some("A.CBL"));
    check(&[("A", b"")], "A", None, Some("A"));
    check(&[("A.x", b""), ("A.x.cpy", b"")], "A.x", None, Some("A.x"));
    check(&[("B.cpy", b"")], "A", None, None);
}

#[test]
fn case_differs_only_where_nothing_fits_exactly() {
    check(&[("cust.Cpy", b"")], "CUST", None, Some("cust.Cpy"));
    check(&[("cust.cpy", b""), ("CUST.cbl", b"")], "CUST", None, Some("CUST.cbl"));
}

#[test]
fn a_library_is_a_sub_folder() {
    let files: &[(&str, &[u8])] = &[("A.cpy", b""), ("lib/A.cpy", b"")];
    check(files, "A", Some("LIB"), Some("lib/A.cpy"));
    check(files, "A", Some("OTHER"), Some("A.cpy"));
}

#[test]
fn a_member_cannot_lead_out_of_its_folder() {
    let outer = folder(&[("secret.cpy", b""), ("in/A.cpy", b"")]);
    let folders = CopyFolders::new(vec![outer.path().join("in")]);
    assert_eq!(folders.find("../secret", None).expect("readable"), None);
    assert_eq!(folders.find("A", Some("..")).expect("readable").map(|m| m.path), Some(outer.path().join("in/A.cpy")));
}

/// Regression: such members were not found, and the finding named the file that exists as one that was looked for.
#[test]
fn a_member_may_name_sub_folders() {
    let files: &[(&str, &[u8])] = &[("sub/fields.cpy", b""), ("sub/deep/f.cpy", b""), ("lib/sub/fields.cpy", b"")];
    check(files, "sub/fields.cpy", None, Some("sub/fields.cpy"));
    check(files, "SUB/FIELDS", None, Some("sub/fields.cpy"));
    check(files, "./sub\\deep/f.cpy", None, Some("sub/deep/f.cpy"));
    check(files, "sub/fields.cpy", Some("LIB"), Some("lib/sub/fields.cpy"));
    check(files, "sub/../sub/fields.cpy", None, None);
    check(files, "sub", None, None);
    let folder = folder(files);
    let folders = CopyFolders::new(vec![folder.path().into()]);
    for member in ["/etc/passwd", "../x", "sub/../../x"] {
        let told = folders.member(member, None).expect_err(member).to_string();
        assert!(told.contains("leads out of the folders"), "{told}");
    }
    let members = quayline_project::CopyMembers::new(vec![folder.path().into()]);
    members.member("sub/fields.cpy", None).expect("found");
    assert_eq!(members.into_files(), [folder.path().join("sub/fields.cpy")]);
}

#[test]
fn text_that_is_not_utf8_is_latin1() {
    let folder = folder(&[("A.cpy", b"* gr\xfc\xdfe")]);
    let found = CopyFolders::new(vec!["/not/there".into(), folder.path().into()]).find("a", None).expect("readable");
    assert_eq!(found.expect("found").text, "* gr\u{fc}\u{df}e");
}

#[test]
fn copybooks_find_their_members_here() {
    let folder = folder(&[("outer.cpy", b""), ("INNER.CPY", b"       05 B PIC X(3).\n")]);
    let folders = CopyFolders::new(vec![folder.path().into()]);
    let found = folders.member("INNER", None).expect("found");
    assert!(found.name.ends_with("INNER.CPY"), "{}", found.name);
    let missing = folders.member("NOPE", Some("LIB")).expect_err("not there");
    let CopyError::NotFound { tried } = missing else { panic!("{missing:?}") };
    assert_eq!(tried.len(), 2);
    assert!(tried[0].contains("LIB") && tried[0].contains("NOPE.cpy"), "{tried:?}");
}
