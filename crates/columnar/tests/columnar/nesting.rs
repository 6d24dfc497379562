//! Groups, lists, absence and voided documents.

use expect_test::expect;
use quayline_columnar::{ColumnOptions, ColumnSink, Nesting};
use quayline_core::{Occurs, Scalar, Shape};

use crate::model::{Action, Data, check, group, list, text};

const TEXT: Scalar = Scalar::Text { chars_max: None };
const MANY: Occurs = Occurs::Many { min: 0, max: None };

/// Cars with dealers with telephones, and a list of codes: `OCCURS` in `OCCURS`.
fn cars() -> Shape {
    let mut shape = Shape::builder("CARS");
    shape.scalar("ID", Scalar::Decimal { digits: 5, scale: 0, signed: false }, Occurs::Once);
    shape.open("CAR", MANY);
    shape.scalar("NAME", TEXT, Occurs::Once);
    shape.open("DEALER", MANY);
    shape.scalar("CITY", TEXT, Occurs::Once);
    shape.scalar("PHONE", TEXT, MANY);
    shape.close();
    shape.open("EXTRA", Occurs::Optional);
    shape.scalar("PRICE", Scalar::Decimal { digits: 7, scale: 2, signed: true }, Occurs::Once);
    shape.close();
    shape.close();
    shape.scalar("CODE", Scalar::Decimal { digits: 30, scale: 1, signed: true }, MANY);
    shape.scalar("LAST", Scalar::Bool, Occurs::Once);
    shape.finish()
}

fn documents() -> Vec<Data> {
    let int = |n| Data::Int(n, 0);
    let dealer =
        |city: &str, phones: &[&str]| group([text(city), Data::List(phones.iter().map(|phone| text(phone)).collect())]);
    vec![
        group([
            int(1),
            list([
                group([
                    text("A4"),
                    list([dealer("ULM", &["1", "2"]), dealer("BONN", &[])]),
                    group([Data::Int(995, 2)]),
                ]),
                group([text("A6"), list([]), Data::Absent]),
            ]),
            list([Data::Int(5, 1), Data::Null, Data::Int(-7, 0)]),
            Data::Bool(true),
        ]),
        group([int(2), list([]), list([]), Data::Bool(false)]),
        group([int(3), Data::Absent, Data::Absent, Data::Absent]),
        group([
            Data::Null,
            list([
                group([Data::Null, Data::Absent, group([Data::Null])]),
                group([text("Größe"), list([group([text("AB"), Data::Absent])]), Data::Absent]),
            ]),
            list([Data::Null]),
            Data::Null,
        ]),
    ]
}

#[test]
fn lists_groups_and_nulls_are_read_back() {
    let actions: Vec<Action> = documents().into_iter().map(Action::Keep).collect();
    let rows = check(&cars(), &ColumnOptions::default(), &actions);
    expect![[r#"
        {ID:1,CAR:[{NAME:A4,DEALER:[{CITY:ULM,PHONE:[1,2]},{CITY:BONN,PHONE:[]}],EXTRA:{PRICE:9.95}},{NAME:A6,DEALER:[],EXTRA:null}],CODE:[0.5,null,-7.0],LAST:true}
        {ID:2,CAR:[],CODE:[],LAST:false}
        {ID:3,CAR:null,CODE:null,LAST:null}
        {ID:null,CAR:[{NAME:null,DEALER:null,EXTRA:{PRICE:null}},{NAME:Größe,DEALER:[{CITY:AB,PHONE:null}],EXTRA:null}],CODE:[null],LAST:null}"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn voided_documents_leave_no_trace_wherever_they_break() {
    let shape = cars();
    let documents = documents();
    // The first document has 37 events.
    for events in 1..=40 {
        let mut actions = Vec::new();
        for (i, document) in documents.iter().enumerate() {
            actions.push(Action::Break(documents[(i + 1) % 4].clone(), events));
            actions.push(Action::Keep(document.clone()));
            actions.push(Action::Void(documents[(i + 2) % 4].clone()));
            actions.push(Action::Break(documents[0].clone(), events));
        }
        for batch_rows_max in [1, 3, 100] {
            check(&shape, &ColumnOptions { batch_rows_max, ..ColumnOptions::default() }, &actions);
        }
    }
}

#[test]
fn flat_columns_carry_the_names_of_their_groups() {
    let mut shape = Shape::builder("R");
    shape.open("A", Occurs::Once);
    shape.open("B", Occurs::Once);
    shape.scalar("C", TEXT, Occurs::Once);
    shape.close();
    shape.open("D", Occurs::Optional);
    shape.open("E", Occurs::Once);
    shape.scalar("F", TEXT, Occurs::Once);
    shape.close();
    shape.close();
    shape.open("EMPTY", Occurs::Once);
    shape.close();
    shape.close();
    shape.scalar("G", TEXT, Occurs::Once);
    let shape = shape.finish();
    let options = ColumnOptions { nesting: Nesting::Flat, ..ColumnOptions::default() };
    let mut sink = ColumnSink::new(&shape, &options).unwrap();
    let documents = [
        group([group([group([text("x")]), group([group([text("y")])]), group([])]), text("z")]),
        group([group([group([text("u")]), Data::Absent, Data::Absent]), Data::Null]),
    ];
    let actions: Vec<Action> = documents.into_iter().map(Action::Keep).collect();
    let mut rows = Vec::new();
    crate::model::run(&shape, &actions, &mut sink, |sink| rows.extend(crate::dump::rows(sink.take_batch().unwrap())));
    expect![[r#"
        {A_B_C:x,A_D:{E:{F:y}},G:z}
        {A_B_C:u,A_D:null,G:null}"#]]
    .assert_eq(&rows.join("\n"));
    check(&shape, &ColumnOptions::default(), &actions);
}

#[test]
fn shapes_without_a_table_are_refused() {
    let findings = |build: &dyn Fn(&mut quayline_core::ShapeBuilder), nesting| {
        let mut shape = Shape::builder("R");
        build(&mut shape);
        let options = ColumnOptions { nesting, ..ColumnOptions::default() };
        ColumnSink::new(&shape.finish(), &options).unwrap_err().to_string()
    };
    expect![[r#"
        error[COL-001]: a decimal column holds at most 76 digits, found 70 digits with scale -7
          at A.N

        hint: exclude the field, or show it as text in the interface file"#]]
    .assert_eq(&findings(
        &|shape| {
            shape.open("A", Occurs::Once);
            shape.scalar("N", Scalar::Decimal { digits: 70, scale: -7, signed: false }, Occurs::Once);
        },
        Nesting::Struct,
    ));
    expect![[r#"
        error[COL-003]: the record has no field that becomes a column

        hint: include at least one field in the interface file"#]]
    .assert_eq(&findings(
        &|shape| {
            shape.open("A", Occurs::Once);
        },
        Nesting::Struct,
    ));
    expect![[r#"
        error[COL-002]: two columns are named A_B

        hint: rename one of the fields in the interface file, or keep groups as structs"#]]
    .assert_eq(&findings(
        &|shape| {
            shape.open("A", Occurs::Once);
            shape.scalar("B", TEXT, Occurs::Once);
            shape.close();
            shape.scalar("A_B", TEXT, Occurs::Once);
        },
        Nesting::Flat,
    ));
}
