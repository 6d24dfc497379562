//! Selection of occurrences in a loop: conditions, `limit` and `skip`, while the list is read, kept and sorted.

use quayline_map::{Absent, SourceOrder};

use crate::support::Case;

const SOURCE: &str = "
in
  id text(10)
  list*
    k text(5)
    v decimal(9,2)
    sub* text(10)
";

const TARGET: &str = "
out
  before? decimal(20,2)
  id text(10)
  rows*
    k text(10)
    subs* text(10)
  after? decimal(20,2)
";

const INPUT: &str = r#"{"id":"x","list":[{"k":"b","v":1,"sub":["1","2"]},{"k":"e","v":5,"sub":["3"]},{"k":"c","v":2},
    {"k":"d","v":2,"sub":["4","5","6"]},{"k":"f","v":2}]}"#;

fn case() -> Case<'static> {
    Case { source: SOURCE, targets: vec![("out", TARGET, Absent::Refused)], order: SourceOrder::AsShape }
}

/// Returns the keys of the rows that a loop makes.
fn keys(text: &str) -> String {
    text.split("\"k\":\"").skip(1).map(|part| &part[..1]).collect()
}

/// Regression: `limit` counted occurrences that `where` excludes, so two rows of three were written without a finding.
#[test]
fn a_limit_counts_the_occurrences_for_which_the_condition_holds() {
    let rows = |before: &str, head: &str| {
        keys(&case().run(&format!("{before}id = id\n{head} make rows {{ k = k }}\n"), &[INPUT]))
    };
    // While the list is read, kept because a value before it needs the whole list, and sorted.
    for before in ["", "before = sum(v for list)\n"] {
        assert_eq!(rows(before, "for list where k != \"b\" limit 2"), "ec");
        assert_eq!(rows(before, "for list where v > 1 limit 3"), "ecd");
        assert_eq!(rows(before, "for list where v > 1 limit 9"), "ecdf");
        assert_eq!(rows(before, "for list where v > 9 limit 1"), "");
        assert_eq!(rows(before, "for list where v > 1 limit 0"), "");
    }
    assert_eq!(rows("", "for list where v > 1 sort by k limit 3"), "cde");
    assert_eq!(rows("", "for list where v > 1 sort by v desc, k desc limit 2"), "ef");
}

/// Each document, and each occurrence around the loop, begins to count again.
#[test]
fn a_limit_holds_for_one_run_of_its_loop() {
    let map = "id = id\nfor list limit 3 make rows {\n  k = k\n  for sub where it != \"1\" limit 1 make subs = it\n}\n";
    let text = case().run(map, &[INPUT, INPUT]);
    let rows = r#"{"id":"x","rows":[{"k":"b","subs":["2"]},{"k":"e","subs":["3"]},{"k":"c"}]}"#;
    assert_eq!(text, format!("{rows}\n{rows}\n"));
}

/// A path through several lists is one loop: its limit is that of all occurrences, as the check of the target's maximum assumes.
#[test]
fn a_limit_counts_through_several_lists() {
    for before in ["", "before = sum(v for list)\n"] {
        let map = format!("{before}id = id\nfor list.sub where it != \"2\" limit 3 make rows {{ k = it }}\n");
        assert_eq!(keys(&case().run(&map, &[INPUT])), "134");
    }
}

/// The condition guards the sort key, so it is evaluated first.
#[test]
fn only_what_the_condition_lets_through_is_sorted() {
    let map = "id = id\nfor list where is-number(k) sort by number(k) make rows { k = k }\n";
    let input = r#"{"id":"x","list":[{"k":"e","v":1},{"k":"12","v":1},{"k":"3","v":1}]}"#;
    assert_eq!(case().run(map, &[input]), "{\"id\":\"x\",\"rows\":[{\"k\":\"3\"},{\"k\":\"12\"}]}\n");
}

/// Regression: an error before `skip` was never raised, and a sum before it did not include skipped occurrences.
#[test]
fn what_comes_before_skip_happens() {
    let map = "id = id\nvar total = 0\nvar made = 0\nfor list make rows {\n  set total += v\n  if k = \"c\" { skip }\n  set made += 1\n  k = k\n}\n\
               before = total\nafter = made\n";
    let text = case().run(map, &[INPUT]);
    assert_eq!(keys(&text), "bedf");
    assert!(text.contains("\"before\":12") && text.contains("\"after\":4"), "{text}");

    let map = "id = id\nfor list make rows {\n  k = k\n  if k = \"c\" { error \"no c\" code \"C-1\" skip }\n}\n";
    let text = case().run(map, &[INPUT]);
    assert!(text.contains("C-1") && text.contains("refused 1"), "{text}");

    let map = "id = id\nfor list {\n  warning \"seen\"\n  if k = \"c\" { skip }\n  warning \"taken\"\n}\nomit rows\n";
    let text = case().run(map, &[INPUT]);
    assert_eq!((text.matches("]: seen").count(), text.matches("]: taken").count()), (5, 4), "{text}");

    let map = "id = id\nvar n = 0\nfor list make rows {\n  for sub { set n += 1 }\n  if v > 4 { skip }\n  k = k\n}\nafter = n\n";
    let text = case().run(map, &[INPUT]);
    assert!(text.contains("\"after\":6") && keys(&text) == "bcdf", "{text}");
}

/// A loop that fills the occurrence and changes a variable cannot run before `skip` decides whether the occurrence exists.
#[test]
fn a_loop_with_both_effects_before_skip_is_a_finding() {
    let target = TARGET.replace("    subs* text(10)\n", "    subs*\n      s text(10)\n");
    let case = Case { source: SOURCE, targets: vec![("out", &target, Absent::Refused)], order: SourceOrder::AsShape };
    let map = "id = id\nvar n = 0\nfor list make rows {\n  for sub make subs {\n    set n += 1\n    s = it\n  }\n  if v > 4 { skip }\n  k = k\n}\nafter = n\n";
    let text = case.findings(map);
    assert!(text.contains("MAP-036") && text.contains("before `skip`"), "{text}");
}

const TWO_LISTS: &str = "
in
  id text(10)
  list*
    k text(5)
    v decimal(9)
    sub*
      w decimal(9)
  other*
    q text(5)
    x decimal(9)
";

const ROWS: &str = "
out
  first? decimal(20)
  rows*
    n? decimal(20)
  more*
    n? decimal(20)
  second? decimal(20)
";

/// Returns the numbers `n` of the rows that a map makes.
fn numbers(map: &str) -> Vec<String> {
    let input = r#"{"id":"A","list":[{"k":"A","v":1,"sub":[{"w":1},{"w":3}]},{"k":"B","v":2,"sub":[{"w":3}]},{"k":"C","v":3}],
        "other":[{"q":"A","x":1},{"q":"B","x":2},{"q":"A","x":4}]}"#;
    let case = |order| Case { source: TWO_LISTS, targets: vec![("out", ROWS, Absent::Refused)], order };
    let text = case(SourceOrder::AsShape).run(map, &[input]);
    assert_eq!(text, case(SourceOrder::Any).run(map, &[input]), "{map}");
    let end = |part: &str| part.find([',', '}']).map_or(0, |end| end);
    text.split("{\"n\":").skip(1).map(|part| part[..end(part)].to_owned()).collect()
}

/// A fold or choice over one list in a loop over another was answered once, while its list was read, with the values of the loop's last
/// occurrence: every occurrence of the loop got the same wrong value, in silence.
#[test]
fn each_occurrence_of_a_loop_asks_another_list_anew() {
    let rows = |value: &str| numbers(&format!("for list make rows {{ n = {value} }}\n")).join(" ");
    assert_eq!(rows("count(other where q = k)"), "2 1 0");
    assert_eq!(rows("sum(x for other where q = k)"), "5 2 0");
    assert_eq!(rows("sum(x * v for other)"), "7 14 21");
    assert_eq!(rows("max(x for other where q = k) ?? 9"), "4 2 9");
    assert_eq!(rows("if any(q = k for other) then 1 else 0"), "1 1 0");
    assert_eq!(rows("if all(x >= v for other) then 1 else 0"), "1 0 0");
    assert_eq!(rows("other[q = k].x ?? 9"), "1 2 9");
    assert_eq!(rows("sum(x for other where position() = position(list))"), "1 2 4");
    assert_eq!(rows("other[position() = position(list)].x ?? 9"), "1 2 4");
    // The values of the occurrence that contains the list are known while the list is read.
    assert_eq!(rows("count(sub where w > v)"), "1 1 0");
    assert_eq!(rows("count(sub where w > position(list))"), "1 1 0");
    assert_eq!(rows("count(other where q = id)"), "2 2 2");
    assert_eq!(rows("count(other where x > min(v for list))"), "2 2 2");
}

#[test]
fn two_loops_over_one_list_are_two_occurrences() {
    let map = "for a in list {\n  for b in list make rows { n = count(b.sub where w > a.v) }\n}\n";
    assert_eq!(numbers(map).join(" "), "1 1 0 1 1 0 0 0 0");
    let map = "for a in list {\n  for b in list make rows { n = b.sub[w > a.v].w ?? 9 }\n}\n";
    assert_eq!(numbers(map).join(" "), "3 3 9 3 3 9 9 9 9");
}

/// Regression: the same words select something else in another loop or by another value, but the first choice was reused for all.
#[test]
fn a_choice_is_made_by_what_its_names_mean_there() {
    let map = "for other make rows { n = list[k = q].v }\nfor other where x > 1 make more { n = list[k = q].v }\n";
    assert_eq!(numbers(map).join(" "), "1 2 1 2 1");
    let map = "for o in other make rows { n = list[k = o.q].v }\nfor o in other where x > 1 make more { n = list[k = o.q].v }\n";
    assert_eq!(numbers(map).join(" "), "1 2 1 2 1");
    let map = "make rows {\n  let z = \"A\"\n  n = other[q = z].x\n}\nmake rows {\n  let z = \"B\"\n  n = other[q = z].x\n}\n";
    assert_eq!(numbers(map).join(" "), "1 2");
    let map =
        "part p { n = list[k = q].v }\nfor other make rows { use p }\nfor other where x > 1 make more { use p }\n";
    assert_eq!(numbers(map).join(" "), "1 2 1 2 1");
}

/// Regression: a member named `it` of a group around a list of values hid the value of the list.
#[test]
fn it_is_the_current_value_whatever_members_are_called() {
    let source = "source\n  it? text\n  tag* text\n  part*\n    it? text\n    mark* text\n";
    let target = "target\n  a* text\n  b* text\n  c? text\n  d? text\n";
    let case = Case { source, targets: vec![("out", target, Absent::Refused)], order: SourceOrder::AsShape };
    let input = r#"{"it":"S","tag":["1","2"],"part":[{"it":"P","mark":["3","4"]}]}"#;
    let map = "for tag where it != \"2\" make a = it\nfor part { for mark make b = it }\nc = join(it for tag, \",\")\nd = it\n";
    let text = case.run(map, &[input]);
    assert_eq!(text, "{\"a\":[\"1\"],\"b\":[\"3\",\"4\"],\"c\":\"1,2\",\"d\":\"S\"}\n");
    // Lists of groups are like lists of values.
    let case = Case {
        source: "source\n  it?\n    k? text\n  part*\n    k? text\n",
        targets: vec![("out", "target\n  a* text\n", Absent::Refused)],
        order: SourceOrder::AsShape,
    };
    let groups = r#"{"it":{"k":"S"},"part":[{"k":"1"},{"k":"2"}]}"#;
    assert_eq!(case.run("for part make a = it.k\n", &[groups]), "{\"a\":[\"1\",\"2\"]}\n");
    let case = Case { source, targets: vec![("out", target, Absent::Refused)], order: SourceOrder::AsShape };
    // Quotes name the member.
    let text = case.run("for tag make a = 'it'\nomit b\nomit c\nomit d\n", &[input]);
    assert_eq!(text, "{\"a\":[\"S\",\"S\"]}\n");
}
