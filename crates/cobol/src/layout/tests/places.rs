//! Places: slack bytes, tables, shared storage, second names.

use super::*;

#[test]
fn slack_bytes_follow_the_language_reference() {
    check(
        "01 FIELD-A. 05 FIELD-B PIC X(5). 05 FIELD-C. 10 FIELD-D PIC XX. 10 FIELD-E COMP PIC S9(6) SYNC.
         01 FIELD-L. 05 FIELD-M PIC X(5). 05 FIELD-N PIC XX. 05 FIELD-O. 10 FIELD-P COMP PIC S9(6) SYNC.
         01 WORK-RECORD. 05 WORK-CODE PIC X. 05 COMP-TABLE OCCURS 10 TIMES. 10 COMP-TYPE PIC X.
            10 COMP-PAY PIC S9(4)V99 COMP SYNC. 10 COMP-HRS PIC S9(3) COMP SYNC. 10 COMP-NAME PIC X(5).
         01 COMP-RECORD. 05 A-1 PIC X(5). 05 A-2 PIC X(3). 05 A-3 PIC X(3). 05 B-1 PIC S9999 COMP SYNCHRONIZED LEFT.
            05 B-2 PIC S99999 COMP SYNC RIGHT. 05 B-3 PIC S9999 COMP SYNC.",
        expect![[r#"
            0    12    01 FIELD-A min 12 max 12
            0    5       05 FIELD-B PIC X(5)
            5    7       05 FIELD-C
            5    2         10 FIELD-D PIC XX
            8    4         10 FIELD-E slack 1 PIC S9(6) COMP SYNC
            0    12    01 FIELD-L min 12 max 12
            0    5       05 FIELD-M PIC X(5)
            5    2       05 FIELD-N PIC XX
            8    4       05 FIELD-O slack 1
            8    4         10 FIELD-P PIC S9(6) COMP SYNC
            0    161   01 WORK-RECORD min 161 max 161
            0    1       05 WORK-CODE PIC X
            1    14+2    05 COMP-TABLE [10..10]
            1    1         10 COMP-TYPE PIC X
            4    4         10 COMP-PAY slack 2 PIC S9(4)V99 COMP SYNC
            8    2         10 COMP-HRS PIC S9(3) COMP SYNC
            10   5         10 COMP-NAME PIC X(5)
            0    22    01 COMP-RECORD min 22 max 22
            0    5       05 A-1 PIC X(5)
            5    3       05 A-2 PIC X(3)
            8    3       05 A-3 PIC X(3)
            12   2       05 B-1 slack 1 PIC S9999 COMP SYNC
            16   4       05 B-2 slack 2 PIC S99999 COMP SYNC
            20   2       05 B-3 PIC S9999 COMP SYNC
        "#]],
    );
}

#[test]
fn sync_of_a_group_reaches_its_items_and_each_boundary_is_its_own() {
    let text = "01 R SYNC.
         05 A PIC X. 05 H PIC S9(4) COMP. 05 B PIC X. 05 F PIC S9(9) COMP-5. 05 C PIC X. 05 D PIC S9(18) COMP. 05 E PIC X.
         05 F1 COMP-1. 05 G PIC X. 05 F2 COMP-2. 05 I PIC X. 05 IX INDEX. 05 J PIC X. 05 P POINTER. 05 K PIC X. 05 PP PROCEDURE-POINTER.
         05 L PIC X. 05 PK PIC S9(5) COMP-3. 05 Z PIC 9(3).";
    check(
        text,
        expect![[r#"
            0    83    01 R min 83 max 83
            0    1       05 A PIC X
            2    2       05 H slack 1 PIC S9(4) COMP SYNC
            4    1       05 B PIC X
            8    4       05 F slack 3 PIC S9(9) COMP-5 SYNC
            12   1       05 C PIC X
            16   8       05 D slack 3 PIC S9(18) COMP SYNC
            24   1       05 E PIC X
            28   4       05 F1 slack 3 COMP-1 SYNC
            32   1       05 G PIC X
            40   8       05 F2 slack 7 COMP-2 SYNC
            48   1       05 I PIC X
            52   4       05 IX slack 3 INDEX SYNC
            56   1       05 J PIC X
            60   4       05 P slack 3 POINTER SYNC
            64   1       05 K PIC X
            68   8       05 PP slack 3 PROCEDURE-POINTER SYNC
            76   1       05 L PIC X
            77   3       05 PK PIC S9(5) COMP-3
            80   3       05 Z PIC 9(3)
        "#]],
    );
    expect![[r#"
        0    95    01 R min 95 max 95
        0    1       05 A PIC X
        2    2       05 H slack 1 PIC S9(4) COMP SYNC
        4    1       05 B PIC X
        8    4       05 F slack 3 PIC S9(9) COMP-5 SYNC
        12   1       05 C PIC X
        16   8       05 D slack 3 PIC S9(18) COMP SYNC
        24   1       05 E PIC X
        28   4       05 F1 slack 3 COMP-1 SYNC
        32   1       05 G PIC X
        40   8       05 F2 slack 7 COMP-2 SYNC
        48   1       05 I PIC X
        52   4       05 IX slack 3 INDEX SYNC
        56   1       05 J PIC X
        64   8       05 P slack 7 POINTER SYNC
        72   1       05 K PIC X
        80   8       05 PP slack 7 PROCEDURE-POINTER SYNC
        88   1       05 L PIC X
        89   3       05 PK PIC S9(5) COMP-3
        92   3       05 Z PIC 9(3)
    "#]]
    .assert_eq(&rendered(text, &Dialect::GNUCOBOL));
    expect![[r#"
        0    61    01 R min 61 max 61
        0    1       05 A PIC X
        1    2       05 H PIC S9(4) COMP
        3    1       05 B PIC X
        4    4       05 F PIC S9(9) COMP-5
        8    1       05 C PIC X
        9    8       05 D PIC S9(18) COMP
        17   1       05 E PIC X
        18   4       05 F1 COMP-1
        22   1       05 G PIC X
        23   8       05 F2 COMP-2
        31   1       05 I PIC X
        32   4       05 IX INDEX
        36   1       05 J PIC X
        37   8       05 P POINTER
        45   1       05 K PIC X
        46   8       05 PP PROCEDURE-POINTER
        54   1       05 L PIC X
        55   3       05 PK PIC S9(5) COMP-3
        58   3       05 Z PIC 9(3)
    "#]]
    .assert_eq(&rendered(text, &Dialect::MICRO_FOCUS));
}

#[test]
fn slack_in_nested_tables_and_redefinitions() {
    check(
        "01 R. 05 A PIC X. 05 T OCCURS 2. 10 B PIC X. 10 U OCCURS 3. 15 C PIC S9(4) COMP SYNC. 15 D PIC X. 10 E PIC S9(9) COMP SYNC. 10 F PIC X.
         05 G PIC X. 05 H PIC X(4). 05 I REDEFINES H PIC S9(9) COMP SYNC. 05 J REDEFINES H. 10 K PIC X. 10 L PIC S9(4) COMP SYNC. 05 M COMP SYNC PIC S9(4) OCCURS 3.",
        expect![[r#"
            0    52    01 R min 52 max 52
            0    1       05 A PIC X
            1    20      05 T [2..2]
            1    1         10 B PIC X
            2    3+1       10 U [3..3]
            2    2           15 C PIC S9(4) COMP SYNC
            4    1           15 D PIC X
            16   4         10 E slack 2 PIC S9(9) COMP SYNC
            20   1         10 F PIC X
            41   1       05 G PIC X
            42   4       05 H PIC X(4)
            42   4       05 I = H PIC S9(9) COMP SYNC
            42   4       05 J = H
            42   1         10 K PIC X
            44   2         10 L slack 1 PIC S9(4) COMP SYNC
            46   2       05 M [3..3] PIC S9(4) COMP SYNC
            warning[COB-064]: I is SYNCHRONIZED, but H, which it redefines, begins at byte 42, which is not a multiple of 4
              at test.cpy:2:40
              |
            2 |          05 G PIC X. 05 H PIC X(4). 05 I REDEFINES H PIC S9(9) COMP SYNC. 05 J REDEFINES H. 10 K PIC X. 10 L PIC S9(4) COMP SYNC. 05 M COMP SYNC PIC S9(4) OCCURS 3.
              |                                        ^

            hint: no slack is inserted in front of a redefinition; align the field that is redefined
        "#]],
    );
}

#[test]
fn redefinitions_share_storage() {
    check(
        "01 R. 05 A PIC X(8). 05 B REDEFINES A. 10 C PIC 9(4). 10 D REDEFINES C PIC X(2). 10 E PIC X(4).
         05 F REDEFINES B PIC S9(15) COMP-3. 05 G REDEFINES A OCCURS 2 PIC X(4). 05 FILLER REDEFINES A. 10 H PIC X.
         05 I PIC X(4). 05 J REDEFINES I PIC X(6). 05 K PIC X. 05 T PIC X OCCURS 3. 05 U REDEFINES T PIC X(3). 05 V PIC X.",
        expect![[r#"
            0    19    01 R min 19 max 19
            0    8       05 A PIC X(8)
            0    8       05 B = A
            0    4         10 C PIC 9(4)
            0    2         10 D = B.C PIC X(2)
            4    4         10 E PIC X(4)
            0    8       05 F = A PIC S9(15) COMP-3
            0    4       05 G [2..2] = A PIC X(4)
            0    1       05 FILLER = A
            0    1         10 H PIC X
            8    4       05 I PIC X(4)
            8    6       05 J = I PIC X(6)
            14   1       05 K PIC X
            15   1       05 T [3..3] PIC X
            15   3       05 U = T PIC X(3)
            18   1       05 V PIC X
            warning[COB-062]: J has 6 bytes, but it redefines I, which has 4
              at test.cpy:3:30
              |
            3 |          05 I PIC X(4). 05 J REDEFINES I PIC X(6). 05 K PIC X. 05 T PIC X OCCURS 3. 05 U REDEFINES T PIC X(3). 05 V PIC X.
              |                              ^^^^^^^^^

            hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
            warning[COB-063]: T, which is redefined, has an OCCURS clause
              at test.cpy:3:90
              |
            3 |          05 I PIC X(4). 05 J REDEFINES I PIC X(6). 05 K PIC X. 05 T PIC X OCCURS 3. 05 U REDEFINES T PIC X(3). 05 V PIC X.
              |                                                                                          ^^^^^^^^^^^

            hint: the storage of all its occurrences is taken; Enterprise COBOL refuses this: put the table in a group and redefine that
        "#]],
    );
}

#[test]
fn tables_of_varying_length() {
    check(
        "01 R. 05 G. 10 N PIC 9. 10 M PIC S9(4) COMP. 05 T OCCURS 1 TO 3 TIMES DEPENDING ON N OF G. 10 K PIC 9.
            10 U OCCURS 0 TO 4 TIMES DEPENDING K ASCENDING KEY IS V INDEXED BY X1 X2. 15 V PIC X. 15 W PIC X.
         05 S PIC XX OCCURS 5 DEPENDING ON M IN R. 05 Z PIC X.",
        expect![[r#"
            0    41    01 R min 7 max 41
            0    3       05 G
            0    1         10 N PIC 9
            1    2         10 M PIC S9(4) COMP
            3    9       05 T [1..3 by G.N]
            3    1         10 K PIC 9
            4    2         10 U [0..4 by T.K]
            4    1           15 V PIC X
            5    1           15 W PIC X
            30   2       05 S [1..5 by G.M] PIC XX
            40   1       05 Z PIC X
        "#]],
    );
    let mut gnu = Dialect::IBM;
    gnu.odo_slide = false;
    expect![[r#"
        0    11    01 R min 11 max 11
        0    1       05 N PIC 9
        1    3       05 T [1..3 by N]
        1    2         10 A PIC XX
        3    1         10 B PIC X
        10   1       05 Z PIC X
        0    22    01 S min 3 max 22
        0    1       05 N PIC 9
        1    7       05 T [1..3 by N]
        1    2         10 A PIC XX
        3    1         10 U [0..5 by N] PIC X
        0    7     01 Q min 1 max 7
        0    1       05 N PIC 9
        1    2       05 T [0..3 by N] PIC XX
    "#]]
    .assert_eq(&rendered(
        "01 R. 05 N PIC 9. 05 T OCCURS 1 TO 3 DEPENDING ON N. 10 A PIC XX. 10 B PIC X. 05 Z PIC X.
         01 S. 05 N PIC 9. 05 T OCCURS 1 TO 3 DEPENDING ON N. 10 A PIC XX. 10 U OCCURS 0 TO 5 DEPENDING ON N PIC X.
         01 Q. 05 N PIC 9. 05 T OCCURS 0 TO 3 DEPENDING ON N PIC XX.",
        &gnu,
    ));
}

#[test]
fn usage_and_sign_of_a_group_reach_its_items_and_the_nearest_wins() {
    check(
        "01 R USAGE COMP-3. 05 A PIC S9(3). 05 G COMP. 10 B PIC S9(4). 10 C PIC S9(4) DISPLAY SIGN LEADING SEPARATE.
         01 S SIGN TRAILING SEPARATE. 05 A PIC S9(3). 05 B PIC 9(3). 05 C PIC X. 05 D PIC S9(3) SIGN LEADING. 05 E PIC S9 COMP.
         01 T GROUP-USAGE NATIONAL. 05 A PIC N(3). 05 G. 10 B PIC N.
         01 V COMP-1. 05 A. 05 B OCCURS 2.",
        expect![[r#"
            0    9     01 R min 9 max 9
            0    2       05 A PIC S9(3) COMP-3
            2    7       05 G
            2    2         10 B PIC S9(4) COMP
            4    5         10 C PIC S9(4) SIGN LEADING SEPARATE
            0    13    01 S min 13 max 13
            0    4       05 A PIC S9(3) SIGN TRAILING SEPARATE
            4    3       05 B PIC 9(3)
            7    1       05 C PIC X
            8    3       05 D PIC S9(3) SIGN LEADING
            11   2       05 E PIC S9 COMP
            0    8     01 T min 8 max 8
            0    6       05 A PIC N(3) NATIONAL
            6    2       05 G
            6    2         10 B PIC N NATIONAL
            0    12    01 V min 12 max 12
            0    4       05 A COMP-1
            4    4       05 B [2..2] COMP-1
            warning[COB-052]: USAGE COMP contradicts COMP-3 of the group
              at test.cpy:1:41
              |
            1 | 01 R USAGE COMP-3. 05 A PIC S9(3). 05 G COMP. 10 B PIC S9(4). 10 C PIC S9(4) DISPLAY SIGN LEADING SEPARATE.
              |                                         ^^^^

            hint: the nearer one is taken; Enterprise COBOL refuses this
            warning[COB-052]: USAGE DISPLAY contradicts COMP of the group
              at test.cpy:1:78
              |
            1 | 01 R USAGE COMP-3. 05 A PIC S9(3). 05 G COMP. 10 B PIC S9(4). 10 C PIC S9(4) DISPLAY SIGN LEADING SEPARATE.
              |                                                                              ^^^^^^^

            hint: the nearer one is taken; Enterprise COBOL refuses this
        "#]],
    );
}

#[test]
fn renames_give_a_stretch_another_name() {
    check(
        "01 R. 05 A PIC X(2). 05 B. 10 C PIC X(3). 10 D PIC X(4). 05 E PIC X.
         66 R1 RENAMES A. 66 R2 RENAMES A THRU B. 66 R3 RENAMES C THROUGH E. 66 R4 RENAMES B OF R.",
        expect![[r#"
            0    10    01 R min 10 max 10
            0    2       05 A PIC X(2)
            2    7       05 B
            2    3         10 C PIC X(3)
            5    4         10 D PIC X(4)
            9    1       05 E PIC X
            0    2       66 R1
            0    9       66 R2
            2    8       66 R3
            2    7       66 R4
        "#]],
    );
}

#[test]
fn fragments_items_and_unequal_levels() {
    check(
        "03 A PIC X. 03 B. 05 C PIC X. 01 S. 10 D PIC X. 05 E PIC X. 77 F PIC 9(3) COMP-3. 77 G PIC X VALUE 'A'. 01 H PIC X(5).
         01 I. 05 J. 15 K PIC X. 10 L PIC X. 05 M PIC X.",
        expect![[r#"
            0    2     01 TEST min 2 max 2
            0    1       03 A PIC X
            1    1       03 B
            1    1         05 C PIC X
            0    2     01 S min 2 max 2
            0    1       10 D PIC X
            1    1       05 E PIC X
            0    2     77 F PIC 9(3) COMP-3 min 2 max 2
            0    1     77 G PIC X min 1 max 1
            0    5     01 H PIC X(5) min 5 max 5
            0    3     01 I min 3 max 3
            0    2       05 J
            0    1         15 K PIC X
            1    1         10 L PIC X
            2    1       05 M PIC X
            warning[COB-024]: level 05 does not match its sibling D, which has level 10
              at test.cpy:1:52
              |
            1 | 03 A PIC X. 03 B. 05 C PIC X. 01 S. 10 D PIC X. 05 E PIC X. 77 F PIC 9(3) COMP-3. 77 G PIC X VALUE 'A'. 01 H PIC X(5).
              |                                                    ^

            hint: E is taken as a field of S; give fields of one group one level number
            warning[COB-024]: level 10 does not match its sibling K, which has level 15
              at test.cpy:2:37
              |
            2 |          01 I. 05 J. 15 K PIC X. 10 L PIC X. 05 M PIC X.
              |                                     ^

            hint: L is taken as a field of J; give fields of one group one level number
        "#]],
    );
}
