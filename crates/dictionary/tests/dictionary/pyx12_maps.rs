use expect_test::{Expect, expect};
use quayline_dictionary::SourceText;
use quayline_dictionary::pyx12::Pyx12;

const ELEMENTS: &str = r#"<data_elements>
  <data_ele ele_num="143" data_type="ID" min_len="3" max_len="3" name="Set"/>
  <data_ele ele_num="98" data_type="ID" min_len="2" max_len="3" name="Entity"/>
  <data_ele ele_num="93" data_type="AN" min_len="1" max_len="60"/>
  <data_ele ele_num="26" data_type="ID" min_len="2" max_len="3"/>
  <data_ele ele_num="735" data_type="ID" min_len="1" max_len="2"/>
  <data_ele ele_num="628" data_type="AN" min_len="1" max_len="12"/>
  <data_ele ele_num="374" data_type="ID" min_len="3" max_len="3"/>
  <data_ele ele_num="1250" data_type="ID" min_len="2" max_len="3"/>
  <data_ele ele_num="1251" data_type="AN" min_len="1" max_len="35"/>
  <data_ele ele_num="782" data_type="R" min_len="1" max_len="18"/>
</data_elements>"#;
const CODES: &str = "<codesets><codeset><id>country</id><name>Countries</name>
  <version><code>DE</code><code>FR</code></version></codeset></codesets>";
const INDEX: &str =
    r#"<maps><version icvn="00501"><map vriic="005010X999" fic="HC" abbr="999">x.xml</map></version></maps>"#;

/// A map around the content of its transaction.
fn map(content: &str) -> String {
    format!(
        r#"<transaction xid="837"><name>Claims</name><loop xid="ISA_LOOP"><loop xid="GS_LOOP"><loop xid="ST_LOOP">
           <segment xid="ST"><element xid="ST01"><data_ele>143</data_ele><usage>R</usage><seq>01</seq>
           <valid_codes><code>837</code></valid_codes></element></segment>{content}<segment xid="SE"/>
           </loop></loop></loop></transaction>"#
    )
}

fn import(content: &str) -> Result<quayline_dictionary::Imported, quayline_core::Findings> {
    let text = |text| SourceText::new("shared.xml", text);
    let pyx12 = Pyx12::new(text(ELEMENTS), text(CODES), text(INDEX), None).expect("the shared files are fine");
    pyx12.import(SourceText::new("x.xml", &map(content)))
}

fn check(content: &str, expected: Expect) {
    let text = match import(content) {
        Err(findings) => findings.to_string(),
        Ok(imported) => {
            let mut text: String = imported.guides.iter().map(crate::body).collect();
            for finding in imported.findings {
                text += &format!("{}[{}]: {}\n", finding.place.line.unwrap_or(0), finding.code, finding.message);
            }
            text
        }
    };
    expected.assert_eq(&text);
}

fn segment(tag: &str, pos: u32, content: &str) -> String {
    format!("<segment xid='{tag}'><usage>S</usage><pos>{pos}</pos><max_use>1</max_use>{content}</segment>")
}

fn element(number: u32, id: &str, usage: &str, codes: &str) -> String {
    let codes: String = codes.split_whitespace().map(|code| format!("<code>{code}</code>")).collect();
    format!(
        "<element><data_ele>{id}</data_ele><usage>{usage}</usage><seq>{number}</seq><valid_codes>{codes}</valid_codes></element>"
    )
}

#[test]
fn twins_become_one_definition_with_qualifiers_and_changes() {
    let n1 = |codes, second| element(1, "98", "R", codes) + &element(2, "93", second, "");
    check(
        &(segment("N1", 10, &n1("85", "R")) + &segment("N1", 10, &n1("87 PE", "N"))),
        expect![[r#"
        element 93 AN 1..60
        element 98 ID 2..3 "Entity"

        segment N1
          98 M
          93 O

        structure
          segment N1 O 1 position 10 where 01 = 85
            01 codes 85
            02 M
          segment N1 O 1 position 10 where 01 = 87|PE
            01 codes 87 PE
            02 N
    "#]],
    );
}

/// Regression: an element or composite of any number of repetitions was allowed once.
#[test]
fn elements_repeat_as_the_map_says() {
    let repeated =
        |number: u32, repeat: &str| element(number, "93", "S", "").replace("<seq>", &format!("{repeat}<seq>"));
    let elements = repeated(1, "") + &repeated(2, "<repeat>&gt;1</repeat>") + &repeated(3, "<repeat>5</repeat>");
    let composite = "<composite><data_ele>C043</data_ele><usage>S</usage><repeat>&gt;1</repeat><seq>4</seq>".to_owned()
        + &element(1, "93", "S", "")
        + "</composite>";
    let imported = import(&segment("STC", 10, &(elements + &composite))).expect("a map");
    let uses = &imported.guides[0].dictionary.segments["STC"].elements;
    let repeats: Vec<Option<u32>> = uses.iter().map(|usage| usage.repeat).collect();
    assert_eq!(repeats, [Some(1), None, Some(5), None]);
}

#[test]
fn wrappers_vanish_and_hierarchical_levels_tell_each_other_apart() {
    let hl = |code| {
        let elements = element(1, "628", "R", "") + &element(2, "628", "S", "") + &element(3, "735", "R", code);
        segment("HL", 10, &elements)
    };
    let head = "<usage>R</usage><pos>20</pos><repeat>&gt;1</repeat>";
    let inner = format!("<loop xid='2000B'>{head}{}</loop>", hl("22"));
    let outer = format!("<loop xid='2000A'>{head}{}{inner}</loop>", hl("20"));
    let wrapper =
        format!("<loop xid='DETAIL' type='wrapper'><usage>S</usage><pos>5</pos><repeat>&gt;1</repeat>{outer}</loop>");
    check(
        &wrapper,
        expect![[r#"
        element 628 AN 1..12
        element 735 ID 1..2

        segment HL
          628 M
          628 O
          735 M

        structure
          loop 2000A M * position 10
            segment HL M 1 position 10 where 03 = 20
              03 codes 20
            loop 2000B M * position 20
              segment HL M 1 position 10 where 03 = 22
                03 codes 22
    "#]],
    );
}

#[test]
fn a_period_of_one_format_is_a_date_and_external_codes_are_open() {
    let dtp = element(1, "374", "R", "472") + &element(2, "1250", "R", "D8") + &element(3, "1251", "R", "");
    let n4 = "<element><data_ele>26</data_ele><usage>S</usage><seq>1</seq><valid_codes external='country'/></element>";
    // Two places that add codes to the list add each code once.
    let more = n4.replace("'country'/>", "'country'><code>FR</code><code>PL</code></valid_codes>");
    check(
        &(segment("DTP", 10, &dtp) + &segment("N4", 20, n4) + &segment("N5", 30, &more) + &segment("N6", 40, &more)),
        expect![[r#"
            element 1250 ID 2..3
            element 1251 AN 1..35
            element 26 ID 2..3
            element 374 ID 3

            segment DTP
              374 M
              1250 M
              1251 M

            segment N4
              26 O

            segment N5
              26 O

            segment N6
              26 O

            codes country "Countries" open
              DE FR PL

            structure
              segment DTP O 1 position 10
                01 codes 472
                02 codes D8
                03 as DT 8..8
              segment N4 O 1 position 20
                01 codes list country
              segment N5 O 1 position 30
                01 codes list country
              segment N6 O 1 position 40
                01 codes list country
        "#]],
    );
}

#[test]
fn composites_notes_and_what_no_guide_can_say() {
    let composite = |components: &str, usage: &str| {
        format!("<composite><data_ele>C1</data_ele><usage>{usage}</usage><seq>1</seq>{components}</composite>")
    };
    let components = element(1, "98", "R", "A") + &element(2, "93", "S", "");
    let pattern = "<element xid='SV02'><data_ele>93</data_ele><usage>R</usage><seq>2</seq><regex>a+</regex></element>";
    let notes = "<syntax>P0102</syntax><syntax>X0102</syntax>";
    check(
        &(segment("SV", 10, &format!("{notes}{}{pattern}", composite(&components, "R")))
            + &segment("SW", 20, &composite("", "N"))),
        expect![[r#"
            element 93 AN 1..60
            element 98 ID 2..3 "Entity"

            composite C1
              98 M
              93 O

            segment SV
              composite C1 M
              93 M
              notes P0102

            segment SW
              composite C1 N

            structure
              segment SV O 1 position 10
                01-1 codes A
              segment SW O 1 position 20
            3[DIC-020]: SV02: a guide has no patterns; this one is left out
            3[DIC-020]: not a syntax note: expected P, R, E, C or L and pairs of digits
        "#]],
    );
}

#[test]
fn what_is_missing_is_told_with_its_line() {
    check(
        &segment("N1", 10, &element(1, "9999", "R", "")),
        expect![[r#"
        error[DIC-011]: data element 9999 is not defined in dataele.xml
          at x.xml:3:142"#]],
    );
    check(
        &segment("N1", 10, &element(1, "98", "Q", "")),
        expect![[r#"
        error[DIC-010]: usage is neither R, S nor N
          at x.xml:3:142"#]],
    );
    check(
        "<segment xid='N1'><usage>R</usage></segment>",
        expect![[r#"
        error[DIC-010]: segment has no pos
          at x.xml:3:75
          |
        3 |            <valid_codes><code>837</code></valid_codes></element></segment><segment xid='N1'><usage>R</usage></segment><segment xid="SE"/>
          |                                                                           ^"#]],
    );
}

#[test]
fn a_cut_off_map_is_refused() {
    let text = |text| SourceText::new("shared.xml", text);
    let pyx12 = Pyx12::new(text(ELEMENTS), text(CODES), text(INDEX), None).expect("the shared files are fine");
    let map = map(&segment("N1", 10, &element(1, "98", "R", "85 87")));
    assert!(pyx12.import(SourceText::new("x.xml", &map)).is_ok());
    for end in 0..map.len() {
        assert!(pyx12.import(SourceText::new("x.xml", &map[..end])).is_err(), "{end}");
    }
}
