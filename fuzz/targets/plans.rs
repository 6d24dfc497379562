//! Copybooks for records: every usage, sign, table and redefinition.

use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{BadValue, Interface, Policies, Preserve, RecordPlan};

const COPYBOOKS: [&str; 8] = [
    "01 R. 05 A PIC X(5). 05 B PIC 9(4). 05 C PIC S9(5)V99. 05 D PIC S9(3) SIGN LEADING. 05 E PIC S9(3) SIGN TRAILING SEPARATE.
     05 F PIC S9(3) SIGN LEADING SEPARATE. 05 G PIC 9(3)PP. 05 H PIC VPP9(3).",
    "01 R. 05 A PIC S9(5) COMP-3. 05 B PIC 9(4) COMP-3. 05 C PIC S9(17)V99 COMP-3. 05 D PIC 9(5) COMP-6. 05 E PIC S9(31) COMP-3.",
    "01 R. 05 A PIC S9(4) COMP. 05 B PIC 9(9) COMP. 05 C PIC S9(18) COMP. 05 D PIC 9(4) COMP-5. 05 E PIC S9(9)V99 COMP-5.
     05 F COMP-1. 05 G COMP-2.",
    "01 R. 05 N PIC 9. 05 T OCCURS 0 TO 5 TIMES DEPENDING ON N. 10 M PIC 9. 10 U PIC X(2) OCCURS 0 TO 3 DEPENDING ON M. 05 Z PIC X(3).",
    "01 R. 05 K PIC X. 05 A PIC X(4). 05 B REDEFINES A PIC S9(7) COMP-3. 05 C REDEFINES A. 10 C1 PIC 9(2). 10 C2 PIC 9(2) COMP.",
    "01 R. 05 A PIC ZZ,ZZ9.99-. 05 B PIC $$,$$9.99CR. 05 C PIC +9(3). 05 D PIC XXBXX0X. 05 E PIC ZZ9 BLANK WHEN ZERO. 05 F PIC 99/99. 05 G PIC **9.",
    "01 R. 05 A PIC N(3). 05 B PIC X(3) JUSTIFIED RIGHT. 05 C PIC A(2). 05 D PIC 9(3) BLANK WHEN ZERO. 05 E PIC G(2) DISPLAY-1.",
    "01 R. 05 A PIC X. 05 B PIC S9(4) COMP SYNC. 05 C PIC X. 05 D PIC S9(9) COMP SYNC. 05 FILLER PIC X(2). 05 T PIC S9(3) OCCURS 3.",
];

/// The plan that a byte chooses: copybook, code page, what becomes of bad values.
pub fn plan(choice: u8, preserve: Preserve) -> RecordPlan {
    // An entry a line, in area A.
    let text: String =
        COPYBOOKS[usize::from(choice & 7)].split(". ").map(|entry| format!("       {}.\n", entry.trim())).collect();
    let text = text.replace("..\n", ".\n");
    let copybook =
        quayline_cobol::parse(&SourceText::new("fuzz.cpy", text), &ParseOptions::default()).expect("a good copybook");
    // With truncation a binary decodes that does not encode: its bytes hold more than its picture.
    let dialect = Dialect { binary_truncate: false, ..Dialect::IBM };
    let layout = Layout::build(&copybook.records[0], &dialect).expect("a good layout");
    let charset = Charset::by_name(if choice & 8 == 0 { "cp037" } else { "latin1" }).expect("a built-in code page");
    let bad = [BadValue::Error, BadValue::Null, BadValue::Raw][usize::from(choice >> 4) % 3];
    let policies = Policies { invalid: bad, blank: bad, low_values: bad, preserve, ..Policies::default() };
    RecordPlan::new(&layout, &Interface::default(), &policies, charset).expect("a good plan")
}
