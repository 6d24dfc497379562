//! Synthetic interchanges with the shape of real ones: 837 professional claims and EDIFACT orders. Same arguments, same bytes.

/// A small generator of numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[usize::try_from(self.below(words.len() as u64)).expect("small")]
    }
}

const LAST: [&str; 12] =
    ["ALDER", "BIRCH", "CEDAR", "DOGWOOD", "ELMS", "FIRTH", "GORSE", "HAZEL", "LINDEN", "MAPLE", "QUINCE", "WILLOW"];
const FIRST: [&str; 10] = ["ANNA", "BRUNO", "CLARA", "DAVID", "EMMA", "FELIX", "GRETA", "HUGO", "XENIA", "ZENO"];
const STREET: [&str; 6] = ["MAIN ST", "OAK AVE", "RIVER RD", "HILL LN", "PARK BLVD", "STATION WAY"];
const CITY: [(&str, &str, &str); 5] = [
    ("SPRINGFIELD", "IL", "62701"),
    ("FRANKLIN", "TN", "37064"),
    ("GREENVILLE", "SC", "29601"),
    ("BRISTOL", "CT", "06010"),
    ("SALEM", "OR", "97301"),
];
const DIAGNOSIS: [&str; 8] = ["J0190", "E119", "I10", "M545", "K219", "F329", "G4700", "S93401A"];
const PROCEDURE: [&str; 6] = ["99213", "99214", "93000", "36415", "80053", "71046"];
const TAXONOMY: [&str; 4] = ["207Q00000X", "208D00000X", "207R00000X", "225100000X"];

struct Writer {
    out: Vec<u8>,
    terminator: char,
    segments: u64,
}

impl Writer {
    fn put(&mut self, segment: &str) {
        self.out.extend_from_slice(segment.as_bytes());
        self.out.push(u8::try_from(self.terminator).expect("ASCII"));
        self.segments += 1;
    }
}

fn money(cents: u64) -> String {
    let (units, cents) = (cents / 100, cents % 100);
    match (cents / 10, cents % 10) {
        (0, 0) => units.to_string(),
        (tens, 0) => format!("{units}.{tens}"),
        _ => format!("{units}.{cents:02}"),
    }
}

fn address(w: &mut Writer, r: &mut Random) {
    w.put(&format!("N3*{} {}", r.between(1, 9999), r.pick(&STREET)));
    let (city, state, zip) = CITY[usize::try_from(r.below(5)).expect("small")];
    w.put(&format!("N4*{city}*{state}*{zip}{:04}", r.between(1, 9999)));
}

fn date(r: &mut Random, from: u64, to: u64) -> String {
    format!("{}{:02}{:02}", r.between(from, to), r.between(1, 12), r.between(1, 28))
}

/// 837 professional, `claims` claims, 5,000 in a transaction set.
pub(crate) fn claims(claims: u64, seed: u64) -> Vec<u8> {
    let r = &mut Random(seed);
    let w = &mut Writer { out: Vec::new(), terminator: '~', segments: 0 };
    w.put("ISA*00*          *00*          *ZZ*SYNTHSENDER    *ZZ*SYNTHRECEIVER  *260401*1200*^*00501*000000001*0*T*:");
    w.put("GS*HC*SYNTHSENDER*SYNTHRECEIVER*20260401*1200*1*X*005010X222A1");
    let (mut done, mut sets) = (0, 0);
    while done < claims {
        sets += 1;
        let first = w.segments;
        w.put(&format!("ST*837*{sets:04}*005010X222A1"));
        w.put(&format!("BHT*0019*00*{sets:010}*20260401*1200*CH"));
        w.put("NM1*41*2*SYNTH CLEARING HOUSE*****46*SCH000001");
        w.put("PER*IC*EDI DESK*TE*5555550100*EM*EDI@EXAMPLE.COM");
        w.put("NM1*40*2*NORTHERN MUTUAL HEALTH*****46*NMH01");
        let in_set = (claims - done).min(5000);
        let (mut level, mut k) = (0, 0);
        while k < in_set {
            level += 1;
            let provider = level;
            w.put(&format!("HL*{level}**20*1"));
            w.put(&format!("PRV*BI*PXC*{}", r.pick(&TAXONOMY)));
            w.put(&format!(
                "NM1*85*2*{} MEDICAL GROUP*****XX*{}",
                r.pick(&LAST),
                r.between(1_000_000_000, 1_999_999_999)
            ));
            address(w, r);
            w.put(&format!("REF*EI*{}", r.between(100_000_000, 999_999_999)));
            w.put(&format!("PER*IC*BILLING OFFICE*TE*555555{:04}", r.below(10_000)));
            for _ in 0..r.between(20, 60).min(in_set - k) {
                k += 1;
                level = claim(w, r, level, provider, done + k);
            }
        }
        done += in_set;
        w.put(&format!("SE*{}*{sets:04}", w.segments - first + 1));
    }
    w.put(&format!("GE*{sets}*1"));
    w.put("IEA*1*000000001");
    core::mem::take(&mut w.out)
}

fn claim(w: &mut Writer, r: &mut Random, mut level: u64, provider: u64, number: u64) -> u64 {
    let dependent = r.chance(25);
    level += 1;
    let subscriber = level;
    w.put(&format!("HL*{level}*{provider}*22*{}", u8::from(dependent)));
    w.put(&format!("SBR*P*{}*GRP{:05}******CI", if dependent { "" } else { "18" }, r.below(100_000)));
    let last = r.pick(&LAST);
    w.put(&format!(
        "NM1*IL*1*{last}*{}*{}***MI*W{:09}",
        r.pick(&FIRST),
        r.pick(&["A", "B", "C"]),
        r.below(1_000_000_000)
    ));
    if !dependent {
        address(w, r);
        w.put(&format!("DMG*D8*{}*{}", date(r, 1940, 2005), r.pick(&["M", "F"])));
    }
    w.put("NM1*PR*2*NORTHERN MUTUAL HEALTH*****PI*NMH01");
    if dependent {
        level += 1;
        w.put(&format!("HL*{level}*{subscriber}*23*0"));
        w.put(&format!("PAT*{}", r.pick(&["19", "01", "G8"])));
        w.put(&format!("NM1*QC*1*{last}*{}", r.pick(&FIRST)));
        address(w, r);
        w.put(&format!("DMG*D8*{}*{}", date(r, 1950, 2020), r.pick(&["M", "F"])));
    }
    let amounts: Vec<u64> = (0..r.between(1, 9)).map(|_| r.between(2000, 44_999)).collect();
    let day = date(r, 2025, 2025);
    w.put(&format!("CLM*PCN{number:09}*{}***11:B:1*Y*A*Y*Y", money(amounts.iter().sum())));
    if r.chance(30) {
        w.put(&format!("DTP*431*D8*{day}"));
    }
    w.put(&format!("REF*D9*{}", r.between(100_000_000_000_000, 999_999_999_999_999)));
    if r.chance(40) {
        w.put(&format!("REF*EA*MRN{:07}", r.below(10_000_000)));
    }
    if r.chance(10) {
        w.put("NTE*ADD*PATIENT SEEN AFTER REFERRAL, RECORDS ON FILE");
    }
    let codes = r.between(1, 4);
    let mut diagnoses = format!("HI*ABK:{}", r.pick(&DIAGNOSIS));
    for _ in 1..codes {
        diagnoses.push_str(&format!("*ABF:{}", r.pick(&DIAGNOSIS)));
    }
    w.put(&diagnoses);
    if r.chance(40) {
        w.put(&format!(
            "NM1*DN*1*{}*{}****XX*{}",
            r.pick(&LAST),
            r.pick(&FIRST),
            r.between(1_000_000_000, 1_999_999_999)
        ));
    }
    w.put(&format!("NM1*82*1*{}*{}*J***XX*{}", r.pick(&LAST), r.pick(&FIRST), r.between(1_000_000_000, 1_999_999_999)));
    w.put(&format!("PRV*PE*PXC*{}", r.pick(&TAXONOMY)));
    w.put(&format!("NM1*77*2*{} CLINIC*****XX*{}", CITY[0].0, r.between(1_000_000_000, 1_999_999_999)));
    address(w, r);
    for (i, amount) in amounts.iter().enumerate() {
        w.put(&format!("LX*{}", i + 1));
        let modifier = if r.chance(20) { ":25" } else { "" };
        w.put(&format!("SV1*HC:{}{modifier}*{}*UN*{}***1:2", r.pick(&PROCEDURE), money(*amount), r.between(1, 3)));
        w.put(&format!("DTP*472*D8*{day}"));
        w.put(&format!("REF*6R*{number:09}{:03}", i + 1));
        if r.chance(30) {
            w.put(&format!(
                "NM1*82*1*{}*{}****XX*{}",
                r.pick(&LAST),
                r.pick(&FIRST),
                r.between(1_000_000_000, 1_999_999_999)
            ));
            w.put(&format!("PRV*PE*PXC*{}", r.pick(&TAXONOMY)));
        }
    }
    level
}

/// EDIFACT ORDERS D.96A, one order a message, with UNA and release characters.
pub(crate) fn orders(orders: u64, seed: u64) -> Vec<u8> {
    let r = &mut Random(seed);
    let w = &mut Writer { out: b"UNA:+.? '".to_vec(), terminator: '\'', segments: 0 };
    w.put("UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+IC00000001");
    for k in 1..=orders {
        let first = w.segments;
        w.put(&format!("UNH+{k}+ORDERS:D:96A:UN:EAN008"));
        w.put(&format!("BGM+220+OR{k:09}+9"));
        w.put(&format!("DTM+137:{}:102", date(r, 2026, 2026)));
        w.put(&format!("DTM+2:{}:102", date(r, 2026, 2026)));
        w.put("FTX+ZZZ+++DELIVER AT GATE 4?: RING BELL?+WAIT, DON?'T PARK");
        w.put(&format!("RFF+CT:{}", r.below(1_000_000)));
        for qualifier in ["BY", "SU", "DP"] {
            let (city, _, zip) = CITY[usize::try_from(r.below(5)).expect("small")];
            w.put(&format!(
                "NAD+{qualifier}+{}::9++{} HANDEL+{} {}+{city}++{zip}+US",
                r.between(1_000_000_000_000, 9_999_999_999_999),
                r.pick(&LAST),
                r.pick(&STREET),
                r.between(1, 200)
            ));
        }
        w.put("CUX+2:EUR:9");
        let lines = r.between(3, 15);
        for i in 1..=lines {
            w.put(&format!("LIN+{i}++{}:EN", r.between(1_000_000_000_000, 9_999_999_999_999)));
            w.put(&format!("PIA+1+SKU{:06}:SA", r.below(1_000_000)));
            w.put(&format!("IMD+F++:::{} ARTIKEL {}", r.pick(&LAST), r.below(100)));
            w.put(&format!("QTY+21:{}", r.between(1, 500)));
            w.put(&format!("PRI+AAA:{}", money(r.between(100, 90_000))));
        }
        w.put("UNS+S");
        w.put(&format!("CNT+2:{lines}"));
        w.put(&format!("UNT+{}+{k}", w.segments - first + 1));
    }
    w.put(&format!("UNZ+{orders}+IC00000001"));
    core::mem::take(&mut w.out)
}
