//! Converts a file of made-up records to JSON lines (or Parquet) with 1 and 2 lanes and prints rate, CPU time, phases and peak memory:
//! `cargo run --release -p quayline-convert --example lanes -- MEGABYTES [jsonl|parquet|records] [OUT]`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program")]

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::copybook::{self, ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_convert::{
    Conversion, Input, JsonWrite, Output, ParquetWrite, Schema, Source, SourceFormat, Target, TargetFormat,
};
use quayline_frame::FramingSpec;
use quayline_project::InterfaceFile;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100);
    let format = arguments.next().unwrap_or_else(|| "jsonl".to_owned());
    let out = arguments.next().unwrap_or_else(|| "/dev/null".to_owned());
    let mut text = "       01 REC.\n".to_owned();
    (0..8).for_each(|i| text.push_str(&format!("          05 NAME-{i} PIC X(18).\n")));
    (0..6).for_each(|i| text.push_str(&format!("          05 AMOUNT-{i} PIC S9(7)V99.\n")));
    let parsed = copybook::parse(&SourceText::new("rec.cpy", text), &ParseOptions::default()).unwrap();
    let layout = Layout::build(&parsed.records[0], &Dialect::IBM).unwrap();
    let length = layout.length_max;
    let page = Charset::by_name("cp037").unwrap();
    let schema = Schema::compile(&[layout], &InterfaceFile::default(), &Default::default(), page).unwrap();
    let schema = Arc::new(schema);
    let mut record = Vec::new();
    for i in 0..8 {
        page.encode_into(&format!("{:<18}", ["MILLER", "VAN DER BERG-LONG", "LI", "O'NEIL"][i % 4]), &mut record)
            .unwrap();
    }
    (0..6).for_each(|_| record.extend([0xf0, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xc7]));
    let path = std::env::temp_dir().join(format!("quayline-lanes-{}.dat", std::process::id()));
    let block: Vec<u8> = record.iter().copied().cycle().take(record.len() * 5_000).collect();
    let mut file = File::create(&path).unwrap();
    (0..megabytes * 1_000_000 / block.len()).for_each(|_| file.write_all(&block).unwrap());
    for lanes in [1, 2, 1, 2] {
        let format = match format.as_str() {
            "parquet" => TargetFormat::Parquet(ParquetWrite::default()),
            "records" => TargetFormat::Records(FramingSpec::Rdw(Default::default())),
            _ => TargetFormat::JsonLines(JsonWrite::default()),
        };
        let source = Source {
            name: "rec.dat".into(),
            input: Input::File(path.clone()),
            format: SourceFormat::Records(FramingSpec::Fixed { length }),
        };
        let output = match out.as_str() {
            "/dev/null" => Output::Stream(Box::new(File::options().write(true).open("/dev/null").unwrap())),
            path => Output::File(PathBuf::from(path)),
        };
        let mut conversion = Conversion::new(source, Target { output, format }, Arc::clone(&schema));
        conversion.lanes = lanes;
        let report = conversion.run().unwrap();
        let cost = &report.cost;
        println!(
            "{lanes} lanes: {:.0} MB/s wall, {:.0} MB/s CPU, {:.2} CPUs, peak {} MB, unaccounted {:.4}",
            cost.mb_in_per_s().unwrap_or(0.0),
            report.source_bytes as f64 / 1e6 / cost.process.cpu.as_secs_f64(),
            cost.cpus_busy().unwrap_or(0.0),
            cost.process.resident_bytes_max.unwrap_or(0) >> 20,
            cost.unaccounted_share()
        );
        for line in &cost.phases {
            println!("   {:8} wall {:9.1?} cpu {:9.1?}", line.phase.name(), line.times.wall, line.times.cpu);
        }
    }
    std::fs::remove_file(path).unwrap();
}
