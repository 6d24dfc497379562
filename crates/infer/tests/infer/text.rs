//! Shapes guessed from JSON, XML and CSV, in each form in which they are written: reading the sample by its shape finds nothing.

use proptest::prelude::*;
use quayline_convert::{Conversion, Input, Output, Source, Target};
use quayline_infer::{Samples, json_schema, layout, outline};
use quayline_project::{Form, ShapeFile, ShapeOptions, SourceFormat, TargetFormat};

/// Guesses, writes the shape in a form, and reads the sample by it.
fn accepts(sample: &str, extension: &str, format: impl Fn(&Form) -> SourceFormat) {
    let mut samples = Samples::new();
    samples.add("sample", sample).unwrap_or_else(|findings| panic!("{findings}\n{sample}"));
    let draft = samples.draft("doc");
    let text = match extension {
        "shape" => outline(&draft),
        "json" => json_schema(&draft),
        _ => layout(&draft).unwrap_or_else(|findings| panic!("{findings}\n{sample}")),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!("doc.{extension}");
    std::fs::write(folder.path().join(&file), &text).expect("a file");
    let shape = ShapeFile::load(folder.path(), &file, &ShapeOptions::default());
    let shape = shape.unwrap_or_else(|findings| panic!("{findings}\n{text}\nof {sample}"));
    let input = Input::Stream(Box::new(std::io::Cursor::new(sample.as_bytes().to_vec())));
    let source = Source { name: "sample".into(), input, format: format(shape.form()) };
    let target = Target {
        output: Output::Stream(Box::new(std::io::sink())),
        format: TargetFormat::JsonLines(quayline_project::JsonWrite::default()),
    };
    let done = Conversion::new(source, target, std::sync::Arc::clone(shape.schema())).run();
    let report = done.unwrap_or_else(|error| panic!("{}\n{text}\nof {sample}", error.findings()));
    assert_eq!(report.findings, [], "{text}\nof {sample}");
}

fn json(_: &Form) -> SourceFormat {
    SourceFormat::Json(quayline_project::JsonRead::default())
}

/// There are few members, so that a document has them in every combination. A name has the same kind everywhere, since a shape cannot represent two.
fn member(name: &'static str, depth: u32) -> BoxedStrategy<String> {
    let value = match name {
        "a" => prop_oneof![
            "[a-zé0-9 \\-]{0,12}".prop_map(|text| format!("\"{text}\"")),
            Just("\"2026-01-31\"".to_owned()),
            Just("\"true\"".to_owned()),
            "-?[0-9]{1,5}(\\.[0-9]{1,3})?".prop_map(|text| format!("\"{text}\"")),
        ]
        .boxed(),
        "b-c" => prop_oneof![
            (-1000i64..1000).prop_map(|value| value.to_string()),
            (-100_000i64..100_000).prop_map(|value| format!("{}.{:02}", value / 100, (value % 100).abs())),
            (-9i64..9).prop_map(|value| format!("{value}e{}", value.abs())),
        ]
        .boxed(),
        "d e" => any::<bool>().prop_map(|value| value.to_string()).boxed(),
        "of" => {
            proptest::collection::vec(member("b-c", 0), 0..4).prop_map(|all| format!("[{}]", all.join(","))).boxed()
        }
        "all" if depth > 0 => {
            proptest::collection::vec(object(depth - 1), 0..3).prop_map(|all| format!("[{}]", all.join(","))).boxed()
        }
        "id" if depth > 0 => object(depth - 1),
        _ => Just("null".to_owned()).boxed(),
    };
    prop_oneof![7 => value, 1 => Just("null".to_owned())].boxed()
}

fn object(depth: u32) -> BoxedStrategy<String> {
    let names = proptest::sample::subsequence(vec!["a", "b-c", "d e", "id", "of", "all"], 1..6);
    let members = names.prop_flat_map(move |names| {
        let members: Vec<_> = names
            .iter()
            .map(|name| {
                member(name, depth).prop_map({
                    let name = *name;
                    move |value| format!("\"{name}\":{value}")
                })
            })
            .collect();
        members.prop_map(|members| format!("{{{}}}", members.join(",")))
    });
    members.boxed()
}

fn csv() -> impl Strategy<Value = String> {
    let cell = prop_oneof![
        Just(String::new()),
        "[a-zé ]{0,9}",
        "-?[0-9]{1,6}(\\.[0-9]{1,2})?",
        Just("true".to_owned()),
        " ?-?[0-9]{1,3} ?",
        prop_oneof![Just(" true".to_owned()), Just("2026-01-31 ".to_owned())],
        Just("0042".to_owned()),
        Just("2026-01-31".to_owned()),
        "[a-z]{1,4}".prop_map(|text| format!("\"{text}, \"\"{text}\"\"\"")),
    ];
    proptest::collection::vec((cell.clone(), cell.clone(), cell), 1..8).prop_map(|rows| {
        let rows: Vec<String> = rows.into_iter().map(|(a, b, c)| format!("{a},{b},{c}\n")).collect();
        format!("name, amount ,other one\n{}", rows.concat())
    })
}

/// `a` and `b` contain text, `c` elements: mixed content has no shape. The elements of a list follow one another.
fn element(depth: u32) -> BoxedStrategy<String> {
    let text = prop_oneof!["[a-z é]{0,8}", "-?[0-9]{1,5}(\\.[0-9]{1,2})?", Just("true".to_owned())];
    let attribute = proptest::option::of("[a-z0-9]{0,5}");
    let leaf = (prop_oneof![Just("a"), Just("b")], attribute.clone(), text);
    let leaf = leaf.prop_map(|(name, attribute, inner)| written(name, attribute, &inner));
    if depth == 0 {
        return leaf.boxed();
    }
    let group = (attribute, elements(depth - 1)).prop_map(|(attribute, inner)| written("c", attribute, &inner));
    prop_oneof![leaf, group].boxed()
}

fn elements(depth: u32) -> BoxedStrategy<String> {
    let all = proptest::collection::vec(element(depth), 1..4).prop_map(|mut all| {
        all.sort_by_key(|element| element[..2].to_owned());
        all.concat()
    });
    all.boxed()
}

fn written(name: &str, attribute: Option<String>, inner: &str) -> String {
    let attribute = attribute.map_or(String::new(), |value| format!(" k=\"{value}\""));
    format!("<{name}{attribute}>{inner}</{name}>")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_json_keeps_to_its_shape(documents in proptest::collection::vec(object(2), 1..4)) {
        let lines = documents.join("\n");
        accepts(&lines, "shape", json);
        accepts(&lines, "json", json);
    }

    #[test]
    fn any_csv_keeps_to_its_shape(sample in csv()) {
        let by_layout = |form: &Form| match form {
            Form::Csv(style) => SourceFormat::Csv(*style),
            _ => SourceFormat::Csv(quayline_project::csv::CsvStyle::default()),
        };
        accepts(&sample, "toml", by_layout);
        accepts(&sample, "shape", by_layout);
    }

    #[test]
    fn any_xml_keeps_to_its_shape(inner in elements(2)) {
        let sample = format!("<doc>{inner}</doc>");
        let style = quayline_project::xml::XmlStyle { root: None, record: "doc".to_owned(), ..Default::default() };
        accepts(&sample, "shape", |_| SourceFormat::Xml(style.clone()));
    }
}

/// Items that were null in a sample may be null, now that a JSON Schema can refuse them.
#[test]
fn null_items_are_allowed_where_a_sample_has_them() {
    let sample = "{\"a\":[1,null,2],\"d\":[\"y\"]}\n";
    let mut samples = Samples::new();
    samples.add("sample", sample).expect("JSON");
    let text = json_schema(&samples.draft("doc"));
    assert!(text.contains("\"type\": [\"integer\", \"null\"], \"minimum\""), "{text}");
    assert_eq!(text.matches("\"null\"").count(), 1, "{text}");
    accepts(sample, "json", json);
    accepts(sample, "shape", json);
}

/// Each occurrence of a member was searched for among all members of its group: 40,000 took 6 s.
#[test]
fn samples_take_linear_time_in_their_members() {
    use std::fmt::Write as _;
    // The shortest of several runs: another process may interrupt one.
    let cost = |text: &str| {
        let run = || {
            let start = std::time::Instant::now();
            let mut samples = Samples::new();
            samples.add("sample", text).expect("a sample");
            let draft = samples.draft("doc");
            assert!(!outline(&draft).is_empty() && !json_schema(&draft).is_empty());
            start.elapsed()
        };
        (0..3).map(|_| run()).min().expect("three runs")
    };
    let listed = |count: usize, open: &str, close: &str, one: &dyn Fn(usize) -> String| {
        let mut text = open.to_owned();
        for i in 0..count {
            write!(text, "{}{}", if i > 0 && close == "}" { "," } else { "" }, one(i)).expect("a string");
        }
        text + close
    };
    let json = |count| listed(count, "{", "}", &|i| format!("\"k{i}\":1"));
    let elements = |count| listed(count, "<d>", "</d>", &|i| format!("<k{i}>1</k{i}>"));
    let attributes = |count| listed(count, "<d", "/>", &|i| format!(" k{i}=\"1\""));
    let columns = |count| {
        let header = listed(count, "", "a\n", &|i| format!("k{i},"));
        header + &"1,".repeat(count) + "1\n"
    };
    let forms: [(&str, &dyn Fn(usize) -> String); 4] =
        [("JSON", &json), ("elements", &elements), ("attributes", &attributes), ("columns", &columns)];
    for (name, sample) in forms {
        let (some, many) = (cost(&sample(10_000)), cost(&sample(40_000)));
        let most = some * 6 + std::time::Duration::from_millis(200);
        assert!(many < most, "{name}: 10,000 members {some:?}, 40,000 members {many:?}");
    }
}

/// The same sample with more members than a search through all of them serves.
#[test]
fn many_members_keep_their_order_and_their_counts() {
    let line = |from: usize| {
        let members: Vec<String> = (from..from + 30).map(|i| format!("\"k{i}\":{{\"a\":1}}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let sample = format!("{}\n{}\n", line(0), line(10));
    let mut samples = Samples::new();
    samples.add("sample", &sample).expect("JSON");
    let draft = samples.draft("doc");
    let names: Vec<&str> =
        draft.shape.children(quayline_core::NodeId::ROOT).map(|id| draft.shape.node(id).name.as_str()).collect();
    assert_eq!(names, (0..40).map(|i| format!("k{i}")).collect::<Vec<_>>());
    accepts(&sample, "shape", json);
    accepts("<doc><k a=\"1\" b=\"2\" a2=\"3\"/></doc>", "shape", |_| {
        SourceFormat::Xml(quayline_project::xml::XmlStyle {
            root: None,
            record: "doc".to_owned(),
            ..Default::default()
        })
    });
}

/// `\u00e9` in a name became U+FFFD, and `\n` the letter n, so that the shape had no member of the sample's name.
#[test]
fn escapes_in_names_are_read() {
    let sample = r#"{"stra\u00dfe": 1, "a\nb": 2, "\ud83d\ude00": 3, "q\"\\\/": 4, "tab\t\u0001": 5}"#;
    for form in ["shape", "json"] {
        accepts(sample, form, json);
    }
    let mut samples = Samples::new();
    samples.add("sample", sample).expect("a sample");
    let shape = samples.draft("doc").shape;
    let names: Vec<&str> = shape.iter().skip(1).map(|(_, node)| node.name.as_str()).collect();
    assert_eq!(names, ["straße", "a\nb", "\u{1f600}", "q\"\\/", "tab\t\u{1}"]);
    assert!(Samples::new().add("sample", r#"{"a": "\x"}"#).is_err());
}

/// The note of a list without elements was "up to 1".
#[test]
fn a_list_that_is_always_empty_is_named_as_such() {
    let mut samples = Samples::new();
    samples.add("sample", r#"{"a": [], "b": [1]} {"a": [], "b": []}"#).expect("a sample");
    let text = outline(&samples.draft("doc"));
    assert!(text.contains("a* text  # always empty, never a value"), "{text}");
    assert!(text.contains("# up to 1, never negative"), "{text}");
}

/// The layout had 38 digits for a longer number of the sample, so the sample did not fit it.
#[test]
fn numbers_of_more_than_38_digits_are_text_or_named() {
    let long = "9".repeat(41);
    let sample = format!("a,b\n1,1\n{long},2\n");
    accepts(&sample, "toml", |form| match form {
        Form::Csv(style) => SourceFormat::Csv(*style),
        _ => SourceFormat::Csv(quayline_project::csv::CsvStyle::default()),
    });
    let mut samples = Samples::new();
    samples.add("sample", &format!("{{\"c\": {long}}}")).expect("a sample");
    let text = outline(&samples.draft("doc"));
    assert!(text.contains("a number has more than the 38 digits of a field"), "{text}");
}

/// A sample below 129 arrays was "not JSON", and `12-34` was a number.
#[test]
fn a_sample_that_is_nested_too_deeply_is_named_as_such() {
    let found = |sample: &str| Samples::new().add("sample", sample).err().map(|findings| findings.to_string());
    let deep = |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(found(&deep(127)), None);
    assert!(found(&deep(128)).is_some_and(|found| found.contains("nested deeper than 128 levels")));
    for wrong in ["{\"a\":12-34}", "{\"a\":-inf}", "{\"a\":1e}", "{\"a\":[1}"] {
        assert!(found(wrong).is_some_and(|found| found.contains("this is not JSON")), "{wrong}");
    }
}

/// Headers that the reader refuses made a shape, and names and values lost the blanks that the reader keeps.
#[test]
fn headers_without_names_of_their_own_are_refused() {
    for (sample, message) in [
        ("a,,b\n1,2,3\n", "column 2 of the header has no name"),
        ("a,b,a\n1,2,3\n", "column 3 of the header has the name of a column before it"),
    ] {
        let said = Samples::new().add("sample.csv", sample).expect_err("a header").to_string();
        assert!(said.contains(message) && said.contains("at sample.csv:1"), "{said}");
    }
}

/// The prefix of an attribute was a part of its name, which the reader refused.
#[test]
fn attributes_with_a_prefix_are_read_by_the_shape_made_of_them() {
    let sample = "<doc xmlns:p=\"urn:p\" p:k=\"1\"><a p:m=\"x\" n=\"y\">t</a></doc>";
    let style = quayline_project::xml::XmlStyle { root: None, record: "doc".to_owned(), ..Default::default() };
    accepts(sample, "shape", |_| SourceFormat::Xml(style.clone()));
}
