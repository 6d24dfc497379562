//! Interchanges with the shape of real ones and no real persons: 837 professional claims and EDIFACT orders.
//!
//! Byte for byte the files of the generator with which other programs were measured, for the same number of claims or orders and seed 1.

use std::io::{self, Write};

use crate::PythonRandom;

/// An X12 005010X222A1 interchange of claims.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    /// Number of claims; about 947 bytes and 40.6 segments each.
    pub claims: u64,
    /// Claims in a transaction set; the guide advises 5,000 at most.
    pub per_transaction: u64,
}

/// A UN/EDIFACT interchange of ORDERS D.96A, one order a message, with UNA and release characters.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// Number of orders; about 1,278 bytes and 57.9 segments each.
    pub orders: u64,
}

const LAST: [&str; 25] = [
    "ALDER", "BIRCH", "CEDAR", "DOGWOOD", "ELMS", "FIRTH", "GORSE", "HAZEL", "IVYSON", "JUNIPER", "KAPOK", "LINDEN",
    "MAPLE", "NUTMEG", "OAKES", "PINE", "QUINCE", "ROWAN", "SPRUCE", "TEAK", "ULMUS", "VIOLET", "WILLOW", "YEW",
    "ZINNIA",
];
const FIRST: [&str; 26] = [
    "ANNA", "BRUNO", "CLARA", "DAVID", "EMMA", "FELIX", "GRETA", "HUGO", "IDA", "JONAS", "KARLA", "LEON", "MIRA",
    "NILS", "OLGA", "PAUL", "QUINN", "RITA", "SVEN", "TINA", "UWE", "VERA", "WILLI", "XENIA", "YARA", "ZENO",
];
const STREET: [&str; 10] = [
    "MAIN ST",
    "OAK AVE",
    "RIVER RD",
    "HILL LN",
    "PARK BLVD",
    "STATION WAY",
    "CHURCH ST",
    "LAKE DR",
    "MILL CT",
    "FIELD TER",
];
const CITY: [(&str, &str, &str); 10] = [
    ("SPRINGFIELD", "IL", "62701"),
    ("FRANKLIN", "TN", "37064"),
    ("GREENVILLE", "SC", "29601"),
    ("BRISTOL", "CT", "06010"),
    ("CLINTON", "IA", "52732"),
    ("FAIRVIEW", "TX", "75069"),
    ("SALEM", "OR", "97301"),
    ("MADISON", "WI", "53703"),
    ("GEORGETOWN", "KY", "40324"),
    ("ARLINGTON", "VA", "22201"),
];
const DIAGNOSIS: [&str; 18] = [
    "J0190", "E119", "I10", "M545", "K219", "N390", "R51", "F329", "G4700", "L309", "Z0000", "J45909", "E785",
    "M25561", "R0789", "H6690", "B349", "S93401A",
];
const PROCEDURE: [&str; 16] = [
    "99213", "99214", "99203", "99204", "93000", "36415", "80053", "85025", "81003", "71046", "97110", "90834",
    "20610", "11042", "87880", "90471",
];
const TAXONOMY: [&str; 6] = ["207Q00000X", "208D00000X", "207R00000X", "2085R0202X", "225100000X", "101YM0800X"];
const PAYER: [(&str, &str); 4] = [
    ("NORTHERN MUTUAL HEALTH", "NMH01"),
    ("ATLAS BENEFIT PLAN", "ATL77"),
    ("CIVIC CARE TRUST", "CCT20"),
    ("PRAIRIE HMO", "PRH55"),
];

/// Appends segments and counts them.
struct Segments<'o> {
    out: &'o mut dyn Write,
    held: Vec<u8>,
    terminator: u8,
    count: u64,
}

const HELD_BYTES: usize = 1 << 16;

impl<'o> Segments<'o> {
    fn new(out: &'o mut dyn Write, terminator: u8) -> Self {
        Segments { out, held: Vec::with_capacity(HELD_BYTES + 4096), terminator, count: 0 }
    }

    fn put(&mut self, segment: core::fmt::Arguments<'_>) -> io::Result<()> {
        self.held.write_fmt(segment)?;
        self.held.push(self.terminator);
        self.count += 1;
        if self.held.len() >= HELD_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

macro_rules! put {
    ($segments:expr, $($text:tt)*) => { $segments.put(format_args!($($text)*))? };
}

impl Claims {
    /// Creates claims in transaction sets of 5,000.
    #[must_use]
    pub fn new(claims: u64) -> Self {
        Claims { claims, per_transaction: 5_000 }
    }

    /// Generates the file in memory.
    ///
    /// # Panics
    /// Never, because writing to memory cannot fail.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).expect("memory takes everything");
        bytes
    }

    /// Generates the file directly into the output.
    ///
    /// # Errors
    /// The error of the output.
    pub fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
        self.write_numbered(1, out)
    }

    /// Generates several interchanges, each with these claims, and with the control numbers from 1.
    ///
    /// # Errors
    /// The error of the output.
    pub fn write_interchanges(self, interchanges: u32, out: &mut dyn Write) -> io::Result<()> {
        (1..=interchanges).try_for_each(|number| self.write_numbered(number, out))
    }

    /// Generates an interchange; its number is also the seed.
    fn write_numbered(self, number: u32, out: &mut dyn Write) -> io::Result<()> {
        let (w, r) = (&mut Segments::new(out, b'~'), &mut PythonRandom::new(number));
        put!(
            w,
            "ISA*00*          *00*          *ZZ*SYNTHSENDER    *ZZ*SYNTHRECEIVER  *260401*1200*^*00501*{number:09}*0*T*:"
        );
        put!(w, "GS*HC*SYNTHSENDER*SYNTHRECEIVER*20260401*1200*{number}*X*005010X222A1");
        let (mut done, mut sets) = (0, 0);
        while done < self.claims {
            sets += 1;
            let before = w.count;
            put!(w, "ST*837*{sets:04}*005010X222A1");
            put!(w, "BHT*0019*00*{sets:010}*20260401*1200*CH");
            put!(w, "NM1*41*2*SYNTH CLEARING HOUSE*****46*SCH000001");
            put!(w, "PER*IC*EDI DESK*TE*5555550100*EM*EDI@EXAMPLE.COM");
            put!(w, "NM1*40*2*NORTHERN MUTUAL HEALTH*****46*NMH01");
            let in_set = self.per_transaction.min(self.claims - done);
            let (mut level, mut k) = (0, 0);
            while k < in_set {
                level += 1;
                let provider = level;
                billing_provider(w, r, provider)?;
                for _ in 0..r.between(20, 60).min(in_set - k) {
                    k += 1;
                    level = claim(w, r, level, provider, done + k)?;
                }
            }
            done += in_set;
            put!(w, "SE*{}*{sets:04}", w.count - before + 1);
        }
        put!(w, "GE*{sets}*{number}");
        put!(w, "IEA*1*{number:09}");
        w.flush()
    }
}

fn billing_provider(w: &mut Segments<'_>, r: &mut PythonRandom, level: u64) -> io::Result<()> {
    put!(w, "HL*{level}**20*1");
    put!(w, "PRV*BI*PXC*{}", r.pick(&TAXONOMY));
    put!(w, "NM1*85*2*{} MEDICAL GROUP*****XX*{}", r.pick(&LAST), provider_number(r));
    address(w, r)?;
    put!(w, "REF*EI*{}", 100_000_000 + r.below(900_000_000));
    put!(w, "PER*IC*BILLING OFFICE*TE*555555{:04}", r.below(10_000));
    Ok(())
}

/// Writes subscriber, patient and claim. Returns the number of the last hierarchical level.
fn claim(w: &mut Segments<'_>, r: &mut PythonRandom, mut level: u64, provider: u64, number: u64) -> io::Result<u64> {
    let dependent = r.random() < 0.25;
    let payer = r.pick(&PAYER);
    level += 1;
    let subscriber = level;
    put!(w, "HL*{level}*{provider}*22*{}", u8::from(dependent));
    put!(w, "SBR*P*{}*GRP{:05}******CI", if dependent { "" } else { "18" }, r.below(100_000));
    let last = *r.pick(&LAST);
    let (first, middle) = (*r.pick(&FIRST), char::from(*r.pick(b"ABCDEFGH")));
    put!(w, "NM1*IL*1*{last}*{first}*{middle}***MI*W{:09}", r.below(1_000_000_000));
    if !dependent {
        address(w, r)?;
        birth(w, r, 1940, 2005)?;
    }
    put!(w, "NM1*PR*2*{}*****PI*{}", payer.0, payer.1);
    if dependent {
        level += 1;
        put!(w, "HL*{level}*{subscriber}*23*0");
        put!(w, "PAT*{}", r.pick(&["19", "01", "G8"]));
        put!(w, "NM1*QC*1*{last}*{}", r.pick(&FIRST));
        address(w, r)?;
        birth(w, r, 1950, 2020)?;
    }
    let lines = *r.pick(&[1, 2, 3, 4, 5, 6, 6, 7, 8, 9]);
    let amounts: Vec<u64> = (0..lines).map(|_| 2_000 + r.below(43_000)).collect();
    let day = date(r, 2025, 2025);
    put!(w, "CLM*PCN{number:09}*{}***11:B:1*Y*A*Y*Y", money(amounts.iter().sum()));
    if r.random() < 0.3 {
        put!(w, "DTP*431*D8*{day}");
    }
    put!(w, "REF*D9*{}", 100_000_000_000_000 + r.below(900_000_000_000_000));
    if r.random() < 0.4 {
        put!(w, "REF*EA*MRN{:07}", r.below(10_000_000));
    }
    if r.random() < 0.1 {
        put!(w, "NTE*ADD*PATIENT SEEN AFTER REFERRAL, RECORDS ON FILE");
    }
    let count = usize::try_from(r.between(1, 4)).expect("at most four");
    let diagnoses: Vec<String> = r.sample(&DIAGNOSIS, count).iter().map(|code| format!("ABF:{code}")).collect();
    put!(w, "HI*{}", diagnoses.join("*").replacen("ABF", "ABK", 1));
    if r.random() < 0.4 {
        let (last, first) = (r.pick(&LAST), r.pick(&FIRST));
        put!(w, "NM1*DN*1*{last}*{first}****XX*{}", provider_number(r));
    }
    let (last, first, middle) = (r.pick(&LAST), r.pick(&FIRST), char::from(*r.pick(b"JKLM")));
    put!(w, "NM1*82*1*{last}*{first}*{middle}***XX*{}", provider_number(r));
    put!(w, "PRV*PE*PXC*{}", r.pick(&TAXONOMY));
    put!(w, "NM1*77*2*{} CLINIC*****XX*{}", r.pick(&CITY).0, provider_number(r));
    address(w, r)?;
    for (i, amount) in amounts.iter().enumerate() {
        service_line(w, r, number, i + 1, *amount, count, &day)?;
    }
    Ok(level)
}

fn service_line(
    w: &mut Segments<'_>,
    r: &mut PythonRandom,
    claim: u64,
    line: usize,
    amount: u64,
    diagnoses: usize,
    day: &str,
) -> io::Result<()> {
    put!(w, "LX*{line}");
    let modifier = if r.random() < 0.2 {
        ":25"
    } else if r.random() < 0.1 {
        ":59:LT"
    } else {
        ""
    };
    let (procedure, units) = (r.pick(&PROCEDURE), r.between(1, 3));
    let pointers = ["1", "1:2", "1:2:3"][usize::try_from(r.between(1, 3)).expect("at most three").min(diagnoses) - 1];
    put!(w, "SV1*HC:{procedure}{modifier}*{}*UN*{units}***{pointers}", money(amount));
    put!(w, "DTP*472*D8*{day}");
    put!(w, "REF*6R*{claim:09}{line:03}");
    if r.random() < 0.3 {
        let (last, first) = (r.pick(&LAST), r.pick(&FIRST));
        put!(w, "NM1*82*1*{last}*{first}****XX*{}", provider_number(r));
        put!(w, "PRV*PE*PXC*{}", r.pick(&TAXONOMY));
    }
    Ok(())
}

fn address(w: &mut Segments<'_>, r: &mut PythonRandom) -> io::Result<()> {
    put!(w, "N3*{} {}", 1 + r.below(9_998), r.pick(&STREET));
    let (city, state, zip) = r.pick(&CITY);
    put!(w, "N4*{city}*{state}*{zip}{:04}", 1 + r.below(9_998));
    Ok(())
}

fn birth(w: &mut Segments<'_>, r: &mut PythonRandom, from: u64, to: u64) -> io::Result<()> {
    let day = date(r, from, to);
    put!(w, "DMG*D8*{day}*{}", char::from(*r.pick(b"MF")));
    Ok(())
}

fn date(r: &mut PythonRandom, from: u64, to: u64) -> String {
    format!("{}{:02}{:02}", r.between(from, to), r.between(1, 12), r.between(1, 28))
}

/// Generates a provider number: ten digits, the last of which is a check digit over the nine and the prefix 80840.
fn provider_number(r: &mut PythonRandom) -> u64 {
    let digits: Vec<u64> = core::iter::once(1).chain((0..8).map(|_| r.below(10))).collect();
    let prefix = [8, 0, 8, 4, 0];
    let sum: u64 = prefix
        .iter()
        .chain(&digits)
        .rev()
        .enumerate()
        .map(|(i, digit)| match digit * 2 {
            twice if i % 2 == 0 => twice / 10 + twice % 10,
            _ => *digit,
        })
        .sum();
    digits.iter().fold(0, |number, digit| number * 10 + digit) * 10 + (10 - sum % 10) % 10
}

fn money(cents: u64) -> String {
    match (cents / 100, cents % 100) {
        (units, 0) => units.to_string(),
        (units, cents) if cents % 10 == 0 => format!("{units}.{}", cents / 10),
        (units, cents) => format!("{units}.{cents:02}"),
    }
}

impl Orders {
    /// Generates the file in memory.
    ///
    /// # Panics
    /// Never, because writing to memory cannot fail.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).expect("memory takes everything");
        bytes
    }

    /// Generates the file directly into the output.
    ///
    /// # Errors
    /// The error of the output.
    pub fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
        let (w, r) = (&mut Segments::new(out, b'\''), &mut PythonRandom::new(1));
        put!(w, "UNA:+.? ");
        put!(w, "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+IC00000001");
        for number in 1..=self.orders {
            order(w, r, number)?;
        }
        put!(w, "UNZ+{}+IC00000001", self.orders);
        w.flush()
    }
}

fn order(w: &mut Segments<'_>, r: &mut PythonRandom, number: u64) -> io::Result<()> {
    let before = w.count;
    put!(w, "UNH+{number}+ORDERS:D:96A:UN:EAN008");
    put!(w, "BGM+220+OR{number:09}+9");
    put!(w, "DTM+137:{}:102", date(r, 2026, 2026));
    put!(w, "DTM+2:{}:102", date(r, 2026, 2026));
    put!(w, "FTX+ZZZ+++DELIVER AT GATE 4?: RING BELL?+WAIT, DON?'T PARK");
    put!(w, "RFF+CT:{}", r.below(1_000_000));
    for party in ["BY", "SU", "DP"] {
        let (city, _, zip) = *r.pick(&CITY);
        let (id, last) = (1_000_000_000_000 + r.below(9_000_000_000_000), r.pick(&LAST));
        let (street, house) = (r.pick(&STREET), 1 + r.below(199));
        put!(w, "NAD+{party}+{id}::9++{last} HANDEL+{street} {house}+{city}++{zip}+US");
    }
    put!(w, "CUX+2:EUR:9");
    let lines = r.between(3, 15);
    for line in 1..=lines {
        let (quantity, price) = (r.between(1, 500), 100 + r.below(89_900));
        put!(w, "LIN+{line}++{}:EN", 1_000_000_000_000 + r.below(9_000_000_000_000));
        put!(w, "PIA+1+SKU{:06}:SA", r.below(1_000_000));
        put!(w, "IMD+F++:::{} ARTIKEL {}", r.pick(&LAST), r.below(100));
        put!(w, "QTY+21:{quantity}");
        put!(w, "PRI+AAA:{}", money(price));
    }
    put!(w, "UNS+S");
    put!(w, "CNT+2:{lines}");
    put!(w, "UNT+{}+{number}", w.count - before + 1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8]) -> (usize, u64) {
        // FNV-1a.
        (
            bytes.len(),
            bytes
                .iter()
                .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    #[test]
    fn the_files_are_those_that_others_were_measured_with() {
        assert_eq!(sum(&Claims { claims: 300, per_transaction: 100 }.bytes()), (287062, 0x36d384320114335e));
        assert_eq!(sum(&Orders { orders: 200 }.bytes()), (255655, 0x2722560443913e70));
    }
}
