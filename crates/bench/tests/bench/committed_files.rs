//! The data files in `examples/` equal the output of the generators.

use std::path::Path;

use quayline_bench::data::{CarRecords, accounts};

#[test]
fn example_files_are_what_the_programs_write() {
    for (file, bytes) in
        [("accounts/accounts.ebcdic", accounts()), ("dealership/car100.ebcdic", CarRecords::FULL.records(1))]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
        let committed = std::fs::read(&path).expect("the file is committed");
        assert!(committed == bytes, "examples/{file} is not what its program writes: run the program again");
    }
}
