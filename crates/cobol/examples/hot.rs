//! Scratch: hot path rates with hand-built layouts.
#![allow(missing_docs, clippy::all)]
use std::time::Instant;
use quayline_charset::{Charset, CodePage};
use quayline_cobol::layout::*;
use quayline_cobol::*;
use quayline_json::*;

fn field(name: &str, parent: Option<u32>, offset: usize, size: usize, kind: FieldKind) -> Field {
    Field { name: name.into(), filler: false, level: 5, parent: parent.map(FieldIndex), subtree_end: FieldIndex(0), offset, size, stride: size, slack_before: 0, occurs: None, redefines: None, kind, description: String::new(), conditions: vec![], value: None, external: false, global: false, source: SourcePlace { file: "x".into(), line: 1, column: 1 } }
}
fn flat(items: Vec<(String, Encoding, usize)>) -> Layout {
    let mut fields = vec![field("REC", None, 0, 0, FieldKind::Group)];
    let mut at = 0;
    for (n, e, s) in items { fields.push(field(&n, Some(0), at, s, FieldKind::Item(e))); at += s; }
    let n = fields.len() as u32;
    for (i, f) in fields.iter_mut().enumerate() { f.subtree_end = FieldIndex(i as u32 + 1); }
    fields[0].subtree_end = FieldIndex(n); fields[0].size = at;
    Layout { fields, renames: vec![], length_max: at, length_min: at, dialect: Dialect::IBM, warnings: vec![] }
}
fn x(n: &str, s: usize) -> (String, Encoding, usize) { (n.into(), Encoding::Text { justified: false, alphabetic: false }, s) }
fn z(n: &str, d: u16, scale: i16, signed: bool) -> (String, Encoding, usize) { (n.into(), Encoding::Zoned { digits: d, scale, sign: if signed { ZonedSign::TrailingOverpunch } else { ZonedSign::Unsigned }, blank_when_zero: false }, d as usize) }
fn p(n: &str, d: u16, scale: i16) -> (String, Encoding, usize) { (n.into(), Encoding::Packed { digits: d, scale, signed: true }, d as usize / 2 + 1) }

fn main() {
    let pick = std::env::args().nth(1).unwrap_or_default();
    let page = CodePage::IBM037;
    #[allow(unused)] let disp = flat(vec![z("D-CUST-ID",10,0,false),x("D-LAST-NAME",25),x("D-FIRST-NAME",15),x("D-STREET",40),x("D-CITY",20),x("D-STATE",2),z("D-ZIP",5,0,false),z("D-OPENED",8,0,false),z("D-BALANCE",11,2,true),z("D-LIMIT",11,2,true),z("D-RATE",7,4,true),z("D-TXN-COUNT",6,0,false),x("D-STATUS",1),x("D-NOTE",39)]);
    let mut c3 = vec![x("C-ACCT-ID",12),("C-SEQ".into(),Encoding::Binary{digits:9,scale:0,signed:true,order:ByteOrder::Big,full_range:false},4),p("C-DATE",8,0)];
    for i in 1..=12 { c3.push(p(&format!("C-BAL-{i:02}"),11,2)); }
    for i in 1..=8 { c3.push(p(&format!("C-QTY-{i:02}"),5,0)); }
    c3.push(p("C-LONG-1",17,2)); c3.push(p("C-LONG-2",17,2));
    for i in 1..=3 { c3.push(p(&format!("C-RATE-{i}"),9,6)); }
    c3.push(x("C-TAIL",2));
    let comp3 = flat(c3);
    let mut seed = 88172645463325252u64;
    let mut rnd = move || { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; seed };
    let words = ["ALPHA","BRAVO","CHARLIE","DELTA","O'BRIEN","SMITH & CO","PAPA-QUEBEC","ROMEO"];
    let mut make = |layout: &Layout, n: usize| -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..n { for f in &layout.fields[1..] { let FieldKind::Item(e) = &f.kind else { continue };
            match e {
                Encoding::Text{..} => { let k = f.size / 12 + 1; let mut s: String = (0..k).map(|_| words[(rnd() % 8) as usize]).collect::<Vec<_>>().join(" "); s.truncate(f.size); while s.len() < f.size { s.push(' '); } out.extend(s.chars().map(|c| page.from_char(c).unwrap())); }
                Encoding::Zoned{sign,..} => { for i in 0..f.size { let d = (rnd()%10) as u8; let zone = if i+1==f.size && *sign!=ZonedSign::Unsigned { if rnd()%10<3 {0xd0} else {0xc0} } else {0xf0}; out.push(zone|d); } }
                Encoding::Packed{digits,..} => { let n = f.size*2-1; let mut ns: Vec<u8> = (0..n).map(|_| (rnd()%10) as u8).collect(); if digits%2==0 { ns[0]=0; } ns.push(if rnd()%10<3 {0xd} else {0xc}); out.extend(ns.chunks(2).map(|c| c[0]<<4|c[1])); }
                Encoding::Binary{..} => out.extend(((rnd() % 1000000) as u32).to_be_bytes()),
                _ => {}
            } } }
        out
    };
    // ceilings
    let big = make(&disp, 20000);
    let mut dst = vec![0u8; big.len()];
    let table = page.ascii_table();
    let runs = if pick.is_empty() { 9 } else { 1 };
    let best = |f: &mut dyn FnMut()| -> f64 { (0..runs).map(|_| { let t = Instant::now(); f(); t.elapsed().as_secs_f64() }).fold(f64::MAX, f64::min) };
    let scalar = big.len() as f64 / best(&mut || quayline_charset::translate_scalar(table, &big, &mut dst)) / 1e6;
    let small = vec![1u8; 65536]; let mut sd = vec![0u8; 65536];
    let memcpy = 65536.0 * 2000.0 / best(&mut || for _ in 0..2000 { sd.copy_from_slice(std::hint::black_box(&small)); std::hint::black_box(&mut sd); }) / 1e6;
    println!("scalar translate {scalar:.0} MB/s, memcpy {memcpy:.0} MB/s");
    for (name, layout, bar) in [("disp", &disp, 0.25), ("comp3", &comp3, 0.12)] {
        if !pick.is_empty() && !pick.starts_with(name) { continue; }
        let n = 20000; let data = make(layout, n);
        let plan = RecordPlan::new(layout, &Interface::default(), &Policies::default(), Charset::SingleByte(page)).unwrap();
        let mut d = RecordDecoder::new(&plan);
        let only = pick.split('-').nth(1).unwrap_or("");
        if only == "json" { let mut w = JsonWriter::new(plan.shape(), JsonStyle::default()); for _ in 0..50 { for rec in data.chunks(layout.length_max) { d.decode(rec, &mut w).unwrap(); w.clear(); } } continue; }
        if only == "dec" { for _ in 0..50 { for rec in data.chunks(layout.length_max) { d.decode(rec, &mut Null(0)).unwrap(); } } continue; }
        if only == "enc" || only == "read" { let mut w = JsonWriter::new(plan.shape(), JsonStyle::default()); for rec in data.chunks(layout.length_max) { d.decode(rec, &mut w).unwrap(); } let mut e = RecordEncoder::new(&plan); let mut r = JsonReader::new(plan.shape(), ReaderOptions::default()); for _ in 0..50 { for line in w.bytes().split_inclusive(|b| *b == b'\n') { if only == "enc" { r.read(line, &mut e).unwrap(); e.take().unwrap(); } else { r.read(line, &mut Null(0)).unwrap(); } } } continue; }
        let mut w = JsonWriter::new(plan.shape(), JsonStyle::default());
        let mut outlen = 0;
        let t = best(&mut || { outlen = 0; for (i, rec) in data.chunks(layout.length_max).enumerate() { d.decode(rec, &mut w).unwrap(); if i % 500 == 499 { outlen += w.bytes().len(); w.clear(); } } });
        let rate = data.len() as f64 / t / 1e6;
        println!("{name}: {rate:.0} MB/s in, {:.0} MB/s out, {:.1} ns/rec, ratio {:.3} (bar {bar})", outlen as f64 / t / 1e6, t * 1e9 / n as f64, rate / scalar);
        d.decode(&data[..layout.length_max], &mut w).unwrap();
        if std::env::args().count() > 1 { println!("{}", String::from_utf8_lossy(w.bytes())); }
        w.clear();
        let mut struct_null = Null(0);
        let t = best(&mut || for rec in data.chunks(layout.length_max) { d.decode(rec, &mut struct_null).unwrap(); });
        let mut e = RecordEncoder::new(&plan);
        let te = best(&mut || for rec in data.chunks(layout.length_max) { d.decode(rec, &mut e).unwrap(); assert!(e.take().unwrap() == rec); });
        println!("   decode+encode {:.1} ns/rec, encode alone {:.1}, encode bar total {:.1} ns", te * 1e9 / n as f64, (te - t) * 1e9 / n as f64, layout.length_max as f64 / (0.07 * scalar * 1e6) * 1e9);
        w.clear(); for rec in data.chunks(layout.length_max) { d.decode(rec, &mut w).unwrap(); }
        let json = w.bytes().to_vec();
        let lines: Vec<&[u8]> = json.split_inclusive(|b| *b == b'\n').collect();
        let mut r = JsonReader::new(plan.shape(), ReaderOptions::default());
        let tj = best(&mut || for (line, rec) in lines.iter().zip(data.chunks(layout.length_max)) { r.read(line, &mut e).unwrap(); assert!(e.take().unwrap() == rec); });
        println!("   JSON->record {:.1} ns/rec, ratio {:.4} (bar 0.07), json {:.0} MB/s", tj * 1e9 / n as f64, data.len() as f64 / tj / 1e6 / scalar, json.len() as f64 / tj / 1e6);
        let mut nul = Null(0);
        let tj = best(&mut || for line in &lines { r.read(line, &mut nul).unwrap(); });
        println!("   JSON read only {:.1} ns/rec, {:.0} MB/s", tj * 1e9 / n as f64, json.len() as f64 / tj / 1e6);
        w.clear();
        println!("   decode only: {:.0} MB/s {:.1} ns/rec", data.len() as f64 / t / 1e6, t * 1e9 / n as f64);
    }
    if !pick.is_empty() && pick != "car" { return; }
    // car
    let mut fields = vec![field("CAR100CP", None, 0, 30128, FieldKind::Group)];
    let txt = || FieldKind::Item(Encoding::Text { justified: false, alphabetic: false });
    fields.push(field("RESP", Some(0), 0, 128, txt()));
    fields.push(field("CARMODEL-CAR-FINDER", Some(0), 128, 30000, FieldKind::Group));
    fields.push(field("CARMODEL-CARS", Some(2), 128, 24000, FieldKind::Group));
    let mut cars = field("CARMODEL-CAR-DATA", Some(3), 128, 240, FieldKind::Group); cars.occurs = Some(Occurs{min:1,max:100,depending_on:None}); fields.push(cars);
    for (i, n) in ["1-REF","2-MODEL","3-COST","4-LEATHERSEATS","5-SUNROOF","6-REARCAMERA","7-SATNAV","8-HEATEDSEATS","9-BLUETOOTH","10-PARKINGSENSORS","11-ALLOYS","12-REMOTESTART","13-BLINDSPOT","14-THIRDROWSEATING","15-HEATEDMIRRORS","16-FRONTCAMERA","17-HEATEDWINDSCREEN","18-ALARM","19-TRACKER","20-POWERSEATS"].iter().enumerate() { fields.push(field(&format!("CARMODEL-{n}"), Some(4), 128+12*i, 12, txt())); }
    let d0 = fields.len() as u32;
    fields.push(field("CARMODEL-DEALERS", Some(2), 24128, 3100, FieldKind::Group));
    let mut dd = field("CARMODEL-DEALER-DATA", Some(d0), 24128, 124, FieldKind::Group); dd.occurs = Some(Occurs{min:1,max:25,depending_on:None}); fields.push(dd);
    for (n,o,s) in [("DEALERSHIP",0,16),("COUNTRY",16,2),("ADDRESS",18,90),("PHONE",108,16)] { fields.push(field(&format!("CARMODEL-DEALER-{n}"), Some(d0+1), 24128+o, s, txt())); }
    let n = fields.len() as u32;
    let parents: Vec<Option<FieldIndex>> = fields.iter().map(|f| f.parent).collect();
    for i in 0..fields.len() { let mut end = i + 1; while end < fields.len() { let mut a = parents[end]; let mut inside = false; while let Some(q) = a { if q.index() == i { inside = true; break; } a = parents[q.index()]; } if !inside { break; } end += 1; } fields[i].subtree_end = FieldIndex(end as u32); }
    let _ = n;
    let car = Layout { fields, renames: vec![], length_max: 30128, length_min: 30128, dialect: Dialect::IBM, warnings: vec![] };
    let mut rec = vec![0x40u8; 30128];
    let put = |rec: &mut Vec<u8>, at: usize, s: &str| for (i, c) in s.chars().enumerate() { rec[at + i] = page.from_char(c).unwrap(); };
    for i in 0..100 { put(&mut rec, 128+240*i, &format!("CAR{i:05}")); put(&mut rec, 128+240*i+12, "ASTRAL"); put(&mut rec, 128+240*i+24, &format!("0{:05}", 10000+137*i)); for k in 3..18 { put(&mut rec, 128+240*i+12*k, "NO"); } for k in 18..20 { put(&mut rec, 128+240*i+12*k, "YES"); } }
    for i in 0..25 { put(&mut rec, 24128+124*i, &format!("DEALER {i}")); put(&mut rec, 24128+124*i+16, "UK"); put(&mut rec, 24128+124*i+18, "12 HURSLEY PARK ROAD, WINCHEST"); put(&mut rec, 24128+124*i+108, "044196281500"); }
    let plan = RecordPlan::new(&car, &Interface { key_style: KeyStyle::Underscore, ..Interface::default() }, &Policies::default(), Charset::SingleByte(page)).unwrap();
    let mut d = RecordDecoder::new(&plan);
    let mut w = JsonWriter::new(plan.shape(), JsonStyle::default());
    let mut len = 0;
    let t = best(&mut || for _ in 0..500 { d.decode(&rec, &mut w).unwrap(); len = w.bytes().len(); w.clear(); }) / 500.0;
    println!("car: {:.2} us/rec, {len} bytes, {:.0} MB/s out, ratio {:.4} (bar 0.05)", t * 1e6, len as f64 / t / 1e6, len as f64 / t / 1e6 / memcpy);
    let t = best(&mut || for _ in 0..500 { d.decode(&rec, &mut Null(0)).unwrap(); }) / 500.0;
    println!("   decode only {:.2} us", t * 1e6);
}
struct Null(u64);
impl quayline_core::Sink for Null {
    fn enter(&mut self, _: quayline_core::NodeId) {} fn leave(&mut self, _: quayline_core::NodeId) {} fn open_list(&mut self, _: quayline_core::NodeId) {} fn close_list(&mut self, _: quayline_core::NodeId) {}
    #[inline(always)] fn value(&mut self, _: quayline_core::NodeId, v: quayline_core::Value<'_>) { match v { quayline_core::Value::Ascii(r) => self.0 += r.len() as u64, quayline_core::Value::Digits(d) => self.0 += d.digits.tail()[0] as u64, _ => self.0 += 1 } }
    fn discard(&mut self) {}
}
