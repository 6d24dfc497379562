//! One vector a behaviour.

use expect_test::expect;
use quayline_core::Limits;

use crate::check::{check, check_with};

#[test]
fn fixed_records_lie_side_by_side() {
    check("fixed:3", b"abcdef", expect![]);
}
