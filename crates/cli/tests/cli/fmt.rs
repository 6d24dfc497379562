//! `quayline map fmt`.

use expect_test::expect;

use crate::world::World;

const UNTIDY: &str = "map   \"x\"\nsource \"a\" # the source\n\n\n\na . b=f(x , -5)   # sum\nfor  N1[N101=\"ST\"] make  lines{\nx=a-b -5\n}\n";
const TIDY: &str = "map \"x\"\nsource \"a\"  # the source\n\na.b = f(x, -5)  # sum\nfor N1[N101 = \"ST\"] make lines {\n  x = a-b - 5\n}\n";

#[test]
fn what_would_change_is_shown_and_then_done() {
    let world = World::with([("maps/deep/a.qmap", UNTIDY.as_bytes()), ("maps/b.qmap", TIDY.as_bytes())]);
    world.run("map fmt --check maps").check(expect![[r#"
        exit 1
        --- stdout
        --- maps/deep/a.qmap
        +++ maps/deep/a.qmap, laid out
        @@ -1,9 +1,7 @@
        -map   "x"
        -source "a" # the source
        +map "x"
        +source "a"  # the source
 
        -
        -
        -a . b=f(x , -5)   # sum
        -for  N1[N101="ST"] make  lines{
        -x=a-b -5
        +a.b = f(x, -5)  # sum
        +for N1[N101 = "ST"] make lines {
        +  x = a-b - 5
         }
    "#]]);
    assert_eq!(world.read("maps/deep/a.qmap"), UNTIDY.as_bytes(), "--check writes nothing");
    world.run("map fmt maps").check(expect![[r#"
        exit 0
    "#]]);
    assert_eq!(world.read("maps/deep/a.qmap"), TIDY.as_bytes());
    world.run("map fmt --check maps").check(expect![[r#"
        exit 0
    "#]]);
    assert_eq!(world.files(), ["maps"]);
    world.run_with("map fmt -", UNTIDY.as_bytes()).check(expect![[r#"
        exit 0
        --- stdout
        map "x"
        source "a"  # the source

        a.b = f(x, -5)  # sum
        for N1[N101 = "ST"] make lines {
          x = a-b - 5
        }
    "#]]);
}

#[test]
fn what_cannot_be_laid_out_is_told_and_the_rest_is_done() {
    let world = World::with([("a.qmap", b"a = = b\n" as &[u8]), ("b.qmap", UNTIDY.as_bytes()), ("c.qmap", b"\xff")]);
    world.run("map fmt a.qmap b.qmap c.qmap no.qmap").check(expect![[r#"
        exit 2
        --- stderr
        error[MAP-003]: expected a value, found `=`
          at a.qmap:1:5
          |
        1 | a = = b
          |     ^

        error[CLI-002]: c.qmap cannot be read: it is not UTF-8

        error[CLI-002]: no.qmap cannot be read: no such file or directory
    "#]]);
    assert_eq!(world.read("a.qmap"), b"a = = b\n");
    assert_eq!(world.read("b.qmap"), TIDY.as_bytes());
    world.write("x.guide", "guide X\n");
    world.run("map fmt x.guide").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: x.guide is not a map

        hint: maps are called *.qmap; other files have no common layout
    "#]]);
    world.run("map test").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: there is no folder maps

        hint: run the command in a project's folder, or name maps or their folder
    "#]]);
    std::fs::create_dir(world.path("empty")).expect("a new folder");
    world.run("map fmt empty").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: there is no map in empty

        hint: maps are called *.qmap
    "#]]);
}
