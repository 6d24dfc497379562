//! What runs write.

use expect_test::expect;

use crate::support::Case;

const ORDER: &str = "
850
  BEG
    BEG03 text(22)
    BEG05? text(8)
  N1*0..10
    N101 text(3)
    N102? text(60)
  PO1*1..1000
    PO101? text(20)
    PO102 decimal(15,3)
    PO104? decimal(17,4)
    PID*
      PID05 text(80)
  CTT?
    CTT01 decimal(6)
";

const JSON: &str = "
order
  number text(22)
  date? text(10)
  buyer?
    name text(60)
  lines*1..1000
    line text(6)
    quantity decimal(15,3)
    price? decimal(17,4)
    amount? decimal(20,2)
    texts* text(80)
  count? decimal(6)
  total? decimal(20,2)
";

const DOCUMENT: &str = r#"{"BEG":{"BEG03":"A1","BEG05":"20260131"},"N1":[{"N101":"ST","N102":"Ship"},{"N101":"BY","N102":"Buyer Ltd"}],
"PO1":[{"PO101":"1","PO102":2,"PO104":9.99,"PID":[{"PID05":"bolt"},{"PID05":"M8"}]},{"PO102":1.5}],"CTT":{"CTT01":2}}"#;

#[test]
fn an_order_becomes_json() {
    let map = r#"
map "850 to order"
source "850.guide"
target out "order.json"

number = BEG.BEG03
date = format(date(BEG.BEG05, "CCYYMMDD"), "YYYY-MM-DD")
buyer.name = N1[N101 = "BY"].N102 ?? "unknown"
for PO1 make lines {
  line = PO101 ?? text(position())
  quantity = PO102
  price = PO104
  amount = round(PO102 * PO104, 2)
  for PID make texts = upper(PID05)
}
count = CTT.CTT01
total = round(sum(PO102 * PO104 for PO1), 2)
"#;
    let case = Case::new(ORDER, JSON);
    expect![[r#"
        warning[MAP-051]: `lines.line` has 6 characters, and this up to 20
        warning[MAP-052]: `lines.amount` has 18 digits before the point, and this up to 26
        warning[MAP-052]: `total` has 18 digits before the point, and this up to 30
        {"number":"A1","date":"2026-01-31","buyer":{"name":"Buyer Ltd"},"lines":[{"line":"1","quantity":2,"price":9.99,"amount":19.98,"texts":["BOLT","M8"]},{"line":"2","quantity":1.5}],"count":2,"total":19.98}
    "#]].assert_eq(&case.run(map, &[DOCUMENT]));
}
