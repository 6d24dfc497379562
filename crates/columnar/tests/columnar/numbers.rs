//! Decimals of every width.

use expect_test::expect;
use quayline_columnar::{ColumnOptions, ColumnSink};
use quayline_core::{Decimal, NodeId, Occurs, Scalar, Shape, Sink, Value};

use crate::dump;
use crate::model::{Action, Data, check, group};

fn decimal(digits: u16, scale: i16) -> Scalar {
    Scalar::Decimal { digits, scale, signed: true }
}

#[test]
fn all_digits_and_scales_are_exact() {
    for digits in 1..=76u16 {
        for scale in [0, 1, i16::try_from(digits).unwrap() / 2, i16::try_from(digits).unwrap(), 76] {
            let mut shape = Shape::builder("R");
            shape.scalar("N", decimal(digits, scale), Occurs::Once);
            let shape = shape.finish();
            let nines = "9".repeat(digits.into());
            let some: String = "1234567890".chars().cycle().take(digits.into()).collect();
            let documents = [
                Data::Number(nines.clone(), false, scale),
                Data::Number(nines, true, scale),
                Data::Number(some.clone(), true, scale),
                Data::Number(format!("000{some}"), false, scale),
                Data::Number("0".into(), true, scale),
                Data::Number("7".into(), false, scale),
                Data::Null,
                Data::Absent,
                Data::Int(-5, scale),
            ];
            let actions: Vec<Action> = documents.into_iter().map(|n| Action::Keep(group([n]))).collect();
            check(&shape, &ColumnOptions::default(), &actions);
        }
    }
}

#[test]
fn integers_take_what_their_bits_hold() {
    let mut shape = Shape::builder("R");
    shape.scalar("SMALL", decimal(4, 0), Occurs::Once);
    shape.scalar("LARGE", decimal(18, 0), Occurs::Once);
    let shape = shape.finish();
    let row = |small: i64, large: &str| {
        let (negative, digits) = large.strip_prefix('-').map_or((false, large), |digits| (true, digits));
        group([Data::Int(small, 0), Data::Number(digits.to_owned(), negative, 0)])
    };
    check(
        &shape,
        &ColumnOptions::default(),
        &[
            Action::Keep(row(65_535, "9223372036854775807")),
            Action::Keep(row(i32::MIN.into(), "-9223372036854775808")),
            Action::Keep(row(i32::MAX.into(), "00000000000000000000000000001")),
            Action::Refuse(row(1 << 31, "0")),
            Action::Refuse(row(0, "9223372036854775808")),
            Action::Refuse(row(0, "-9223372036854775809")),
            Action::Keep(group([Data::Null, Data::Int(i64::MIN, 0)])),
        ],
    );
}

#[test]
fn scales_of_values_and_columns_may_differ() {
    let mut shape = Shape::builder("R");
    shape.scalar("MONEY", decimal(9, 2), Occurs::Once);
    shape.scalar("THOUSANDS", decimal(3, -3), Occurs::Once);
    shape.scalar("TINY", decimal(3, 5), Occurs::Once);
    shape.scalar("ALL64", Scalar::Decimal { digits: 20, scale: 0, signed: false }, Occurs::Once);
    let shape = shape.finish();
    let number = |digits: &str, scale| Data::Number(digits.to_owned(), false, scale);
    let rows = check(
        &shape,
        &ColumnOptions::default(),
        &[
            Action::Keep(group([
                number("12", 0),
                number("999", -3),
                number("123", 5),
                number("18446744073709551615", 0),
            ])),
            Action::Keep(group([number("1", -2), number("5000", 0), number("1", 3), Data::Int(i64::MIN, 0)])),
            Action::Keep(group([number("12300", 4), Data::Int(-7, -3), Data::Int(1, 5), Data::Int(i64::MAX, 0)])),
            Action::Refuse(group([number("12301", 4), Data::Null, Data::Null, Data::Null])),
            Action::Refuse(group([number("1234567890", 2), Data::Null, Data::Null, Data::Null])),
            Action::Refuse(group([Data::Int(1_000_000_000, 2), Data::Null, Data::Null, Data::Null])),
            Action::Refuse(group([Data::Null, number("3000", -6), Data::Null, Data::Null])),
            Action::Refuse(group([Data::Null, Data::Null, Data::Bool(true), Data::Null])),
            Action::Keep(group([number("0", 300), number("000999000", 0), number("0", -300), number("000", 0)])),
        ],
    );
    expect![[r#"
        {MONEY:12.00,THOUSANDS:999000,TINY:0.00123,ALL64:18446744073709551615}
        {MONEY:100.00,THOUSANDS:5000,TINY:0.00100,ALL64:-9223372036854775808}
        {MONEY:1.23,THOUSANDS:-7000,TINY:0.00001,ALL64:9223372036854775807}
        {MONEY:0.00,THOUSANDS:999000,TINY:0.00000,ALL64:0}"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn values_of_other_forms_are_converted_where_nothing_is_lost() {
    let mut shape = Shape::builder("R");
    let money = shape.scalar("MONEY", decimal(7, 2), Occurs::Once);
    let text = shape.scalar("TEXT", Scalar::Text { chars_max: None }, Occurs::Once);
    let float = shape.scalar("FLOAT", Scalar::Float64, Occurs::Once);
    let truth = shape.scalar("TRUTH", Scalar::Bool, Occurs::Once);
    let bytes = shape.scalar("BYTES", Scalar::Bytes { len_max: None }, Occurs::Once);
    let small = shape.scalar("SMALL", Scalar::Float32, Occurs::Once);
    let shape = shape.finish();
    let mut sink = ColumnSink::new(&shape, &ColumnOptions::default()).unwrap();
    let mut send = |values: [Value<'_>; 6]| {
        sink.enter(NodeId::ROOT);
        for (node, value) in [money, text, float, truth, bytes, small].into_iter().zip(values) {
            sink.value(node, value);
        }
        sink.leave(NodeId::ROOT);
        assert_eq!(sink.take_refusal(), None);
    };
    let run = |text: &'static str| Value::Text(text.as_bytes().into());
    send([run(" -12.5 "), Value::Int(-5, 3), Value::Int(5, 1), run("true"), run("0x00ff"), Value::Float32(0.1)]);
    send([
        Value::Decimal(Decimal { unscaled: 99, scale: 0 }),
        Value::Raw(&[1, 0xab]),
        run("1e3"),
        Value::Bool(false),
        Value::Bytes(b"ab"),
        run("0.5"),
    ]);
    send([run("+1"), Value::Bytes(&[0xff]), Value::Float32(0.5), run("false"), Value::Raw(&[7]), Value::Int(25, 2)]);
    send([Value::Null, Value::Bool(true), Value::Null, Value::Null, run(""), Value::Null]);
    expect![[r#"
        {MONEY:-12.50,TEXT:-0.005,FLOAT:0.5,TRUTH:true,BYTES:[00, ff],SMALL:0.1}
        {MONEY:99.00,TEXT:0x01ab,FLOAT:1000,TRUTH:false,BYTES:[61, 62],SMALL:0.5}
        {MONEY:1.00,TEXT:ff,FLOAT:0.5,TRUTH:false,BYTES:[07],SMALL:0.25}
        {MONEY:null,TEXT:true,FLOAT:null,TRUTH:null,BYTES:[],SMALL:null}"#]]
    .assert_eq(&dump::rows(sink.take_batch().unwrap()).join("\n"));
}
