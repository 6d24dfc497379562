//! Projects of partners, and the documents that they exchange.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Claims;

/// Partners of the case study: the number of variants in the study of 2005.
pub const PARTNERS: usize = 20;

const OWN: &str = r#"own = true
name = "US"

[[identity]]
standard = "x12"
qualifier = "ZZ"
id = "SYNTHRECEIVER"

[settings]
usage = "both"
send-to = "queue:OUT"

[[rule]]
name = "at-once"
direction = "send"
document = "order"
map = "maps/xml.qmap"
fields = { order = "BEG03" }

[[rule]]
name = "delayed"
direction = "send"
document = "delayed"
map = "maps/xml.qmap"
fields = { order = "BEG03" }
settings = { envelope = "delayed", close = { count = 100 } }

[[rule]]
name = "flat"
direction = "send"
document = "flat"
map = "maps/flat.qmap"
deliver = "queue:FLAT"

[[rule]]
name = "many"
direction = "send"
document = "many"
map = "maps/many.qmap"
settings = { envelope = "delayed" }
"#;

const IN: &str = r#"map "order to JSON"
source "../850.guide"
target order "../order.json"

number = BEG.BEG03
date = BEG.BEG05
currency = CUR.CUR02
for N1[N1.N101 = "BY"] make buyer {
  id = N1.N104
  name = N1.N102
  city = N4[0].N401
}
for PO1 make lines {
  line = PO1.PO101 ?? ""
  product = PO1.PO107
  quantity = fit(PO1.PO102, 12, 3)
  unit = PO1.PO103
  price = fit(PO1.PO104, 15, 4)
  description = left(join(PID.PID05 for PID, ", "), 160)
}
count = count(PO1)
"#;

const ORDER_JSON: &str = r#"{"type":"object","required":["number","lines"],"properties":{
"number":{"type":"string"},"date":{"type":"string"},"currency":{"type":"string"},"count":{"type":"integer"},"partner":{"type":"string"},
"buyer":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"city":{"type":"string"}}},
"lines":{"type":"array","items":{"type":"object","required":["line"],"properties":{
"line":{"type":"string"},"product":{"type":"string"},"quantity":{"type":"number"},"unit":{"type":"string"},"price":{"type":"number"},
"description":{"type":"string"}}}}}}
"#;

const ORDER_XSD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="order">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="number" type="xs:string"/>
        <xs:element name="date" type="xs:string"/>
        <xs:element name="buyer" type="xs:string"/>
        <xs:element name="line" minOccurs="1" maxOccurs="unbounded">
          <xs:complexType>
            <xs:sequence>
              <xs:element name="product" type="xs:string"/>
              <xs:element name="quantity" type="xs:integer"/>
              <xs:element name="unit" type="xs:string"/>
              <xs:element name="price" type="xs:decimal"/>
              <xs:element name="description" type="xs:string"/>
            </xs:sequence>
            <xs:attribute name="number" type="xs:string" use="required"/>
          </xs:complexType>
        </xs:element>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
</xs:schema>
"#;

const XML: &str = r#"map "XML order to 850"
source "../order.xsd"
target order "../850.guide"
omit standard

make BEG {
  BEG01 = "00"
  BEG02 = "NE"
  BEG03 = left(number, 22)
  BEG05 = left(date, 8)
}
make N1 {
  N1.N101 = "BY"
  N1.N102 = left(buyer, 60)
}
for line limit 100000 make PO1 {
  make PO1 {
    PO101 = left(@number, 20)
    PO102 = fit(quantity, 15, 0)
    PO103 = left(unit, 2)
    PO104 = fit(price, 17, 4)
    PO106 = "VP"
    PO107 = left(product, 48)
  }
  make PID {
    PID.PID01 = "F"
    PID.PID05 = left(description, 80)
  }
}
CTT.CTT.CTT01 = count(line)
"#;

const FLAT: &str = r#"map "XML order to rows"
source "../order.xsd"
target row "../row.toml"

for line make row {
  order = left(source.number, 22)
  line = left(@number, 20)
  product = left(product, 48)
  quantity = fit(quantity, 9, 0)
  price = fit(price, 15, 4)
  description = left(description, 80)
}
"#;

const ROW: &str = r#"layout = "csv"
name = "row"

[[field]]
name = "order"
length = 22
required = true
[[field]]
name = "line"
length = 20
[[field]]
name = "product"
length = 48
[[field]]
name = "quantity"
type = "decimal"
digits = 9
decimals = 0
[[field]]
name = "price"
type = "decimal"
digits = 15
decimals = 4
[[field]]
name = "description"
length = 80
"#;

const MANY: &str = r#"map "short orders to 850"
source "../order.json"
target order "../850.guide"
omit standard

interchange.receiver = left(partner, 15)
make BEG {
  BEG01 = "00"
  BEG02 = "NE"
  BEG03 = left(number, 22)
  BEG05 = "20260401"
}
for lines limit 1 make PO1 {
  make PO1 {
    PO102 = 1
    PO103 = "EA"
  }
}
"#;

const CLAIMS: &str = r#"map "claims"
source "../837p.guide"
target claim "../claim.shape"

for 2000A.2000B.2300 make claim {
  number = left(CLM.CLM01, 38)
  amount = fit(round(CLM.CLM02, 2), 16, 2)
  batch = left(source.BHT.BHT03, 50)
  place = left(CLM.CLM05.'CLM05-1', 2)
  for 2400 make lines {
    number = position()
    code = left(SV1.SV101.'SV101-2', 48)
    charge = fit(round(SV1.SV102, 2), 16, 2)
    units = fit(round(SV1.SV104, 3), 12, 3)
  }
}
"#;

const CLAIM_SHAPE: &str = "claim\n  number text(38)\n  amount decimal(18,2)\n  batch? text(50)\n  place? text(2)\n  lines*\n    number decimal(9)\n    code? text(48)\n    charge? decimal(18,2)\n    units? decimal(15,3)\n";

/// Guides of `examples/edi`, which are compiled into this program.
const GUIDES: [(&str, &str); 4] = [
    ("850.guide", include_str!("../../../../examples/edi/850.guide")),
    ("x12-trade.guide", include_str!("../../../../examples/edi/x12-trade.guide")),
    ("837p.guide", include_str!("../../../../examples/edi/837p.guide")),
    ("x12-claims.guide", include_str!("../../../../examples/edi/x12-claims.guide")),
];

/// A project in a folder.
#[derive(Clone, Debug)]
pub struct Project {
    folder: PathBuf,
}

fn shown(error: &std::io::Error) -> String {
    error.to_string()
}

impl Project {
    /// Creates a project with maps, guides and our own file. An older project in the folder is removed.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn new(folder: &Path) -> Result<Project, String> {
        // Left over from a run that was stopped.
        let _ = fs::remove_dir_all(folder);
        let project = Project { folder: folder.to_owned() };
        for (name, text) in [
            ("partners/us.toml", OWN),
            ("maps/in.qmap", IN),
            ("maps/xml.qmap", XML),
            ("maps/flat.qmap", FLAT),
            ("maps/many.qmap", MANY),
            ("maps/claims.qmap", CLAIMS),
            ("order.json", ORDER_JSON),
            ("order.xsd", ORDER_XSD),
            ("row.toml", ROW),
            ("claim.shape", CLAIM_SHAPE),
        ]
        .into_iter()
        .chain(GUIDES)
        {
            project.write(name, text)?;
        }
        Ok(project)
    }

    /// Returns the project's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of a file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| shown(&error))?;
        }
        fs::write(path, text).map_err(|error| shown(&error))
    }

    /// Adds the partner that sends orders and claims, with these settings.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn sender(&self, settings: &str) -> Result<(), String> {
        let text = format!(
            "name = \"SENDER\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"{SENDER}\"\n[settings]\nsend-to = \"queue:OUT\"\n{settings}\n\
             [[rule]]\nname = \"orders\"\ndirection = \"receive\"\ndocument = \"850\"\nmap = \"maps/in.qmap\"\ndeliver = \"queue:IN\"\n\
             fields = {{ order = \"BEG03\" }}\n\
             [[rule]]\nname = \"claims\"\ndirection = \"receive\"\ndocument = \"837\"\nmap = \"maps/claims.qmap\"\ndeliver = \"queue:IN\"\n\
             fields = {{ batch = \"BHT03\" }}\n"
        );
        self.write("partners/sender.toml", &text)
    }

    /// Adds partners that only have an identity.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn receivers(&self, count: usize) -> Result<(), String> {
        (0..count).try_for_each(|number| self.write(&format!("partners/{}.toml", name(number)), &receiver(number)))
    }

    /// Adds partners with `rules` rules each.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn with_rules(&self, partners: usize, rules: usize) -> Result<(), String> {
        for number in 0..partners {
            let mut text = receiver(number);
            for rule in 0..rules {
                let _ = write!(
                    text,
                    "[[rule]]\nname = \"r{rule}\"\ndirection = \"receive\"\ndocument = \"{}\"\ndeliver = \"folder:in\"\n",
                    100 + rule
                );
            }
            self.write(&format!("partners/{}.toml", name(number)), &text)?;
        }
        Ok(())
    }
}

/// Sender of the claims of [`Claims`].
const SENDER: &str = "SYNTHSENDER";

/// Returns the name of a partner, which is also its id.
#[must_use]
pub fn name(number: usize) -> String {
    format!("P{number:05}")
}

fn receiver(number: usize) -> String {
    let name = name(number);
    format!("name = \"{name}\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"{name}\"\n")
}

/// Interchanges of orders of about 2 KB each.
#[must_use]
pub fn orders(interchanges: u32, each: u32) -> String {
    let mut out = String::new();
    let mut number = 0;
    for interchange in 1..=interchanges {
        let _ = write!(
            out,
            "ISA*00*          *00*          *ZZ*{SENDER:<15}*ZZ*SYNTHRECEIVER  *260401*1200*^*00501*{interchange:09}*0*P*:~\
             GS*PO*{SENDER}*SYNTHRECEIVER*20260401*1200*{interchange}*X*005010~"
        );
        for document in 1..=each {
            number += 1;
            order(&mut out, number, document);
        }
        let _ = write!(out, "GE*{each}*{interchange}~IEA*1*{interchange:09}~");
    }
    out
}

/// Lines of an order.
const LINES: u32 = 15;

fn order(out: &mut String, number: u32, document: u32) {
    let _ = write!(
        out,
        "ST*850*{document:04}~BEG*00*NE*PO{number:08}**20260315~CUR*BY*USD~REF*CT*C-2026-17~\
         PER*BD*Purchasing*TE*15550100*EM*buy@alder.example~DTM*002*20260401~N1*BY*Alder Trading*92*10042~N3*12 Harbour Road~\
         N4*Portland*OR*97201*US~N1*ST*Alder Warehouse*92*10043~N3*1 Dock Street~N4*Seattle*WA*98101*US~"
    );
    for line in 1..=LINES {
        let _ = write!(
            out,
            "PO1*{line}*{}*EA*{line}.25**VP*QS-{}*BP*AT-{}*UP*0400001234{line:03}~PID*F****Hex bolt M8 by {} mm, zinc plated, box of one hundred~",
            line * 3,
            1_000 + line,
            2_000 + line,
            line * 10
        );
    }
    let _ = write!(out, "CTT*{LINES}~SE*{}*{document:04}~", 11 + 2 * LINES + 3);
}

/// Generates an order of about 2 KB in XML.
#[must_use]
pub fn xml_order(number: usize) -> String {
    let mut out = format!("<order><number>X{number:08}</number><date>20260401</date><buyer>Alder Trading</buyer>");
    for line in 1..=10 {
        let _ = write!(
            out,
            "<line number=\"{line}\"><product>QS-{}</product><quantity>{}</quantity><unit>EA</unit><price>{line}.25</price>\
             <description>Hex bolt M8 by {} mm, zinc plated, box of one hundred</description></line>",
            1_000 + line,
            line * 3,
            line * 10
        );
    }
    out.push_str("</order>\n");
    out
}

/// Generates one short order for each of the first `partners` partners, as JSON lines.
#[must_use]
pub fn short_orders(partners: usize) -> String {
    let mut out = String::new();
    for number in 0..partners {
        let order = serde_json::json!({ "number": format!("S{number:08}"), "partner": name(number), "lines": [{ "line": "1" }] });
        let _ = writeln!(out, "{order}");
    }
    out
}

/// Generates an interchange with `count` claims in two transactions.
#[must_use]
pub fn claims(count: u64) -> Vec<u8> {
    Claims { claims: count, per_transaction: count.div_ceil(2) }.bytes()
}
