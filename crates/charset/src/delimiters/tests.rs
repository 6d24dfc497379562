use proptest::prelude::*;

use super::*;

/// Ends, parts, marks, and the segments: first byte, ends, parts.
type Lists = (Vec<u32>, Vec<u32>, Vec<u32>, Vec<(u32, Vec<u32>, Vec<u32>)>);

fn lists(kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) -> Lists {
    let mut index = DelimiterIndex::new();
    index.scan_positions(kernel, set, text);
    assert_eq!(index.segments(), 0);
    let positions = [index.ends().to_vec(), index.parts().to_vec(), index.marks().to_vec()];
    index.scan_with(kernel, set, text);
    let [ends, parts, marks] = positions;
    assert_eq!((index.ends(), index.parts(), index.marks()), (&ends[..], &parts[..], &marks[..]));
    let segments: Vec<_> = (0..index.segments())
        .map(|i| {
            let SegmentSpan { start, ends, parts } = index.segment(i).expect("one of them");
            (start, ends.to_vec(), parts.to_vec())
        })
        .collect();
    assert!(index.segment(index.segments()).is_none() && index.segment(u32::MAX).is_none());
    (ends, parts, marks, segments)
}

fn sets() -> impl Strategy<Value = DelimiterSet> {
    let x12 = DelimiterSet { element: b'*', terminator: b'~', component: Some(b':'), repetition: None, release: None };
    let edifact = DelimiterSet {
        element: b'+',
        terminator: b'\'',
        component: Some(b':'),
        repetition: Some(b'*'),
        release: Some(b'?'),
    };
    prop_oneof![
        Just(x12),
        Just(edifact),
        Just(DelimiterSet { terminator: b'\n', ..x12 }),
        Just(DelimiterSet { terminator: b'\r', ..edifact }),
        // Bytes that are equal, and the byte that fills the last block.
        Just(DelimiterSet {
            element: 0,
            terminator: b'*',
            component: Some(b'*'),
            repetition: Some(0),
            release: Some(0)
        }),
    ]
}

fn text(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    let dense = prop_oneof![
        3 => prop::sample::select(b"*~:+'?\r\n\0".to_vec()),
        2 => any::<u8>(),
    ];
    let releases = prop::sample::select(b"????'+\nA".to_vec());
    let sparse = prop_oneof![9 => Just(b'A'), 1 => prop::sample::select(b"*~:+'?\r\n".to_vec())];
    prop_oneof![
        prop::collection::vec(dense, len.clone()),
        prop::collection::vec(releases, len.clone()),
        prop::collection::vec(sparse, len),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_kernel_finds_what_the_definition_finds(set in sets(), text in text(0..300)) {
        let expected = lists(DelimiterKernel::Scalar, &set, &text);
        for kernel in DelimiterKernel::available() {
            prop_assert_eq!(lists(kernel, &set, &text), expected.clone(), "{:?}", kernel);
        }
    }
}

#[test]
fn every_kernel_finds_the_same_in_long_texts() {
    let set =
        DelimiterSet { element: b'+', terminator: b'\'', component: Some(b':'), repetition: None, release: Some(b'?') };
    let mut state = 1u32;
    let text: Vec<u8> = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"ABCDE++:'?\r\n"[(state >> 16) as usize % 12]
        })
        .collect();
    for text in [text, vec![b'\''; 100_000], vec![b'?'; 100_001]] {
        let expected = lists(DelimiterKernel::Scalar, &set, &text);
        for kernel in DelimiterKernel::available() {
            assert!(lists(kernel, &set, &text) == expected, "{kernel:?}");
        }
    }
}

#[test]
fn a_released_terminator_is_data_and_breaks_behind_terminators_are_nothing() {
    let set =
        DelimiterSet { element: b'+', terminator: b'\'', component: Some(b':'), repetition: None, release: Some(b'?') };
    for kernel in DelimiterKernel::available() {
        let (ends, parts, marks, segments) = lists(kernel, &set, b"\nA+DON?'T:??'\r\nB+x\ny?\n+'");
        assert_eq!(ends, [2, 12, 16, 23], "{kernel:?}");
        assert_eq!(parts, [9]);
        assert_eq!(segments, [(0, vec![2, 12], vec![9]), (13, vec![16, 23], vec![])]);
        assert_eq!(marks, [6, 10, 18, 20, 21]);
    }
}
