//! Random shapes and documents through every output.

use proptest::prelude::*;
use quayline_columnar::ColumnOptions;
use quayline_core::{NodeId, Occurs, Scalar, Shape, ShapeBuilder};

use crate::model::{Action, Data, check};

#[derive(Clone, Debug)]
enum Kind {
    Leaf(Scalar),
    Group(Vec<(Kind, Occurs)>),
}

fn occurs() -> impl Strategy<Value = Occurs> {
    prop_oneof![3 => Just(Occurs::Once), 1 => Just(Occurs::Optional), 2 => Just(Occurs::Many { min: 0, max: None })]
}

fn kind() -> impl Strategy<Value = Kind> {
    let leaf = prop_oneof![
        3 => Just(Scalar::Text { chars_max: None }),
        3 => (1u16..45, 0i16..10).prop_map(|(digits, scale)| Scalar::Decimal { digits, scale, signed: true }),
        1 => Just(Scalar::Float64),
        1 => Just(Scalar::Bool),
        1 => Just(Scalar::Bytes { len_max: None }),
    ]
    .prop_map(Kind::Leaf);
    leaf.prop_recursive(3, 12, 4, |inner| prop::collection::vec((inner, occurs()), 0..4).prop_map(Kind::Group))
}

fn shape() -> impl Strategy<Value = Shape> {
    prop::collection::vec((kind(), occurs()), 0..4).prop_map(|members| {
        let mut shape = Shape::builder("R");
        // One leaf is sure to be there.
        shape.scalar("ID", Scalar::Decimal { digits: 4, scale: 0, signed: false }, Occurs::Once);
        add(&mut shape, &members);
        shape.finish()
    })
}

fn add(shape: &mut ShapeBuilder, members: &[(Kind, Occurs)]) {
    for (i, (kind, occurs)) in members.iter().enumerate() {
        let name = format!("N{i}");
        match kind {
            Kind::Leaf(scalar) => {
                shape.scalar(name, scalar.clone(), *occurs);
            }
            Kind::Group(members) => {
                shape.open(name, *occurs);
                add(shape, members);
                shape.close();
            }
        }
    }
}

/// A document from a seed: simpler than a strategy that depends on the shape, and it shrinks with the seed.
fn document(shape: &Shape, seed: &mut u64) -> Data {
    one(shape, NodeId::ROOT, seed)
}

fn next(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

fn node(shape: &Shape, id: NodeId, seed: &mut u64) -> Data {
    match (shape.node(id).occurs, next(seed, 6)) {
        (Occurs::Many { .. }, 0) => Data::Absent,
        (Occurs::Many { .. }, more) => Data::List((1..more).map(|_| one(shape, id, seed)).collect()),
        (_, 0) => Data::Absent,
        _ => one(shape, id, seed),
    }
}

fn one(shape: &Shape, id: NodeId, seed: &mut u64) -> Data {
    let Some(scalar) = shape.node(id).scalar() else {
        return Data::Group(shape.children(id).map(|child| node(shape, child, seed)).collect());
    };
    if next(seed, 5) == 0 {
        return Data::Null;
    }
    match scalar {
        Scalar::Text { .. } => Data::Text(match next(seed, 4) {
            0 => String::new(),
            1 => "é".repeat(usize::try_from(next(seed, 60)).unwrap()),
            _ => "ab".repeat(usize::try_from(next(seed, 50)).unwrap()),
        }),
        Scalar::Decimal { digits, scale, .. } => {
            let len = 1 + next(seed, u64::from(*digits));
            let digits = (0..len).map(|_| char::from(b'0' + u8::try_from(next(seed, 10)).unwrap())).collect();
            Data::Number(digits, next(seed, 2) == 0, *scale)
        }
        Scalar::Float32 | Scalar::Float64 => Data::Float(f64::from(u32::try_from(next(seed, 1000)).unwrap()) / 8.0),
        Scalar::Bool => Data::Bool(next(seed, 2) == 0),
        Scalar::Bytes { .. } => Data::Bytes(vec![0xfe; usize::try_from(next(seed, 4)).unwrap()]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn what_is_kept_is_read_back(shape in shape(), seeds in prop::collection::vec((any::<u64>(), 0u8..6), 0..30), batch_rows_max in 1usize..12) {
        let actions: Vec<Action> = seeds
            .into_iter()
            .map(|(mut seed, what)| {
                let document = document(&shape, &mut seed);
                match what {
                    0 => Action::Void(document),
                    1 => Action::Break(document, usize::try_from(1 + seed % 20).unwrap()),
                    _ => Action::Keep(document),
                }
            })
            .collect();
        check(&shape, &ColumnOptions { batch_rows_max, ..ColumnOptions::default() }, &actions);
    }
}
