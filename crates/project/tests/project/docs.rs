//! `docs/reference/layouts.md` has every key, and its layouts are sound.

use quayline_project::LAYOUT_KEYS;

use crate::loading::load;

#[test]
fn the_page_has_every_key_and_its_layouts_load() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/layouts.md");
    let page = std::fs::read_to_string(path).expect("docs/reference/layouts.md");
    for key in LAYOUT_KEYS {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("[[{key}]]")), "no word on `{key}`");
    }
    let copybook = "       01 ORDER-REC.\n          05 A PIC X.\n";
    let mut seen = 0;
    for block in page.split("```toml\n").skip(1) {
        let layout = block.split("```").next().expect("a block");
        let files = [("a.toml", layout), ("orders.cpy", copybook), ("orders-names.toml", "fillers = \"drop\"\n")];
        let loaded = load("a.toml", &files);
        assert!(!loaded.contains("SHP-") && !loaded.contains("Error"), "{loaded}");
        seen += 1;
    }
    let outline = page.split("```text\n").nth(1).and_then(|block| block.split("```").next()).expect("an outline");
    let loaded = load("a.shape", &[("a.shape", outline)]);
    assert!(loaded.starts_with("order\n") && !loaded.contains("SHP-"), "{loaded}");
    assert!(seen >= 4, "{seen} layouts");
}
