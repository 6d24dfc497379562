//! Vectors of the envelope reader.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use quayline_core::{Limits, Severity};
use quayline_edi::{Closed, EndOfInput, EnvelopeReader, Event, Header, Rules};

/// Events, as nested words, and faults with their acknowledgement codes, when the bytes are known up to each of `ends` in turn.
fn trace(text: &[u8], ends: impl IntoIterator<Item = usize>) -> String {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let (mut out, mut from, mut depth) = (String::new(), 0, 0usize);
    let mut done = false;
    for known in ends.into_iter().chain([text.len()]) {
        let end = if known == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        if done {
            continue;
        }
        let mut pass = reader.over(&text[from..known], end);
        loop {
            let event = pass.advance();
            let name = |header: &Header| {
                let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
                format!("{} {}", text(header.segment().tag()), text(&header.control_number()))
            };
            let closed = |closed| if closed == Closed::ByTrailer { "}" } else { "} unclosed" };
            let line = match event {
                Event::InterchangeStart => Some((1, format!("{} {{", name(pass.interchange())))),
                Event::GroupStart => Some((1, format!("{} {{", name(pass.group().expect("open"))))),
                Event::TransactionStart => Some((1, format!("{} {{", name(pass.transaction())))),
                Event::Segment => Some((0, format!("{} at {}", pass.segment().tag().escape_ascii(), pass.position()))),
                Event::TransactionEnd(how) | Event::GroupEnd(how) | Event::InterchangeEnd(how) => {
                    Some((-1, closed(how).to_owned()))
                }
                Event::NeedMore | Event::Done => None,
            };
            for fault in pass.take_faults() {
                let word = if fault.severity == Severity::Error { "error" } else { "warning" };
                let codes = fault.error.acknowledgment();
                let codes = [
                    ("TA1", codes.interchange_note),
                    ("AK9", codes.group),
                    ("AK5", codes.transaction),
                    ("AK3", codes.segment),
                    ("CONTRL", codes.contrl),
                ];
                let codes: String =
                    codes.iter().filter_map(|(name, code)| Some(format!(" {name}={}", (*code)?))).collect();
                writeln!(
                    out,
                    "{word} {} at {} ({}): {};{codes}",
                    fault.error.code(),
                    fault.at.byte,
                    fault.at,
                    fault.error
                )
                .expect("a string");
            }
            if let Some((step, line)) = line {
                depth -= usize::from(step < 0);
                writeln!(out, "{:width$}{line}", "", width = 2 * depth).expect("a string");
                depth += usize::from(step > 0);
            }
            match event {
                Event::NeedMore => break,
                Event::Done => {
                    done = true;
                    break;
                }
                _ => {}
            }
        }
        from += pass.finish();
    }
    assert!(done && depth == 0, "events nest");
    out
}

/// Traces the text whole, byte by byte and cut at every place.
fn check_text(text: &[u8], expected: &Expect) {
    let whole = trace(text, []);
    assert_eq!(whole, trace(text, 0..text.len()), "byte by byte");
    for cut in 0..=text.len() {
        assert_eq!(whole, trace(text, [cut]), "cut at {cut}");
    }
    expected.assert_eq(&whole);
}

/// Checks the faults of segments between ISA and the end.
#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(body: &str, expected: Expect) {
    let isa =
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";
    check_text(format!("{isa}{body}").as_bytes(), &expected);
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check_edifact(body: &str, expected: Expect) {
    check_text(format!("UNB+UNOC:3+S:14+R:14+260401:1200+7'{body}").as_bytes(), &expected);
}

const GS: &str = "GS*PO*S*R*20260401*1200*1*X*005010~";
const UNG: &str = "UNG+ORDERS+S+R+260401:1200+3+UN+D:96A'";

#[test]
fn a_good_interchange() {
    check(
        &format!("{GS}ST*850*0001~BEG*00*SA*1~SE*3*0001~ST*850*0002~SE*2*0002~GE*2*1~IEA*1*000000001~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
              BEG at interchange 1, group 1, transaction 1, segment 2
            }
            ST 0002 {
            }
          }
        }
    "#]],
    );
    check_edifact(
        "UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'UNZ+1+7'",
        expect![[r#"
        UNB 7 {
          UNH 1 {
            BGM at interchange 1, transaction 1, segment 2
          }
        }
    "#]],
    );
    check_edifact(
        &format!("{UNG}UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNE+1+3'UNZ+1+7'"),
        expect![[r#"
        UNB 7 {
          UNG 3 {
            UNH 1 {
            }
          }
        }
    "#]],
    );
    check(
        "TA1*000000001*260401*1200*A*000~IEA*0*000000001~",
        expect![[r#"
        ISA 000000001 {
          TA1 at interchange 1, segment 2
        }
    "#]],
    );
}

#[test]
fn counts_and_control_numbers_differ() {
    check(
        &format!("{GS}ST*850*0001~BEG*00*SA*1~SE*4*0002~GE*2*2~IEA*3*000000002~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
              BEG at interchange 1, group 1, transaction 1, segment 2
        error EDI-033 at 165 (interchange 1, group 1, transaction 1, segment 3, element 1): SE01 declares 4 segments, counted 3; AK5=4 CONTRL=29
        error EDI-032 at 165 (interchange 1, group 1, transaction 1, segment 3, element 2): ST02 and SE02 differ: the control numbers of a header and its trailer must be equal; AK5=3 CONTRL=28
            }
        error EDI-033 at 175 (interchange 1, group 1, segment 6, element 1): GE01 declares 2 transaction sets, counted 1; AK9=5 CONTRL=29
        error EDI-032 at 175 (interchange 1, group 1, segment 6, element 2): GS06 and GE02 differ: the control numbers of a header and its trailer must be equal; AK9=4 CONTRL=28
          }
        error EDI-033 at 182 (interchange 1, segment 7, element 1): IEA01 declares 3 groups, counted 1; TA1=021 CONTRL=29
        error EDI-032 at 182 (interchange 1, segment 7, element 2): ISA13 and IEA02 differ: the control numbers of a header and its trailer must be equal; TA1=001 CONTRL=28
        }
    "#]],
    );
    check_edifact(
        &format!("{UNG}UNH+1+ORDERS:D:96A:UN'UNT+3+2'UNE+2+4'UNZ+2+8'"),
        expect![[r#"
        UNB 7 {
          UNG 3 {
            UNH 1 {
        error EDI-033 at 95 (interchange 1, group 1, transaction 1, segment 2, element 1): UNT 0074 declares 3 segments, counted 2; AK5=4 CONTRL=29
        error EDI-032 at 95 (interchange 1, group 1, transaction 1, segment 2, element 2): UNH 0062 and UNT 0062 differ: the control numbers of a header and its trailer must be equal; AK5=3 CONTRL=28
            }
        error EDI-033 at 103 (interchange 1, group 1, segment 5, element 1): UNE 0060 declares 2 messages, counted 1; AK9=5 CONTRL=29
        error EDI-032 at 103 (interchange 1, group 1, segment 5, element 2): UNG 0048 and UNE 0048 differ: the control numbers of a header and its trailer must be equal; AK9=4 CONTRL=28
          }
        error EDI-033 at 111 (interchange 1, segment 6, element 1): UNZ 0036 declares 2 groups or messages, counted 1; TA1=021 CONTRL=29
        error EDI-032 at 111 (interchange 1, segment 6, element 2): UNB 0020 and UNZ 0020 differ: the control numbers of a header and its trailer must be equal; TA1=001 CONTRL=28
        }
    "#]],
    );
    check(
        &format!("{GS}ST*850*0001~SE**0001~GE*A*1~IEA*99999999999999999999*000000001~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
        error EDI-034 at 153 (interchange 1, group 1, transaction 1, segment 2, element 1): SE01 is not a number, expected 2 (segments); AK5=4 CONTRL=29
            }
        error EDI-034 at 162 (interchange 1, group 1, segment 5, element 1): GE01 is not a number, expected 1 (transaction sets); AK9=5 CONTRL=29
          }
        error EDI-034 at 169 (interchange 1, segment 6, element 1): IEA01 is not a number, expected 1 (groups); TA1=021 CONTRL=29
        }
    "#]],
    );
}

#[test]
fn trailers_are_missing() {
    check(
        &format!("{GS}ST*850*0001~BEG~ST*850*0002~SE*2*0002~GE*2*1~IEA*1*000000001~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
              BEG at interchange 1, group 1, transaction 1, segment 2
        error EDI-030 at 157 (interchange 1, group 1, transaction 1): SE is missing: the transaction set is not closed; AK5=2 CONTRL=13
            } unclosed
            ST 0002 {
            }
          }
        }
    "#]],
    );
    check(
        &format!("{GS}ST*850*0001~BEG~GE*1*1~IEA*1*000000001~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
              BEG at interchange 1, group 1, transaction 1, segment 2
        error EDI-030 at 157 (interchange 1, group 1, transaction 1): SE is missing: the transaction set is not closed; AK5=2 CONTRL=13
            } unclosed
          }
        }
    "#]],
    );
    check(
        &format!("{GS}ST*850*0001~SE*2*0001~IEA*1*000000001~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
            }
        error EDI-030 at 163 (interchange 1, group 1): GE is missing: the group is not closed; TA1=024 AK9=3 CONTRL=13
          } unclosed
        }
    "#]],
    );
    check(
        &format!("{GS}ST*850*0001~BEG~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
              BEG at interchange 1, group 1, transaction 1, segment 2
        error EDI-030 at 157 (interchange 1, group 1, transaction 1): SE is missing: the transaction set is not closed; AK5=2 CONTRL=13
            } unclosed
          } unclosed
        } unclosed
    "#]],
    );
    check(
        &format!("{GS}ST*850*0001~BEG"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
        error EDI-012 at 153 (interchange 1, group 1, transaction 1, segment 2): the file ends before the segment terminator; TA1=023 AK9=3 AK5=2 CONTRL=13
              BEG at interchange 1, group 1, transaction 1, segment 2
            } unclosed
          } unclosed
        } unclosed
    "#]],
    );
}

#[test]
fn headers_are_missing() {
    check(
        &format!("{GS}BEG~REF~SE*3*0001~GE*1*1~IEA*1*000000001~"),
        expect![[r#"
            ISA 000000001 {
              GS 1 {
            error EDI-035 at 141 (interchange 1, group 1, segment 3): the segment, and all up to the next header, are outside any transaction set; TA1=024 CONTRL=33
                BEG at interchange 1, group 1, segment 3
                REF at interchange 1, group 1, segment 4
              }
            }
        "#]],
    );
    check(
        "ST*850*0001~BEG~SE*3*0001~ST*850*0002~SE*2*0002~GE*2*1~IEA*1*000000001~",
        expect![[r#"
        ISA 000000001 {
        error EDI-040 at 106 (interchange 1, transaction 1, segment 1): ST is outside a functional group; TA1=024 CONTRL=30
          ST 0001 {
            BEG at interchange 1, transaction 1, segment 2
          }
          ST 0002 {
          }
        }
    "#]],
    );
    check(
        "GE*1*1~IEA*0*000000001~",
        expect![[r#"
        ISA 000000001 {
        error EDI-031 at 106 (interchange 1, segment 2): GE is here, but no group is open; TA1=024 CONTRL=33
        }
    "#]],
    );
    check(
        &format!("{GS}SE*1*1~GE*0*1~IEA*1*000000001~"),
        expect![[r#"
            ISA 000000001 {
              GS 1 {
            error EDI-031 at 141 (interchange 1, group 1, segment 3): SE is here, but no transaction set is open; TA1=024 CONTRL=33
              }
            }
        "#]],
    );
}

#[test]
fn groups_do_not_nest_or_mix() {
    check_edifact(
        &format!("{UNG}UNG+ORDERS+S+R+260401:1200+4+UN+D:96A'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNE+1+4'UNE+1+3'UNZ+1+7'"),
        expect![[r#"
        UNB 7 {
          UNG 3 {
        error EDI-036 at 73 (interchange 1, group 1, segment 3): UNG is inside a group that is still open; TA1=024 AK9=3 CONTRL=33
          } unclosed
          UNG 4 {
            UNH 1 {
            }
          }
        }
    "#]],
    );
    check_edifact(
        &format!("{UNG}UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNE+1+3'UNH+2+ORDERS:D:96A:UN'UNT+2+2'UNZ+1+7'"),
        expect![[r#"
        UNB 7 {
          UNG 3 {
            UNH 1 {
            }
          }
        error EDI-040 at 111 (interchange 1, transaction 1, segment 1): the interchange has both groups and messages outside of groups; TA1=024 CONTRL=30
          UNH 2 {
          }
        }
    "#]],
    );
}

#[test]
fn control_numbers_repeat() {
    check(
        &format!("{GS}ST*850*0001~SE*2*0001~ST*850*0001~SE*2*0001~GE*2*1~{GS}GE*0*1~IEA*2*000000001~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
            }
        error EDI-039 at 163 (interchange 1, group 1, transaction 2, segment 1, element 2): ST02 stood before in this group; AK5=23 CONTRL=26
            ST 0001 {
            }
          }
        error EDI-039 at 192 (interchange 1, group 2, segment 8, element 6): GS06 stood before in this interchange; AK9=19 CONTRL=26
          GS 1 {
          }
        }
    "#]],
    );
}

#[test]
fn header_fields_are_wrong() {
    check(
        "GS*P*S**20260230*2560**X*~ST*85*1~SE*2*1~GE*1*~IEA*1*000000001~",
        expect![[r#"
        ISA 000000001 {
        error EDI-038 at 106 (interchange 1, group 1, segment 2, element 1): GS01 is not two characters; AK9=1 CONTRL=12
        error EDI-037 at 106 (interchange 1, group 1, segment 2, element 3): GS03 is missing; TA1=024 CONTRL=13
        error EDI-038 at 106 (interchange 1, group 1, segment 2, element 4): GS04 is not a date (YYMMDD or CCYYMMDD); TA1=024 CONTRL=12
        error EDI-038 at 106 (interchange 1, group 1, segment 2, element 5): GS05 is not a time (HHMM); TA1=024 CONTRL=12
        error EDI-037 at 106 (interchange 1, group 1, segment 2, element 6): GS06 is missing; AK9=6 CONTRL=13
        error EDI-037 at 106 (interchange 1, group 1, segment 2, element 8): GS08 is missing; AK9=2 CONTRL=13
          GS  {
        error EDI-038 at 132 (interchange 1, group 1, transaction 1, segment 1, element 1): ST01 is not three characters; AK5=6 CONTRL=12
        error EDI-038 at 132 (interchange 1, group 1, transaction 1, segment 1, element 2): ST02 is not four to nine characters; AK5=7 CONTRL=12
            ST 1 {
            }
          }
        }
    "#]],
    );
    check_edifact(
        "UNH++ORDERS:D'UNT+2+'UNZ+1+7'",
        expect![[r#"
        UNB 7 {
        error EDI-037 at 35 (interchange 1, transaction 1, segment 1, element 1, component 1): UNH 0062 is missing; AK5=5 CONTRL=13
        error EDI-037 at 35 (interchange 1, transaction 1, segment 1, element 2, component 3): UNH S009 0054 is missing; AK5=5 CONTRL=13
        error EDI-037 at 35 (interchange 1, transaction 1, segment 1, element 2, component 4): UNH S009 0051 is missing; AK5=5 CONTRL=13
          UNH  {
          }
        }
    "#]],
    );
    check_text(
        b"ISA*00*          *00*          *ZZ*               *ZZ*RECEIVER       *261301*1260*U*00401*00000000A*2*X*:~IEA*0*000000001~",
        &expect![[r#"
            error EDI-037 at 0 (interchange 1, segment 1, element 6): ISA06 is missing; TA1=006 CONTRL=13
            error EDI-038 at 0 (interchange 1, segment 1, element 9): ISA09 is not a date (YYMMDD or CCYYMMDD); TA1=014 CONTRL=12
            error EDI-038 at 0 (interchange 1, segment 1, element 10): ISA10 is not a time (HHMM); TA1=015 CONTRL=12
            error EDI-038 at 0 (interchange 1, segment 1, element 13): ISA13 is not nine digits; TA1=018 CONTRL=12
            error EDI-038 at 0 (interchange 1, segment 1, element 14): ISA14 is not 0 or 1; TA1=019 CONTRL=12
            error EDI-038 at 0 (interchange 1, segment 1, element 15): ISA15 is not P, T or I; TA1=020 CONTRL=12
            ISA 00000000A {
            error EDI-032 at 106 (interchange 1, segment 2, element 2): ISA13 and IEA02 differ: the control numbers of a header and its trailer must be equal; TA1=001 CONTRL=28
            }
        "#]],
    );
}

#[test]
fn one_interchange_ends_where_another_begins() {
    let isa =
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000002*0*T*:~";
    check(
        &format!("{GS}ST*850*0001~BEG~{isa}IEA*0*000000002~"),
        expect![[r#"
        ISA 000000001 {
          GS 1 {
            ST 0001 {
              BEG at interchange 1, group 1, transaction 1, segment 2
        error EDI-030 at 157 (interchange 1, group 1, transaction 1): SE is missing: the transaction set is not closed; AK5=2 CONTRL=13
            } unclosed
          } unclosed
        } unclosed
        ISA 000000002 {
        }
    "#]],
    );
}

/// Messages outside a group were checked against the control numbers of that group, in addition to the finding for their position.
#[test]
fn control_numbers_of_a_group_end_with_it() {
    check_edifact(
        &format!("{UNG}UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNE+1+3'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+7'"),
        expect![[r#"
            UNB 7 {
              UNG 3 {
                UNH 1 {
                }
              }
            error EDI-040 at 111 (interchange 1, transaction 1, segment 1): the interchange has both groups and messages outside of groups; TA1=024 CONTRL=30
              UNH 1 {
              }
            }
        "#]],
    );
}

/// Quayline read the object of a package as segments, reported UNO outside of messages, and did not count the package for UNZ.
#[test]
fn packages_are_passed_over() {
    let message = "UNH+1+ORDERS:D:96A:UN'UNT+2+1'";
    check_edifact(
        &format!("{message}UNO+1+AAA:1+TXT:X+11'ab'c+?UNZ'\nUNP+11+1'UNZ+2+7'"),
        expect![[r#"
            UNB 7 {
              UNH 1 {
              }
            error EDI-021 at 65 (interchange 1, segment 4): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 4
              UNP at interchange 1, segment 5
            }
        "#]],
    );
    check_edifact(
        &format!("{UNG}UNO+1+AAA:1+TXT:X+3'''~UNP+3+1'{message}UNE+2+3'UNZ+1+7'"),
        expect![[r#"
            UNB 7 {
              UNG 3 {
            error EDI-021 at 73 (interchange 1, group 1, segment 3): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
                UNO at interchange 1, group 1, segment 3
                UNP at interchange 1, group 1, segment 4
                UNH 1 {
                }
              }
            }
        "#]],
    );
    // Without a length, reading continues with the next segment. With a length beyond the file, the object ends with the file.
    check_edifact(
        "UNO+1+AAA:1+TXT:X'UNP++1'UNO+2+AAA:1+TXT:X+99'abc",
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 2
              UNP at interchange 1, segment 3
            error EDI-021 at 60 (interchange 1, segment 4): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 4
            error EDI-018 at 81 (interchange 1, segment 4): the binary data does not end where its length says; AK5=5 AK3=8 CONTRL=12
            error EDI-012 at 81 (interchange 1, segment 5): the file ends before the segment terminator; TA1=023 AK9=3 AK5=2 CONTRL=13
              abc at interchange 1, segment 5
            } unclosed
        "#]],
    );
}

/// Regression: with an extra digit in the length, the splitter skipped the following messages and interchanges and reported only the package.
#[test]
fn a_package_with_a_wrong_length_takes_nothing_from_what_follows() {
    let message = "UNH+2+ORDERS:D:96A:UN'UNT+2+2'";
    let with = |length: &str| format!("UNO+1+AAA:1+TXT:X+{length}'ab'c+?UNZ'\nUNP+11+1'{message}UNZ+2+7'");
    // Too long (within the file and beyond it), too short, signed, not a number, more than the limit.
    for length in ["47", "110", "5", "+11", "1x", "99999999", "99999999999999999999999"] {
        let text = format!("UNB+UNOA:4+S+R+260401:1200+7'{}", with(length));
        let whole = trace(text.as_bytes(), []);
        assert!(whole.contains("UNH 2 {\n  }\n"), "{length}: {whole}");
    }
    check_edifact(
        &with("47"),
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 2
            error EDI-018 at 56 (interchange 1, segment 2): the binary data does not end where its length says; AK5=5 AK3=8 CONTRL=12
            error EDI-019 at 56 (interchange 1, segment 3): a segment begins with 2 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 56 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              ab at interchange 1, segment 3
            warning EDI-028 at 59 (interchange 1, segment 4, element 1): a release character precedes a character that needs none; it is left out, here and later in this interchange; TA1=022 AK5=5 AK3=8 CONTRL=21
            error EDI-019 at 59 (interchange 1, segment 4): a segment begins with 1 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
              c at interchange 1, segment 4
              UNP at interchange 1, segment 5
              UNH 2 {
              }
            }
        "#]],
    );
    check_edifact(
        &with("110"),
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 2
            error EDI-018 at 57 (interchange 1, segment 2): the binary data does not end where its length says; AK5=5 AK3=8 CONTRL=12
            error EDI-019 at 57 (interchange 1, segment 3): a segment begins with 2 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 57 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              ab at interchange 1, segment 3
            warning EDI-028 at 60 (interchange 1, segment 4, element 1): a release character precedes a character that needs none; it is left out, here and later in this interchange; TA1=022 AK5=5 AK3=8 CONTRL=21
            error EDI-019 at 60 (interchange 1, segment 4): a segment begins with 1 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
              c at interchange 1, segment 4
              UNP at interchange 1, segment 5
              UNH 2 {
              }
            }
        "#]],
    );
    check_edifact(
        &with("5"),
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 2
            error EDI-018 at 55 (interchange 1, segment 2): the binary data does not end where its length says; AK5=5 AK3=8 CONTRL=12
            error EDI-019 at 55 (interchange 1, segment 3): a segment begins with 2 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 55 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              ab at interchange 1, segment 3
            warning EDI-028 at 58 (interchange 1, segment 4, element 1): a release character precedes a character that needs none; it is left out, here and later in this interchange; TA1=022 AK5=5 AK3=8 CONTRL=21
            error EDI-019 at 58 (interchange 1, segment 4): a segment begins with 1 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
              c at interchange 1, segment 4
              UNP at interchange 1, segment 5
              UNH 2 {
              }
            }
        "#]],
    );
    check_edifact(
        &with("?+11"),
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
            error EDI-015 at 35 (interchange 1, segment 2, element 4): the length of the binary data is not a number; AK5=5 AK3=8 CONTRL=12
              UNO at interchange 1, segment 2
            error EDI-019 at 58 (interchange 1, segment 3): a segment begins with 2 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 58 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              ab at interchange 1, segment 3
            warning EDI-028 at 61 (interchange 1, segment 4, element 1): a release character precedes a character that needs none; it is left out, here and later in this interchange; TA1=022 AK5=5 AK3=8 CONTRL=21
            error EDI-019 at 61 (interchange 1, segment 4): a segment begins with 1 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
              c at interchange 1, segment 4
              UNP at interchange 1, segment 5
              UNH 2 {
              }
            }
        "#]],
    );
    check_edifact(
        &with("99999999"),
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
            error EDI-016 at 35 (interchange 1, segment 2, element 4): the binary data has 99999999 bytes by its length, more than 16777216; AK5=5 AK3=8 CONTRL=12
              UNO at interchange 1, segment 2
            error EDI-019 at 62 (interchange 1, segment 3): a segment begins with 2 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 62 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              ab at interchange 1, segment 3
            warning EDI-028 at 65 (interchange 1, segment 4, element 1): a release character precedes a character that needs none; it is left out, here and later in this interchange; TA1=022 AK5=5 AK3=8 CONTRL=21
            error EDI-019 at 65 (interchange 1, segment 4): a segment begins with 1 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
              c at interchange 1, segment 4
              UNP at interchange 1, segment 5
              UNH 2 {
              }
            }
        "#]],
    );
    // White space between the object and UNP has a limit; a tag that only begins with UNP is another segment.
    check_edifact(
        &format!("UNO+1+A+T+1'x{}UNP+1+1'UNZ+1+7'", "\n".repeat(65)),
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 2
            error EDI-018 at 47 (interchange 1, segment 2): the binary data does not end where its length says; AK5=5 AK3=8 CONTRL=12
            warning EDI-013 at 48 (interchange 1, segment 3): a line break is inside a segment; it is left out, here and later in this interchange; TA1=022 AK5=5 AK3=8 CONTRL=21
            error EDI-019 at 47 (interchange 1, segment 3): a segment begins with 69 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 47 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              x\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nUNP at interchange 1, segment 3
            }
        "#]],
    );
    check_edifact(
        &format!("UNO+1+A+T+1'x{}UNP+1+1'UNZ+1+7'", "\n".repeat(64)),
        expect![[r#"
        UNB 7 {
        error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
          UNO at interchange 1, segment 2
          UNP at interchange 1, segment 3
        }
    "#]],
    );
    check_edifact(
        "UNO+1+A+T+1'xUNPX+1+1'UNZ+1+7'",
        expect![[r#"
            UNB 7 {
            error EDI-021 at 35 (interchange 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
              UNO at interchange 1, segment 2
            error EDI-018 at 47 (interchange 1, segment 2): the binary data does not end where its length says; AK5=5 AK3=8 CONTRL=12
            error EDI-019 at 47 (interchange 1, segment 3): a segment begins with 5 bytes that are not a tag, expected three capital letters or digits; AK5=5 AK3=1 CONTRL=15
            error EDI-035 at 47 (interchange 1, segment 3): the segment, and all up to the next header, are outside any message; TA1=024 CONTRL=33
              xUNPX at interchange 1, segment 3
            }
        "#]],
    );
}

/// Inside an open message, Quayline skipped bytes after UNO without a finding.
#[test]
fn a_package_inside_a_message_is_reported() {
    check_edifact(
        "UNH+1+ORDERS:D:96A:UN'UNO+1+A+T+4'a'b'UNP+4+1'UNT+4+1'UNZ+1+7'",
        expect![[r#"
        UNB 7 {
          UNH 1 {
        error EDI-021 at 57 (interchange 1, transaction 1, segment 2): a package (UNO to UNP) is not supported; TA1=024 CONTRL=15
            UNO at interchange 1, transaction 1, segment 2
            UNP at interchange 1, transaction 1, segment 3
          }
        }
    "#]],
    );
}

/// The standard has another release of ISA11 for versions that are digits; of other versions nothing is known.
#[test]
fn isa11_of_a_version_that_is_not_digits() {
    let text = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*0040A*000000001*0*T*:~IEA*0*000000001~";
    let whole = trace(text.as_bytes(), []);
    assert!(!whole.contains("EDI-009") && whole.contains("EDI-038"), "{whole}");
}

/// A separator that does not print was refused as ISA11 with control characters (TA1 016). A line end is not one.
#[test]
fn a_repetition_separator_may_be_a_control_character() {
    for (separator, is_good) in [("\u{1e}", true), ("\u{1d}", true), ("^", true), ("\n", false)] {
        let text = format!(
            "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*{separator}*00501*000000001*0*T*:~IEA*0*000000001~"
        );
        let whole = trace(text.as_bytes(), []);
        assert_eq!(!whole.contains("error"), is_good, "{separator:?}: {whole}");
    }
}

/// Before version 00402, ISA11 is fixed to one value. From 00402 on, it is the repetition separator.
#[test]
fn isa11_of_each_version() {
    let read = |standards_id: char, version: &str| {
        let text = format!(
            "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*{standards_id}*{version}*000000001*0*T*:~IEA*0*000000001~"
        );
        let whole = trace(text.as_bytes(), []);
        whole
            .lines()
            .filter(|line| line.contains("EDI-"))
            .map(|line| line.split(':').next().unwrap_or_default().to_owned() + "\n")
            .collect::<String>()
    };
    let told = [('U', "00401"), ('^', "00401"), (' ', "00401"), ('^', "00501"), ('U', "00501"), (' ', "00501")];
    let told: String = told.map(|(id, version)| format!("{id} {version}\n{}", read(id, version))).concat();
    expect![[r#"
        U 00401
        ^ 00401
        warning EDI-009 at 0 (interchange 1, segment 1)
          00401
        error EDI-037 at 0 (interchange 1, segment 1, element 11)
        ^ 00501
        U 00501
        warning EDI-007 at 0 (interchange 1, segment 1)
          00501
        error EDI-037 at 0 (interchange 1, segment 1, element 11)
    "#]]
    .assert_eq(&told);
}

/// Regression: without its terminator, the trailer of an interchange took in the whole next interchange, and the finding was about control numbers.
#[test]
fn an_interchange_after_a_trailer_without_terminator_is_read() {
    const X12: &str = "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~\
                       GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~SE*2*0001~GE*1*1~IEA*1*000000001~";
    const EDIFACT: &str = "UNB+UNOC:3+S:14+R:14+260401:1200+7'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+7'";
    let cut = |text: &str| text[..text.len() - 1].to_owned();
    for (first, between, second) in [
        (X12, "\n", X12),
        (X12, "\r\n", EDIFACT),
        (X12, "\r\n", "UNA:+.? '\r\nUNB+UNOC:3+S:14+R:14+260401:1200+7'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+7'"),
        (EDIFACT, " \n\n", X12),
        (EDIFACT, "\n", EDIFACT),
    ] {
        let text = format!("{}{between}{second}", cut(first));
        let found = trace(text.as_bytes(), []);
        let others = found.matches("error").count() - found.matches("error EDI-039").count();
        assert_eq!(others, 1, "{text}\n{found}");
        let header = &second[..3];
        assert!(
            found.contains(&format!("EDI-022 at {}", cut(first).rfind(['~', '\'']).expect("a terminator") + 1)),
            "{found}"
        );
        assert!(found.contains(&format!("before {header} is missing")), "{found}");
        assert_eq!(found.matches("unclosed").count(), 0, "{found}");
        assert_eq!(found.matches("ISA 000000001 {").count() + found.matches("UNB 7 {").count(), 2, "{found}");
        for ends in [1, 7, 64].map(|step| (step..text.len()).step_by(step)) {
            assert_eq!(trace(text.as_bytes(), ends), found);
        }
    }
}

/// Regression: an interchange that is cut off inside a segment took in the whole next interchange, whose number was in no finding.
#[test]
fn an_interchange_after_one_that_is_cut_off_is_read() {
    const X12: &str = "ISA*00*          *00*          *ZZ*SUPPLIER       *ZZ*UNITED         *260401*1200*^*00501*000000001*0*T*:~\
                       GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~N1*BY*UNITED~REF*IA*7~SE*4*0001~GE*1*1~IEA*1*000000001~";
    const OTHER: &str = "ISA|00|          |00|          |ZZ|S              |ZZ|R              |260401|1200|^|00501|000000002|0|T|>\n\
                         GS|PO|S|R|20260401|1200|1|X|005010\nST|850|0001\nSE|2|0001\nGE|1|1\nIEA|1|000000002\n";
    const EDIFACT: &str = "UNB+UNOC:3+S:14+R:14+260401:1200+7'UNH+1+ORDERS:D:96A:UN'RFF+ON:1?''NAD+BY+1::9++UNITED+++++INUNB'UNT+4+1'UNZ+1+7'";
    let second = X12.replace("000000001", "000000002");
    let una = format!("UNA:+.? '\n{}", EDIFACT.replace("+7'", "+8'"));
    let bare = EDIFACT.replace("+7'", "+8'");
    let numbered =
        [(&second[..], "ISA 000000002 {"), (OTHER, "ISA 000000002 {"), (&una, "UNB 8 {"), (&bare, "UNB 8 {")];
    for first in [X12, EDIFACT] {
        // The header has all characters that identify it.
        for cut in if first == X12 { 106 } else { 36 }..first.len() {
            for (second, number) in numbered {
                for between in ["", "\n"] {
                    let text = format!("{}{between}{second}", &first[..cut]);
                    let found = trace(text.as_bytes(), []);
                    assert!(found.contains(number), "{text}\n{found}");
                    assert!(found.contains("error EDI-"), "{text}\n{found}");
                }
            }
        }
    }
    let cut = X12.find("IA*7").expect("REF") + 4;
    let text = format!("{}{second}", &X12[..cut]);
    let found = trace(text.as_bytes(), []);
    for step in [1, 7, 64] {
        assert_eq!(trace(text.as_bytes(), (step..text.len()).step_by(step)), found);
    }
    let faults: Vec<&str> = found.lines().map(str::trim).filter(|line| line.starts_with("error")).collect();
    expect![[r#"
        error EDI-029 at 166 (interchange 1, group 1, transaction 1, segment 3): the interchange is cut off inside this segment: the header of another interchange (ISA) begins in it; TA1=023 CONTRL=13
        error EDI-030 at 174 (interchange 1, group 1, transaction 1): SE is missing: the transaction set is not closed; AK5=2 CONTRL=13"#]].assert_eq(&faults.join("\n"));
}

/// The search for such a header is linear.
#[test]
fn searches_for_a_header_are_linear() {
    let time = |kib: usize| {
        let element = "UNA IUNB+ISA*UNA      UNAUNAUNA";
        let text = format!("UNB+UNOC:3+S+R+260401:1200+7'FTX+{}", element.repeat(kib * 1024 / element.len()));
        let start = std::time::Instant::now();
        let found = trace(text.as_bytes(), []);
        assert!(found.contains("EDI-012"), "{}", &found[..found.len().min(400)]);
        start.elapsed()
    };
    let least = |kib: usize| (0..5).map(|_| time(kib)).min().expect("five runs");
    let (small, large) = (least(60), least(960));
    // A quadratic search takes 256 times as long. Other tests run beside this one, and the smaller text fits a faster cache.
    let most = small * 40 + std::time::Duration::from_millis(30);
    assert!(large < most, "16 times as many bytes took {large:?} instead of {small:?}");
}

/// Regression: a terminator of the first interchange in a text of the second one hid the second interchange. Quayline found only headers after a
/// line break or at the first terminator.
#[test]
fn a_terminator_in_a_text_does_not_hide_the_next_interchange() {
    let x12 = "ISA*00*          *00*          *ZZ*SUPPLIER       *ZZ*UNITED         *260401*1200*^*00501*000000002*0*T*:~\
               GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~N1*BY*ANNA O'NEIL~SE*3*0001~GE*1*1~IEA*1*000000002~";
    let edifact = "UNB+UNOC:3+S:14+R:14+260401:1200+7'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++some text of a man~2 of them'UNT+3+1'UNZ+1+7'";
    let other = x12.replace("000000002", "000000009").replace('*', "|").replace('~', "'").replace("O'NEIL", "O~NEIL");
    for (first, second, number) in
        [(edifact, x12, "ISA 000000002 {"), (x12, edifact, "UNB 7 {"), (x12, &other, "ISA 000000009 {")]
    {
        for cut in first.find("AAI").or_else(|| first.find("BY")).expect("a text") + 2..first.len() - 12 {
            let text = format!("{}{second}", &first[..cut]);
            let found = trace(text.as_bytes(), []);
            assert!(found.contains(number), "{text}\n{found}");
            assert_eq!(trace(text.as_bytes(), (1..text.len()).step_by(3)), found, "{text}");
        }
    }
    // The terminator is a service character of the UNA of a third interchange.
    let cut = &edifact[..edifact.find("AAI").expect("FTX") + 5];
    let text = format!("{cut}{}UNA:+.? '{}", x12.replace("O'NEIL", "ONEIL"), edifact.replace("+7'", "+8'"));
    let found = trace(text.as_bytes(), []);
    assert!(found.contains("ISA 000000002 {") && found.contains("UNB 8 {"), "{text}\n{found}");
}

/// A text may quote an interchange with other delimiters. Quayline reads the quotation as text and continues with the outer interchange.
#[test]
fn a_quoted_interchange_is_text() {
    let quoted = "UNB+UNOC:3+SUPPLIER:14+UNITED:14+260401:1200+7'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+7'";
    for before in ["", "he wrote ", "he wrote\n"] {
        for after in ["", " and so on, for as long as it takes to be a long text of more than one line of a letter"] {
            for gap in ["", "\n", "\r\n"] {
                let lines = format!(
                    "ISA*00*          *00*          *ZZ*SUPPLIER       *ZZ*UNITED         *260401*1200*^*00501*000000001*0*T*:~{gap}\
                     GS*PO*S*R*20260401*1200*1*X*005010~{gap}ST*850*0001~{gap}MTX**{before}{quoted}{after}~{gap}SE*3*0001~{gap}GE*1*1~{gap}IEA*1*000000001~"
                );
                let found = trace(lines.as_bytes(), []);
                assert!(!found.contains("UNB 7") && !found.contains("error"), "{lines}\n{found}");
                assert_eq!(trace(lines.as_bytes(), (1..lines.len()).step_by(5)), found);
            }
        }
    }
}

/// Regression: each header without a terminator was searched up to the limit of a segment, so that 1 MB of them took a minute.
#[test]
fn headers_without_a_terminator_take_linear_time() {
    for element in ["UNB+LETTERS:3+A+B+260401:1200+1\n", "UNB+UNOC:3+A+B+260401:1200+1\n"] {
        let time = |kib: usize| {
            let text = element.repeat(kib * 1024 / element.len());
            let start = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let found = trace(text.as_bytes(), []);
            assert!(found.contains("error EDI-"), "{}", &found[..found.len().min(400)]);
            let end = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            std::time::Duration::try_from(end - start).expect("time moves forward")
        };
        let (small, large) = (time(1_100), time(2_200));
        assert!(large < small * 6, "twice as many of {element:?} took {large:?} instead of {small:?}");
        assert!(small < std::time::Duration::from_secs(5), "{element:?}: {small:?}");
    }
}
