//! Rules across entries: REDEFINES, OCCURS, counters, RENAMES.

use expect_test::expect;

use super::*;

#[test]
fn redefines() {
    free(
        "01 A.\n 05 B PIC X.\n 05 C REDEFINES Q PIC X.\n 05 D REDEFINES D PIC X.\n 05 E REDEFINES F PIC X.\n 05 F PIC X.\n 05 G REDEFINES B PIC X.
 05 H. 10 I REDEFINES B PIC X.\n 07 J PIC X.",
        expect![[r#"
            warning[COB-024]: level 07 does not match its sibling I, which has level 10
              at a.cpy:9:5
              |
            9 |  07 J PIC X.
              |     ^

            hint: J is taken as a field of H; give fields of one group one level number
            error[COB-060]: C redefines Q, which is not in this record
              at a.cpy:3:7
              |
            3 |  05 C REDEFINES Q PIC X.
              |       ^^^^^^^^^^^

            hint: put REDEFINES directly after the field it names, with the same level number, in the same group

            error[COB-061]: D redefines itself
              at a.cpy:4:7
              |
            4 |  05 D REDEFINES D PIC X.
              |       ^^^^^^^^^^^

            hint: put REDEFINES directly after the field it names, with the same level number, in the same group

            error[COB-061]: E redefines F, which follows it
              at a.cpy:5:7
              |
            5 |  05 E REDEFINES F PIC X.
              |       ^^^^^^^^^^^

            hint: put REDEFINES directly after the field it names, with the same level number, in the same group

            error[COB-061]: G redefines B, but F is between them
              at a.cpy:7:7
              |
            7 |  05 G REDEFINES B PIC X.
              |       ^^^^^^^^^^^

            hint: put REDEFINES directly after the field it names, with the same level number, in the same group

            error[COB-061]: I redefines B, but it is not in the same group
              at a.cpy:8:13
              |
            8 |  05 H. 10 I REDEFINES B PIC X.
              |             ^^^^^^^^^^^

            hint: put REDEFINES directly after the field it names, with the same level number, in the same group
        "#]],
    );
    free(
        "01 A.\n 05 B.\n  10 C PIC X.\n 03 D REDEFINES B PIC X.",
        expect![[r#"
        warning[COB-024]: level 03 does not match its sibling B, which has level 05
          at a.cpy:4:5
          |
        4 |  03 D REDEFINES B PIC X.
          |     ^

        hint: D is taken as a field of A; give fields of one group one level number
        error[COB-061]: D has level 03, but B, which it redefines, has level 05
          at a.cpy:4:7
          |
        4 |  03 D REDEFINES B PIC X.
          |       ^^^^^^^^^^^

        hint: give both the same level number
    "#]],
    );
}

#[test]
fn redefinitions_that_are_odd() {
    free(
        "01 A.\n 05 B PIC X.\n 05 C REDEFINES B PIC S9(9) COMP SYNC.\n 05 D PIC X.\n 05 E PIC S9(4) COMP.\n 05 F REDEFINES E PIC S9(4) COMP SYNC.
 05 G PIC X OCCURS 2.\n 05 H REDEFINES G PIC XX.\n 05 I PIC X.\n 05 J REDEFINES I PIC S9(4) COMP SYNC.",
        expect![[r#"
            0    11    01 A min 11 max 11
            0    1       05 B PIC X
            0    4       05 C = B PIC S9(9) COMP SYNC
            4    1       05 D PIC X
            5    2       05 E PIC S9(4) COMP
            5    2       05 F = E PIC S9(4) COMP SYNC
            7    1       05 G [2..2] PIC X
            7    2       05 H = G PIC XX
            9    1       05 I PIC X
            9    2       05 J = I PIC S9(4) COMP SYNC
            warning[COB-062]: C has 4 bytes, but it redefines B, which has 1
              at a.cpy:3:7
              |
            3 |  05 C REDEFINES B PIC S9(9) COMP SYNC.
              |       ^^^^^^^^^

            hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
            warning[COB-064]: F is SYNCHRONIZED, but E, which it redefines, begins at byte 5, which is not a multiple of 2
              at a.cpy:6:5
              |
            6 |  05 F REDEFINES E PIC S9(4) COMP SYNC.
              |     ^

            hint: no slack is inserted in front of a redefinition; align the field that is redefined
            warning[COB-063]: G, which is redefined, has an OCCURS clause
              at a.cpy:8:7
              |
            8 |  05 H REDEFINES G PIC XX.
              |       ^^^^^^^^^^^

            hint: the storage of all its occurrences is taken; Enterprise COBOL refuses this: put the table in a group and redefine that
            warning[COB-064]: J is SYNCHRONIZED, but I, which it redefines, begins at byte 9, which is not a multiple of 2
              at a.cpy:10:5
               |
            10 |  05 J REDEFINES I PIC S9(4) COMP SYNC.
               |     ^

            hint: no slack is inserted in front of a redefinition; align the field that is redefined
            warning[COB-062]: J has 2 bytes, but it redefines I, which has 1
              at a.cpy:10:7
               |
            10 |  05 J REDEFINES I PIC S9(4) COMP SYNC.
               |       ^^^^^^^^^

            hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
        "#]],
    );
    free(
        "01 A.\n 05 N PIC 9.\n 05 B PIC X(5).\n 05 C REDEFINES B.\n  10 D PIC X OCCURS 0 TO 5 DEPENDING ON N.",
        expect![[r#"
            error[COB-063]: D varies in length inside C, which shares its storage by REDEFINES
              at a.cpy:5:14
              |
            5 |   10 D PIC X OCCURS 0 TO 5 DEPENDING ON N.
              |              ^^^^^^^^^^^^^

            hint: give the table a fixed number of occurrences, or describe the variants as records of their own
        "#]],
    );
}

#[test]
fn occurs() {
    free(
        "01 A.\n 05 B PIC X OCCURS 0.\n 05 C PIC X OCCURS 3 TO 2 DEPENDING ON N.\n 05 D PIC X OCCURS 1 TO 3.\n 05 E PIC X OCCURS 99999999999.
 05 F PIC X OCCURS 1 TO UNBOUNDED DEPENDING ON N.",
        expect![[r#"
            error[COB-070]: the table has no occurrence at most
              at a.cpy:2:13
              |
            2 |  05 B PIC X OCCURS 0.
              |             ^^^^^^^^

            hint: the maximum is at least 1

            error[COB-070]: the minimum 3 is above the maximum 2
              at a.cpy:3:13
              |
            3 |  05 C PIC X OCCURS 3 TO 2 DEPENDING ON N.
              |             ^^^^^^^^^^^^^

            hint: write the smaller number first: `OCCURS 0 TO 10 TIMES`

            error[COB-070]: OCCURS with a range has no DEPENDING ON
              at a.cpy:4:13
              |
            4 |  05 D PIC X OCCURS 1 TO 3.
              |             ^^^^^^^^^^^^^

            hint: name the counter, or write one number

            error[COB-070]: the number after OCCURS is too large
              at a.cpy:5:20
              |
            5 |  05 E PIC X OCCURS 99999999999.
              |                    ^^^^^^^^^^^

            hint: write a number below 4,294,967,296

            error[COB-076]: a table without a maximum is not supported
              at a.cpy:6:25
              |
            6 |  05 F PIC X OCCURS 1 TO UNBOUNDED DEPENDING ON N.
              |                         ^^^^^^^^^

            hint: write the largest number of occurrences that a record can hold"#]],
    );
    free(
        "01 A OCCURS 3 PIC X.",
        expect![[r#"
        error[COB-071]: OCCURS is at level 01 or 77
          at a.cpy:1:6
          |
        1 | 01 A OCCURS 3 PIC X.
          |      ^^^^^^^^

        hint: repeat a field of the record instead
    "#]],
    );
}

#[test]
fn counters() {
    free(
        "01 A.\n 05 G1. 10 N PIC 9.\n 05 G2. 10 N PIC 9.\n 05 X PIC X.\n 05 V PIC 9V9.\n 05 T OCCURS 2. 10 R PIC 9.\n 05 B PIC X OCCURS 1 TO 3 DEPENDING ON Q.
 05 C PIC X OCCURS 1 TO 3 DEPENDING ON N.\n 05 D PIC X OCCURS 1 TO 3 DEPENDING ON X.\n 05 E PIC X OCCURS 1 TO 3 DEPENDING ON V.
 05 F OCCURS 1 TO 3 DEPENDING ON I. 10 I PIC 9.\n 05 H PIC X OCCURS 1 TO 3 DEPENDING ON Z.\n 05 K PIC X OCCURS 1 TO 3 DEPENDING ON R.
 05 L PIC X OCCURS 1 TO 3 DEPENDING ON G1.\n 05 M PIC X OCCURS 1 TO 3 DEPENDING ON N OF G3.\n 05 Z PIC 9.",
        expect![[r#"
            error[COB-072]: the counter Q is not in this record
              at a.cpy:7:40
              |
            7 |  05 B PIC X OCCURS 1 TO 3 DEPENDING ON Q.
              |                                        ^

            hint: the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it

            error[COB-073]: the counter N is ambiguous: G1.N, G2.N
              at a.cpy:8:40
              |
            8 |  05 C PIC X OCCURS 1 TO 3 DEPENDING ON N.
              |                                        ^

            hint: say which: `N OF group`

            error[COB-074]: the counter X is not a whole number: PIC X
              at a.cpy:9:40
              |
            9 |  05 D PIC X OCCURS 1 TO 3 DEPENDING ON X.
              |                                        ^

            hint: use a numeric field without V, such as `PIC 9(3)`

            error[COB-074]: the counter V is not a whole number: PIC 9V9
              at a.cpy:10:40
               |
            10 |  05 E PIC X OCCURS 1 TO 3 DEPENDING ON V.
               |                                        ^

            hint: use a numeric field without V, such as `PIC 9(3)`

            error[COB-075]: the counter I is in the table it counts, F
              at a.cpy:11:34
               |
            11 |  05 F OCCURS 1 TO 3 DEPENDING ON I. 10 I PIC 9.
               |                                  ^

            hint: move the counter in front of the table, outside other tables

            error[COB-075]: the counter Z is after the table it counts, H
              at a.cpy:12:40
               |
            12 |  05 H PIC X OCCURS 1 TO 3 DEPENDING ON Z.
               |                                        ^

            hint: move the counter in front of the table, outside other tables

            error[COB-075]: the counter R repeats in T, so it is not clear which occurrence counts K
              at a.cpy:13:40
               |
            13 |  05 K PIC X OCCURS 1 TO 3 DEPENDING ON R.
               |                                        ^

            hint: move the counter in front of the table, outside other tables

            error[COB-074]: the counter G1 is not a whole number: a group
              at a.cpy:14:40
               |
            14 |  05 L PIC X OCCURS 1 TO 3 DEPENDING ON G1.
               |                                        ^^

            hint: use a numeric field without V, such as `PIC 9(3)`

            error[COB-072]: the counter N OF G3 is not in this record
              at a.cpy:15:40
               |
            15 |  05 M PIC X OCCURS 1 TO 3 DEPENDING ON N OF G3.
               |                                        ^^^^^^^

            hint: the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it
        "#]],
    );
}

#[test]
fn renames() {
    free(
        "01 A.\n 05 B PIC X.\n 05 C OCCURS 2. 10 D PIC X.\n 05 E. 10 F PIC X. 10 B PIC X.\n 05 N PIC 9.\n 05 T PIC X OCCURS 1 TO 2 DEPENDING ON N.
 66 R1 RENAMES Q.\n 66 R2 RENAMES B.\n 66 R3 RENAMES D.\n 66 R4 RENAMES F THRU E.\n 66 R5 RENAMES E THRU F.\n 66 R6 RENAMES A.
 66 R7 RENAMES N THRU T.\n 66 R8 RENAMES E THRU N.",
        expect![[r#"
            error[COB-080]: Q is not in this record
              at a.cpy:7:16
              |
            7 |  66 R1 RENAMES Q.
              |                ^

            hint: RENAMES names fields of the record in front of it

            error[COB-080]: B is ambiguous: B, E.B
              at a.cpy:8:16
              |
            8 |  66 R2 RENAMES B.
              |                ^

            hint: say which: `B OF group`

            error[COB-081]: D repeats, it cannot be renamed
              at a.cpy:9:16
              |
            9 |  66 R3 RENAMES D.
              |                ^

            hint: rename the group around the table

            error[COB-081]: E does not end after F
              at a.cpy:10:23
               |
            10 |  66 R4 RENAMES F THRU E.
               |                       ^

            hint: the field after THRU must follow the first one, outside it

            error[COB-081]: F does not end after E
              at a.cpy:11:23
               |
            11 |  66 R5 RENAMES E THRU F.
               |                       ^

            hint: the field after THRU must follow the first one, outside it

            error[COB-081]: A is the record itself, it cannot be renamed
              at a.cpy:12:16
               |
            12 |  66 R6 RENAMES A.
               |                ^

            hint: rename its fields

            error[COB-081]: T repeats, it cannot be renamed
              at a.cpy:13:23
               |
            13 |  66 R7 RENAMES N THRU T.
               |                       ^

            hint: rename the group around the table
        "#]],
    );
}

#[test]
fn limits() {
    limited(
        &Limits { record_bytes_max: 1000, ..Limits::default() },
        "01 A.\n 05 B OCCURS 4000000000.\n  10 C PIC X(500) OCCURS 4000000000.\n  10 D PIC X(1001).",
        expect![[r#"
            error[COB-042]: the picture has more than 1000 character positions
              at a.cpy:4:12
              |
            4 |   10 D PIC X(1001).
              |            ^^^^^^^

            hint: check the repeat count, or allow more with `--limit record-bytes=N`"#]],
    );
    limited(
        &Limits { record_bytes_max: 1000, ..Limits::default() },
        "01 A.\n 05 B OCCURS 4000000000.\n  10 C OCCURS 4000000000.\n   15 D PIC X(500) OCCURS 4000000000.",
        expect![[r#"
            error[COB-090]: D ends at byte 2000000000000, but a record has at most 1000
              at a.cpy:4:20
              |
            4 |    15 D PIC X(500) OCCURS 4000000000.
              |                    ^^^^^^^^^^^^^^^^^

            hint: check the OCCURS counts around it, or allow more with `--limit record-bytes=N`
        "#]],
    );
    limited(
        &Limits { fields_max: 2, ..Limits::default() },
        "01 A.\n 05 B PIC X.\n 05 C PIC X.",
        expect![[r#"
            error[COB-091]: the copybook has more than 2 fields
              at a.cpy:3:5
              |
            3 |  05 C PIC X.
              |     ^

            hint: keep the record descriptions that you need in a copybook of their own, or allow more with `--limit fields=N`"#]],
    );
}

#[test]
fn names_twice() {
    free(
        "01 A.\n 05 B PIC X.\n 05 FILLER PIC X.\n 05 FILLER PIC X.\n 05 G. 10 B PIC X.\n 05 B PIC X.",
        expect![[r#"
            0    5     01 A min 5 max 5
            0    1       05 B PIC X
            1    1       05 FILLER PIC X
            2    1       05 FILLER PIC X
            3    1       05 G
            3    1         10 B PIC X
            4    1       05 B PIC X
            warning[COB-092]: B is the name of two fields of one group, the other is in line 2
              at a.cpy:6:5
              |
            6 |  05 B PIC X.
              |     ^

            hint: rename one of them: a reference to either is ambiguous
        "#]],
    );
}
