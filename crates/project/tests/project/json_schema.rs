use expect_test::{Expect, expect};

use crate::loading::{limits, load};

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check(schema: &str, expect: Expect) {
    expect.assert_eq(&load("order.schema.json", &[("order.schema.json", schema)]));
}

#[test]
fn members_lists_and_facets() {
    check(
        r##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["number", "lines"],
        "properties": {
          "number": {"type": "string", "maxLength": 22},
          "currency": {"enum": ["EUR", "USDT"]},
          "kind": {"const": "order"},
          "count": {"type": "integer", "minimum": 0, "maximum": 999},
          "total": {"type": "number", "multipleOf": 0.01},
          "rate": {"type": ["number", "null"]},
          "paid": {"type": "boolean"},
          "lines": {"type": "array", "minItems": 1, "maxItems": 50, "items": {"$ref": "#/$defs/line"}},
          "notes": {"type": "array", "items": {"type": "string", "pattern": "^a"}},
          "other": {"type": "string", "pattern": "x", "minLength": 2}
        },
        "$defs": {"line": {"type": "object", "properties": {"item": {"type": "string"}, "quantity": {"type": "integer"}}, "required": ["item"]}}}"##,
        expect![[r#"
            order
              number text(22)
              currency? text(4)
              kind? text(5)
              count? unsigned(3)
              total? decimal(21,2)
              rate? decimal(36,12)
              paid? bool
              lines*1..50
                item text
                quantity? decimal(19)
              notes* text
              other? text
            Note SHP-006 order.schema.json:4:32: `enum` is not checked
            Note SHP-006 order.schema.json:5:29: `const` is not checked
            Note SHP-006 order.schema.json:11:77: `pattern` is not checked, here and at 1 other place
            Note SHP-006 order.schema.json:12:68: `minLength` is not checked
        "#]],
    );
}

#[test]
fn parts_alternatives_and_definitions() {
    check(
        r##"{"definitions": {
          "id": {"required": ["id"], "properties": {"id": {"type": "string", "maxLength": 9}}},
          "card": {"type": "object", "required": ["id", "card"], "properties": {"id": {"type": "string", "maxLength": 5}, "card": {"type": "string"}}}},
        "type": "array", "items": {
          "allOf": [{"$ref": "#/definitions/id"}, {"properties": {"id": {"type": "string", "maxLength": 4}, "at": {"format": "date"}}, "required": ["at"]}],
          "properties": {"pay": {"oneOf": [{"$ref": "#/definitions/card"}, {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "maxLength": 7}}}]},
                         "amount": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 99}, {"type": "null"}]},
                         "either": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]}}}}"##,
        expect![[r#"
            order
              id text(4)
              at text(10)
              pay?
                id text(7)
                card? text
              amount? unsigned(2)
              either? text
            in an array
            Warning SHP-005 order.schema.json:8:36: alternatives of text and numbers are text here (a document with a number there is refused when it is read (JSON-012): choose one type)
            Note SHP-006 order.schema.json:5:126: `format` is not checked
        "#]],
    );
}

#[test]
fn a_definition_by_name_and_a_file_beside() {
    let files = [
        ("all.json", r##"{"$defs": {"party": {"properties": {"name": {"$ref": "types.json#/$defs/name"}}}}}"##),
        ("types.json", r##"{"$defs": {"name": {"type": "string", "maxLength": 35}}}"##),
    ];
    expect![[r#"
        party
          name? text(35)
    "#]]
    .assert_eq(&load("all.json#party", &files));
    expect![[r#"
        Error SHP-004 all.json:1:1: the schema has no definition `nobody` (it defines party)
    "#]]
    .assert_eq(&load("all.json#nobody", &files));
}

#[test]
fn what_no_shape_holds_is_refused() {
    check(
        r##"{"type": "object", "properties": {
          "any": true, "empty": {}, "map": {"type": "object", "additionalProperties": {"type": "string"}},
          "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
          "pair": {"type": "array", "prefixItems": [{"type": "string"}]},
          "mix": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "string"}}}]},
          "self": {"$ref": "#"}, "gone": {"$ref": "#/$defs/gone"}, "far": {"$ref": "https://example.com/x.json"},
          "wild": {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
          "both": {"allOf": [{"type": "string"}, {"type": "boolean"}]}}}"##,
        expect![[r#"
            Error SHP-005 order.schema.json:2:18: any value at all is allowed here (say its type)
            Error SHP-005 order.schema.json:2:33: the schema does not say what this is (say its type)
            Error SHP-005 order.schema.json:2:87: an object with members of any name (a shape has members with names; list them as `properties`)
            Error SHP-005 order.schema.json:4:52: a list whose places differ in meaning (describe it as an object)
            Error SHP-005 order.schema.json:5:18: alternatives of which one is a value and another an object or list (a node is a value, an object or a list; describe the one that your partner sends)
            Error SHP-007 order.schema.json:6:28: `#` contains itself (a shape is finite: write down as many levels as documents have)
            Error SHP-004 order.schema.json:6:51: the schema does not define `#/$defs/gone` (check its spelling: `#/$defs/Name` or `#/definitions/Name`)
            Error SHP-005 order.schema.json:6:84: a schema on the network: https://example.com/x.json (Quayline downloads nothing: put a copy next to the schema, and refer to its file)
            Error SHP-005 order.schema.json:7:59: `patternProperties`: members without names of their own (list them as `properties`)
            Error SHP-008 order.schema.json:8:50: the parts of `allOf` are of different types (no value fits them all: correct one)
        "#]],
    );
    // Each definition refers to the next one twice, so the parts double at each level: 2 KB took endless time.
    let two = |number: usize| {
        let next = format!(r##"{{"$ref": "#/$defs/a{}"}}"##, number + 1);
        format!(r#""a{number}": {{"type": "object", "properties": {{"x": {next}, "y": {next}}}}}"#)
    };
    let defs: Vec<String> = (0..28).map(two).collect();
    check(
        &format!(
            r##"{{"type": "object", "properties": {{"a": {{"$ref": "#/$defs/a0"}}}}, "$defs": {{{}, "a28": {{"type": "string"}}}}}}"##,
            defs.join(", ")
        ),
        expect![[r#"
            Error SHP-007 order.schema.json:1:2938: the schema has more than 500000 parts (a part counts as often as references lead to it; refer to fewer)
        "#]],
    );
    check(
        r#"{"type": "string"}"#,
        expect![[r#"
        Error SHP-005 order.schema.json:1:1: documents are not objects (a document is an object with members; give the schema properties)
    "#]],
    );
    check(
        r#"{"type": "object", "properties": {"#,
        expect![[r#"
        Error SHP-003 order.schema.json:1:35: expected a member's name (the file is not JSON)
    "#]],
    );
    // The shape had two members of one name, and its outline could not be read.
    check(
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "a": {"type": "integer"}}}"#,
        expect![[r#"
            Error SHP-003 order.schema.json:1:90: the member's name occurs twice in its object (programs differ in which they use: keep one)
        "#]],
    );
}

/// `required` beside `allOf` and `$ref` was ignored unless the same part described the member.
#[test]
fn required_names_members_of_every_part() {
    check(
        r##"{"required": ["a", "b"], "allOf": [
          {"$ref": "#/$defs/base"},
          {"properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "required": ["d"]},
          {"required": ["c"]},
          {"allOf": [{"required": ["e"]}, {"properties": {"f": {"type": "string"}}}], "required": ["f"]}],
        "$defs": {"base": {"type": "object", "required": ["g"], "properties": {"a": {"type": "string"}, "d": {"type": "string"}, "e": {"type": "string"}}}},
        "properties": {"g": {"type": "string"}, "h": {"type": ["string", "integer"]}}}"##,
        expect![[r#"
            order
              a text
              d text
              e text
              b text
              c text
              f text
              g text
              h? text
            Warning SHP-005 order.schema.json:7:54: a value that may be string or integer is text here (a document with a number there is refused when it is read (JSON-012): choose one type)
        "#]],
    );
}

/// Limits were lost without a note: of members without a definition, of the outermost array, and of steps other than decimals.
#[test]
fn limits_that_are_not_checked_have_notes() {
    check(
        r#"{"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "object", "required": ["a", "b"], "properties": {
          "a": {"type": "object", "allOf": [{"required": ["c"]}], "properties": {"d": {"type": "string"}}},
          "five": {"type": "integer", "multipleOf": 5}, "ten": {"type": "integer", "multipleOf": 10}, "nickel": {"type": "number", "multipleOf": 0.05},
          "one": {"type": "integer", "multipleOf": 1}, "cent": {"type": "number", "multipleOf": 1e-2}, "tenth": {"type": "number", "multipleOf": 0.10}},
          "anyOf": [{"required": ["a"]}, {"required": ["five"]}]}}"#,
        expect![[r#"
            order
              a
                d? text
              five? decimal(19)
              ten? decimal(19)
              nickel? decimal(21,2)
              one? decimal(19)
              cent? decimal(21,2)
              tenth? decimal(20,1)
            in an array
            Note SHP-006 order.schema.json:1:95: `required` names `b`, which has no definition: it is not checked (describe it in `properties`; otherwise, documents that have it are refused unless unknown members are ignored)
            Note SHP-006 order.schema.json:2:59: `required` names `c`, which has no definition: it is not checked (describe it in `properties`; otherwise, documents that have it are refused unless unknown members are ignored)
            Note SHP-006 order.schema.json:5:20: `anyOf` is not checked
            Note SHP-006 order.schema.json:3:53: `multipleOf` is checked only for the number of decimals, here and at 2 other places
            Note SHP-006 order.schema.json:1:1: `minItems of the array of documents` is not checked
            Note SHP-006 order.schema.json:1:1: `maxItems of the array of documents` is not checked
        "#]],
    );
}

/// Quayline refused a definition that only restricts (SHP-005), although the same keywords are allowed inline.
#[test]
fn definitions_that_only_restrict() {
    let schema = r##"{"properties": {
          "a": {"$ref": "#/$defs/m", "type": "integer"},
          "b": {"allOf": [{"$ref": "#/$defs/m"}, {"type": "integer"}]},
          "c": {"$ref": "#/$defs/n", "type": "array", "items": {"type": "string"}},
          "d": {"$ref": "#/$defs/o"}},
        "required": ["b"],
        "$defs": {"m": {"maximum": 3, "readOnly": true, "x-y": 1}, "n": {"allOf": [{"minItems": 1}, {"$ref": "#/$defs/l"}], "minLength": 3},
          "l": {"maxItems": 4}, "o": {"type": "object", "properties": {"e": {"type": "string"}}, "$ref": "#/$defs/p"}, "p": {"required": ["e"]}}}"##;
    check(
        schema,
        expect![[r#"
        order
          a? decimal(19)
          b decimal(19)
          c*0..4 text
          d?
            e text
        Note SHP-006 order.schema.json:7:138: `minLength` is not checked
    "#]],
    );
    expect![[r#"
        a, length None, decimals Some(0), low false, high true
        b, required, length None, decimals Some(0), low false, high true
        c, no null items, 1..4
        e, required
    "#]]
    .assert_eq(&limits("s.json", &[("s.json", schema)]));
    check(
        r##"{"properties": {"alone": {"$ref": "#/$defs/m"}, "circle": {"type": "string", "$ref": "#/$defs/c"}, "gone": {"type": "string", "$ref": "#/$defs/g"},
          "never": {"type": "string", "allOf": [true, false]}}, "$defs": {"m": {"maximum": 3}, "c": {"allOf": [{"$ref": "#/$defs/c"}]}}}"##,
        expect![[r#"
            Error SHP-005 order.schema.json:1:26: the schema does not say what this is (say its type)
            Error SHP-007 order.schema.json:2:121: `#/$defs/c` contains itself (a shape is finite: write down as many levels as documents have)
            Error SHP-004 order.schema.json:1:135: the schema does not define `#/$defs/g` (check its spelling: `#/$defs/Name` or `#/definitions/Name`)
            Error SHP-005 order.schema.json:2:55: no value is allowed here (say its type)
        "#]],
    );
}

/// A limit of one alternative applied to documents of another that does not name the member.
#[test]
fn members_of_one_alternative_are_unlimited_in_the_others() {
    let schema = r##"{"properties": {"base": {"type": "string", "maxLength": 4}, "open": {"oneOf": [
            {"properties": {"j": {"type": "string", "maxLength": 1}, "k": {"type": "string", "maxLength": 2},
              "g": {"type": "object", "required": ["n"], "properties": {"n": {"type": "array", "minItems": 2, "items": {"type": "integer", "maximum": 3}}}}}},
            {"properties": {"j": {"type": "string", "maxLength": 3}}},
            {"properties": {"k": {"type": "string", "maxLength": 2}, "l": {"type": "string", "maxLength": 5}}}]},
          "closed": {"oneOf": [
            {"properties": {"m": {"type": "string", "maxLength": 2}}, "additionalProperties": false},
            {"properties": {"o": {"type": "string", "maxLength": 2}}, "additionalProperties": false}]}},
        "oneOf": [{"properties": {"base": {"type": "string", "maxLength": 2}}}, {"properties": {"open": {"type": "object", "properties": {}}}}]}"##;
    expect![[r#"
        base, length Some(4), decimals None, low false, high false
        m, length Some(2), decimals None, low false, high false
        o, length Some(2), decimals None, low false, high false
    "#]]
    .assert_eq(&limits("s.json", &[("s.json", schema)]));
    check(
        schema,
        expect![[r#"
        order
          base? text(2)
          open?
            j? text(3)
            k? text(2)
            g?
              n*2.. decimal(19)
            l? text(5)
          closed?
            m? text(2)
            o? text(2)
    "#]],
    );
}

/// Drafts 4 to 7 ignore keywords next to `$ref`; Quayline applies them in all drafts.
#[test]
fn keywords_next_to_a_reference_in_old_drafts() {
    let schema = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {
          "a": {"$ref": "#/definitions/a", "maxLength": 2}, "b": {"$ref": "#/definitions/a", "description": "b"}},
        "definitions": {"a": {"type": "string"}}}"##;
    check(
        schema,
        expect![[r#"
            order
              a? text(2)
              b? text
            Note SHP-006 order.schema.json:2:57: `maxLength` next to `$ref` applies here, although drafts 4 to 7 ignore it (remove it, or write both as parts of `allOf`)
        "#]],
    );
    check(
        &schema.replace("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"),
        expect![[r#"
            order
              a? text(2)
              b? text
        "#]],
    );
}

/// The type of a list stands beside its alternatives: the schema was refused, because that part does not say what the list holds.
#[test]
fn alternatives_of_a_list_say_what_it_holds() {
    check(
        r#"{"type": "object", "properties": {
          "a": {"type": "array", "oneOf": [{"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2}, {"type": "object"}]},
          "b": {"type": ["array", "null"], "minItems": 1, "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
          "c": {"type": "array", "items": {"type": "boolean"}, "oneOf": [{"type": "array", "maxItems": 4}, {"type": "object"}]}}}"#,
        expect![[r#"
            order
              a*0..2 text(3)
              b* decimal(19)
              c*0..4 bool
        "#]],
    );
    check(
        r#"{"type": "object", "properties": {"a": {"type": "array", "oneOf": [{"type": "array", "maxItems": 2}, {"type": "object"}]}}}"#,
        expect![[r#"
            Error SHP-005 order.schema.json:1:68: the schema does not say what the list holds (say it: "items": { … })
        "#]],
    );
}

/// Alternatives of another type than the schema's own refused the schema, and null in a list of objects had no finding before the first document.
#[test]
fn alternatives_are_of_the_type_beside_them() {
    check(
        r#"{"type": "object", "properties": {
          "a": {"type": "integer", "anyOf": [{"format": "int32"}, {"format": "int64"}]},
          "b": {"type": "integer", "minimum": 0, "anyOf": [{"type": "object"}, {"type": "integer", "maximum": 99, "minimum": 0}]},
          "c": {"type": ["integer", "null"], "oneOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
          "d": {"type": "string", "anyOf": [{"format": "date"}, {"maxLength": 4}]}}}"#,
        expect![[r#"
            order
              a? decimal(19)
              b? unsigned(2)
              c? decimal(19)
              d? text(10)
            Note SHP-006 order.schema.json:2:45: `anyOf` is not checked
            Note SHP-006 order.schema.json:5:56: `format` is not checked
        "#]],
    );
    check(
        r#"{"properties": {"a": {"type": "integer", "anyOf": [{"type": "string"}, {"type": "object"}]}}}"#,
        expect![[r#"
            Error SHP-005 order.schema.json:1:22: alternatives of which none has the type of the schema (no value fits: correct the type or the alternatives)
        "#]],
    );
    check(
        r#"{"type": "object", "properties": {
          "a": {"type": "array", "items": {"type": ["object", "null"], "properties": {"x": {"type": "string"}}}},
          "b": {"type": "array", "items": {"type": ["string", "null"]}}}}"#,
        expect![[r#"
            order
              a*
                x? text
              b* text
            Warning SHP-005 order.schema.json:2:43: a list of objects or null is a list of objects here (a document with null in the list is refused when it is read (JSON-012): have the sender omit null items)
        "#]],
    );
}
