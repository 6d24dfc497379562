//! The COBOL source that walks over a case's fields.

use std::fmt::Write as _;

use crate::copybook::{Body, Case, Entry};

/// Deepest nesting of tables that the generated programs have subscripts for.
const SUBSCRIPTS: usize = 6;

/// One source file: a main program and a program for every case.
pub(crate) fn source(cases: &[&Case]) -> String {
    let mut out = String::new();
    line(&mut out, "IDENTIFICATION DIVISION.");
    line(&mut out, "PROGRAM-ID. ORACLE-MAIN.");
    line(&mut out, "PROCEDURE DIVISION.");
    for case in cases {
        line(&mut out, &format!("    CALL '{}'.", case.name));
    }
    line(&mut out, "    STOP RUN.");
    line(&mut out, "END PROGRAM ORACLE-MAIN.");
    for case in cases {
        program(&mut out, case);
    }
    out
}

fn line(out: &mut String, text: &str) {
    assert!(text.len() <= 65, "a line of COBOL is too long: {text}");
    writeln!(out, "       {text}").expect("a string takes every write");
}

fn program(out: &mut String, case: &Case) {
    line(out, "IDENTIFICATION DIVISION.");
    line(out, &format!("PROGRAM-ID. {}.", case.name));
    line(out, "ENVIRONMENT DIVISION.");
    line(out, "CONFIGURATION SECTION.");
    line(out, "SPECIAL-NAMES.");
    line(out, if case.decimal_comma { "    DECIMAL-POINT IS COMMA." } else { "    ." });
    line(out, "DATA DIVISION.");
    line(out, "WORKING-STORAGE SECTION.");
    line(out, "01 Q-MODE PIC S9(9) COMP-5.");
    for i in 1..=SUBSCRIPTS {
        line(out, &format!("01 Q-{i} PIC S9(9) COMP-5."));
    }
    let record = case.record.name.as_deref().expect("a record has a name");
    if case.fragment {
        line(out, &format!("01 {record}."));
    }
    line(out, &format!("    COPY '{}.cpy'", case.name));
    if let Some(replacing) = case.replacing {
        line(out, &format!("    REPLACING {replacing}"));
    }
    line(out, "    .");
    line(out, "PROCEDURE DIVISION.");
    line(out, "    CALL STATIC 'q_next' USING Q-MODE.");
    line(out, "    PERFORM UNTIL Q-MODE = 0");
    line(out, &format!("    CALL STATIC 'q_begin' USING {record}"));
    line(out, "    PERFORM Q-WALK");
    line(out, &format!("    CALL STATIC 'q_end' USING {record}"));
    line(out, "    CALL STATIC 'q_next' USING Q-MODE");
    line(out, "    END-PERFORM.");
    line(out, "    GOBACK.");
    line(out, "Q-WALK.");
    for child in case.record.children() {
        walk(out, child, 0);
    }
    for (name, _, _) in &case.renames {
        line(out, "    CALL STATIC 'q_field' USING");
        line(out, &format!("      {name}"));
    }
    line(out, "    CONTINUE.");
    line(out, &format!("END PROGRAM {}.", case.name));
}

fn walk(out: &mut String, entry: &Entry, depth: usize) {
    let inner = depth + usize::from(entry.occurs.is_some());
    if let Some(table) = &entry.occurs {
        let end = table.counter.clone().unwrap_or_else(|| table.max.to_string());
        line(out, &format!("    PERFORM VARYING Q-{inner} FROM 1 BY 1"));
        line(out, &format!("     UNTIL Q-{inner} > {end}"));
    }
    match &entry.body {
        Body::Group(children) => children.iter().for_each(|child| walk(out, child, inner)),
        Body::Item(_) => {
            if let Some(name) = &entry.name {
                let subscripts: Vec<String> = (1..=inner).map(|i| format!("Q-{i}")).collect();
                line(out, "    CALL STATIC 'q_field' USING");
                line(out, &format!("      {name}"));
                if !subscripts.is_empty() {
                    line(out, &format!("      ({})", subscripts.join(" ")));
                }
            }
        }
    }
    if entry.occurs.is_some() {
        // A table of unnamed fields has nothing to call.
        line(out, "     CONTINUE");
        line(out, "    END-PERFORM");
    }
}
