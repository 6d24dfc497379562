//! `quayline map`, `quayline test` and `quayline infer`.

use expect_test::expect;

use crate::json_docs::documented;
use crate::world::World;

const SOURCE: &str = "in\n  id text(5)\n  total decimal(7,2)\n  odd? text(3)\n  note? text(5)\n  lines*\n    sku text(9)\n    qty decimal(5)\n";
const TARGET: &str = "out\n  id text(5)\n  amount decimal(7,2)\n  colour text(3)\n  items*\n    sku text(9)\n    quantity decimal(5)\n";
const MAP: &str = "source \"in.shape\"\ntarget out \"out.shape\"\n\nid = id\namount = total\ncolour = odd ?? \"red\"\n\
                   if total > 1000 {\n  warning \"much\"\n}\nfor lines make items {\n  sku = sku\n  quantity = qty\n}\n";

fn world() -> World {
    World::with([("maps/in.shape", SOURCE.as_bytes()), ("maps/out.shape", TARGET.as_bytes())])
}

#[test]
fn a_map_is_proposed_and_checked() {
    let world = world();
    world.run("map new --from maps/in.shape --to maps/out.shape -o maps/new.qmap").check(expect![[r#""#]]);
    expect![[r#""#]].assert_eq(&String::from_utf8(world.read("maps/new.qmap")).expect("UTF-8"));
    world.run("map new --from maps/in.shape --to maps/out.shape -o maps/new.qmap").code(2);
    world.run("map check maps").check(expect![[r#""#]]);
}

#[test]
fn cases_pass_fail_and_are_updated() {
    let world = world();
    world.write("maps/order.qmap", MAP);
    world.run("test").check(expect![[r#""#]]);
    let input = "{\"id\":\"A\",\"total\":12.50,\"lines\":[{\"sku\":\"x\",\"qty\":2}]}\n{\"id\":\"B\",\"total\":1,\"odd\":\"b\",\"note\":\"n\",\"lines\":[]}\n";
    world.write("maps/tests/order/two/input.jsonl", input);
    world.run("test maps/order.qmap").check(expect![[r#""#]]);
    world.run("test --update").check(expect![[r#""#]]);
    expect![[r#""#]].assert_eq(&String::from_utf8(world.read("maps/tests/order/two/expected.jsonl")).expect("UTF-8"));
    world.run("test --coverage").check(expect![[r#""#]]);
    world.write("maps/order.qmap", MAP.replace("amount = total", "amount = abs(total - 1)"));
    world.run("test").check(expect![[r#""#]]);
    documented("quayline.test/1", &world.run("test --json").code(1).stdout, &[]);
    world.write("maps/tests/order/two/case.toml", "noww = \"x\"\n");
    world.run("test").check(expect![[r#""#]]);
}

#[test]
fn shapes_are_guessed_from_samples() {
    let world = World::with([
        ("a.json", b"{\"id\":\"A\",\"n\":1.50,\"l\":[{\"x\":true}],\"d\":\"2026-01-31\"}\n{\"id\":\"BBBB\",\"n\":-20,\"l\":[]}" as &[u8]),
        ("b.xml", b"<order id='7'><line>a</line><line>b</line><sum cur='EUR'>1.5</sum></order>"),
        ("c.csv", b"ID;CODE;N\nA;007;1\nB;008;\n\"C;D\";009;30\n"),
    ]);
    world.run("infer a.json --name order").check(expect![[r#""#]]);
    world.run("infer b.xml").check(expect![[r#""#]]);
    world.run("infer c.csv --as layout").check(expect![[r#""#]]);
    world.run("infer a.json -o a.toml").check(expect![[r#""#]]);
    world.run("infer a.json -o a.schema.json").code(0);
    world.run("infer a.json -o a.shape").code(0);
    // What was guessed describes the samples.
    world.write("m.qmap", "source \"a.shape\"\ntarget t \"a.schema.json\"\nid = id\nn = n\nd = d\nfor l make l { x = x }\n");
    world.run("translate --map m.qmap a.json").check(expect![[r#""#]]);
    world.write("x.edi", "ISA*00");
    world.run("infer x.edi").check(expect![[r#""#]]);
}
