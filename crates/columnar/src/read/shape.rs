//! The shape of a file's rows, if no copybook or schema gives one.

use std::collections::HashSet;

use arrow_schema::{DataType, Field, Fields, Schema};
use quayline_core::{Code, Fault, Finding, Findings, Limits, Occurs, Place, Scalar, Shape, ShapeBuilder};

/// Two columns of one name.
const SAME_NAME: Code = Code("COL-035");

/// More columns or levels than a shape may have.
const TOO_MUCH: Code = Code("COL-036");

/// Name of the member that a list in a list gets.
pub(super) const ELEMENT: &str = "element";

/// Deepest nesting of structs and lists that is taken.
const DEPTH_MAX: usize = 64;

/// Builds the shape of rows with these columns: one node for each column, with the column's name.
///
/// # Errors
/// Types that are not read (`COL-034`), two members of one name (`COL-035`), and too many columns or levels (`COL-036`), all at once.
pub fn shape_of(schema: &Schema, limits: &Limits) -> Result<Shape, Findings> {
    let mut maker = Maker { shape: Shape::builder("row"), findings: Vec::new(), path: Vec::new(), columns: 0 };
    maker.members(schema.fields());
    if maker.columns > limits.columns_max {
        let message = format!("the file has {} columns, the limit is {}", maker.columns, limits.columns_max);
        let finding = Finding::error(TOO_MUCH, Fault::Sender, message);
        maker.findings.push(finding.hint("allow more with `--limit columns=N`"));
    }
    if maker.findings.is_empty() { Ok(maker.shape.finish()) } else { Err(Findings(maker.findings)) }
}

/// Shape of a column.
pub(super) enum Kind<'f> {
    Group(&'f Fields),
    /// A list of this.
    List(&'f Field),
    Leaf(Scalar),
}

/// Returns the shape of columns of this type; `None` for types that are not supported.
pub(super) fn kind(data_type: &DataType) -> Option<Kind<'_>> {
    let decimal = |digits: u16, scale: i16, signed| Kind::Leaf(Scalar::Decimal { digits, scale, signed });
    let text = || Kind::Leaf(Scalar::Text { chars_max: None });
    Some(match data_type {
        DataType::Struct(fields) => Kind::Group(fields),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => Kind::List(item),
        DataType::Dictionary(_, values) => match kind(values)? {
            Kind::Leaf(scalar) => Kind::Leaf(scalar),
            Kind::Group(_) | Kind::List(_) => return None,
        },
        DataType::Int8 => decimal(3, 0, true),
        DataType::Int16 => decimal(5, 0, true),
        // The number of digits that gives the same column again.
        DataType::Int32 => decimal(9, 0, true),
        DataType::Int64 => decimal(18, 0, true),
        DataType::UInt8 => decimal(3, 0, false),
        DataType::UInt16 => decimal(5, 0, false),
        DataType::UInt32 => decimal(10, 0, false),
        DataType::UInt64 => decimal(20, 0, false),
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => decimal((*digits).into(), (*scale).into(), true),
        DataType::Float16 | DataType::Float32 => Kind::Leaf(Scalar::Float32),
        DataType::Float64 => Kind::Leaf(Scalar::Float64),
        DataType::Boolean => Kind::Leaf(Scalar::Bool),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Kind::Leaf(Scalar::Bytes { len_max: None }),
        DataType::FixedSizeBinary(len) => Kind::Leaf(Scalar::Bytes { len_max: u32::try_from(*len).ok() }),
        DataType::Null
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Time32(_)
        | DataType::Time64(_) => text(),
        _ => return None,
    })
}

/// Returns the finding for a column whose type is not supported.
pub(super) fn not_read(path: String, data_type: &DataType) -> Finding {
    Finding::error(Code("COL-034"), Fault::Sender, format!("columns of type {data_type} are not read"))
        .at(Place { path: Some(path), ..Place::default() })
        .hint("cast the column to text or an integer, or leave it out, in the program that writes the file")
}

/// Builds the error for two columns with the same name, which values by name could not distinguish.
pub(super) fn same_name(path: String) -> Finding {
    Finding::error(SAME_NAME, Fault::Sender, "two columns have this name")
        .at(Place { path: Some(path), ..Place::default() })
        .hint("rename one of them in the program that writes the file")
}

struct Maker {
    shape: ShapeBuilder,
    findings: Vec<Finding>,
    path: Vec<String>,
    columns: usize,
}

impl Maker {
    fn members(&mut self, fields: &Fields) {
        let mut seen = HashSet::new();
        for field in fields {
            self.path.push(field.name().clone());
            if !seen.insert(field.name()) {
                self.findings.push(same_name(self.path.join(".")));
            }
            let occurs = if field.is_nullable() { Occurs::Optional } else { Occurs::Once };
            self.node(field.name(), field.data_type(), occurs);
            self.path.pop();
        }
    }

    fn node(&mut self, name: &str, data_type: &DataType, occurs: Occurs) {
        if self.path.len() > DEPTH_MAX {
            let message = format!("columns are nested more than {DEPTH_MAX} deep");
            let finding = Finding::error(TOO_MUCH, Fault::Sender, message);
            self.findings.push(finding.at(Place { path: Some(self.path.join(".")), ..Place::default() }));
            return;
        }
        match kind(data_type) {
            None => self.findings.push(not_read(self.path.join("."), data_type)),
            Some(Kind::Leaf(scalar)) => {
                self.columns += 1;
                // A leaf that is null is a value of its own: null in JSON, no cell in CSV.
                let occurs = if occurs == Occurs::Optional { Occurs::Once } else { occurs };
                self.shape.scalar(name, scalar, occurs);
            }
            Some(Kind::Group(fields)) => {
                self.shape.open(name, occurs);
                self.members(fields);
                self.shape.close();
            }
            Some(Kind::List(item)) => {
                let many = Occurs::Many { min: 0, max: None };
                match kind(item.data_type()) {
                    Some(Kind::List(_)) => {
                        self.shape.open(name, many);
                        self.path.push(ELEMENT.to_owned());
                        self.node(ELEMENT, item.data_type(), Occurs::Once);
                        self.path.pop();
                        self.shape.close();
                    }
                    _ => self.node(name, item.data_type(), many),
                }
            }
        }
    }
}
