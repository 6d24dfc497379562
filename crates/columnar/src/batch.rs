//! Columns as Arrow arrays.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::{ByteArrayType, GenericBinaryType, GenericStringType};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Float32Array, Float64Array,
    GenericByteArray, Int32Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use quayline_core::NodeId;

use crate::bytes_column::{BytesColumn, BytesValues};
use crate::error::ColumnError;
use crate::leaf::Store;
use crate::plan::{LeafKind, Plan};
use crate::sink::ColumnSink;
use crate::validity::Validity;

impl ColumnSink {
    /// Takes the rows so far as a batch; the sink is empty afterwards.
    ///
    /// # Errors
    /// [`ColumnError::DocumentOpen`] within a document; [`ColumnError::RefusalsNotTaken`] if a refusal was not taken.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ColumnError> {
        self.check_complete()?;
        let plan = Arc::clone(&self.plan);
        let mut fields = plan.schema.fields().iter();
        let mut arrays = Vec::new();
        self.members(&plan, NodeId::ROOT, &mut fields, &mut arrays)?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows()));
        let batch = RecordBatch::try_new_with_options(self.schema(), arrays, &options)?;
        self.clear();
        Ok(batch)
    }

    fn members(
        &self,
        plan: &Plan,
        group: NodeId,
        fields: &mut core::slice::Iter<'_, FieldRef>,
        arrays: &mut Vec<ArrayRef>,
    ) -> Result<(), ArrowError> {
        for &child in &plan.nodes[group.index()].children {
            let node = &plan.nodes[child.index()];
            if node.flattened {
                self.members(plan, child, fields, arrays)?;
                continue;
            }
            let field = fields.next().expect("the plan made a field for each column");
            if !node.list {
                arrays.push(self.elements(plan, child, field.data_type())?);
                continue;
            }
            let DataType::List(element) = field.data_type() else { unreachable!("the plan made a list field") };
            let ends = self.ends(child);
            let offsets = core::iter::once(0).chain(ends.iter().map(|end| end.cast_signed())).collect();
            let nulls = nulls(&self.lists[child.index()].validity, ends.len());
            let values = self.elements(plan, child, element.data_type())?;
            arrays.push(Arc::new(ListArray::try_new(Arc::clone(element), OffsetBuffer::new(offsets), values, nulls)?));
        }
        Ok(())
    }

    fn elements(&self, plan: &Plan, node: NodeId, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let len = self.count(node);
        if let Some(kind) = plan.nodes[node.index()].leaf {
            return self.leaf(node, kind, len);
        }
        let DataType::Struct(fields) = data_type else { unreachable!("the plan made a struct field") };
        let mut arrays = Vec::new();
        self.members(plan, node, &mut fields.iter(), &mut arrays)?;
        // For a list of groups, whose groups are never null, the same place holds the nulls of the list.
        let optional = plan.nodes[node.index()].optional;
        let nulls = if optional { nulls(&self.lists[node.index()].validity, len) } else { None };
        Ok(Arc::new(StructArray::try_new(Fields::clone(fields), arrays, nulls)?))
    }

    fn leaf(&self, node: NodeId, kind: LeafKind, len: usize) -> Result<ArrayRef, ArrowError> {
        let leaf = &self.leaves[node.index()];
        let nulls = nulls(&leaf.validity, len);
        let (precision, scale, integer) = match kind {
            LeafKind::Number { precision, integer, .. } => (precision.digits, precision.scale.cast_signed(), integer),
            _ => (1, 0, false),
        };
        let decimal = |values: Vec<i128>, nulls| -> Result<ArrayRef, ArrowError> {
            Ok(Arc::new(Decimal128Array::try_new(values.into(), nulls)?.with_precision_and_scale(precision, scale)?))
        };
        Ok(match &leaf.store {
            Store::Group => unreachable!("a leaf has a store"),
            Store::Int32(numbers) if kind.is_moment() => {
                Arc::new(Date32Array::try_new(scalars(&filled(&numbers.values, len)), nulls)?)
            }
            Store::Int64(numbers) if kind.is_moment() => {
                Arc::new(TimestampMicrosecondArray::try_new(scalars(&filled(&numbers.values, len)), nulls)?)
            }
            Store::Int32(numbers) if integer => {
                Arc::new(Int32Array::try_new(scalars(&filled(&numbers.values, len)), nulls)?)
            }
            Store::Int64(numbers) if integer => {
                Arc::new(Int64Array::try_new(scalars(&filled(&numbers.values, len)), nulls)?)
            }
            Store::Int32(numbers) => {
                decimal(filled(&numbers.values, len).iter().map(|n| (*n).into()).collect(), nulls)?
            }
            Store::Int64(numbers) => {
                decimal(filled(&numbers.values, len).iter().map(|n| (*n).into()).collect(), nulls)?
            }
            Store::Int128(numbers) => decimal(filled(&numbers.values, len).into_owned(), nulls)?,
            Store::Int256(numbers) => Arc::new(
                Decimal256Array::try_new(filled(&numbers.values, len).into_owned().into(), nulls)?
                    .with_precision_and_scale(precision, scale)?,
            ),
            Store::Float32(values) => Arc::new(Float32Array::try_new(scalars(&filled(values, len)), nulls)?),
            Store::Float64(values) => Arc::new(Float64Array::try_new(scalars(&filled(values, len)), nulls)?),
            Store::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(&*filled(values, len)), nulls)),
            Store::Text(column) => Arc::new(byte_array::<GenericStringType<i32>>(column, len, nulls)?),
            Store::Bytes(column) => Arc::new(byte_array::<GenericBinaryType<i32>>(column, len, nulls)?),
        })
    }
}

/// Returns `len` values, with placeholders for the nulls without a place.
fn filled<T: Copy + Default>(values: &[T], len: usize) -> Cow<'_, [T]> {
    values.get(..len).map_or_else(
        || {
            let mut all = values.to_vec();
            all.resize(len, T::default());
            all.into()
        },
        Cow::from,
    )
}

fn scalars<T: arrow_buffer::ArrowNativeType>(values: &[T]) -> ScalarBuffer<T> {
    ScalarBuffer::from(Buffer::from_slice_ref(values))
}

fn byte_array<T: ByteArrayType<Offset = i32>>(
    column: &BytesColumn,
    len: usize,
    nulls: Option<NullBuffer>,
) -> Result<GenericByteArray<T>, ArrowError> {
    let values = column.values(len);
    let (offsets, bytes) = match values {
        BytesValues::Plain { ends, bytes } => {
            let offsets: Vec<i32> = core::iter::once(0).chain(ends.iter().map(|end| end.cast_signed())).collect();
            (OffsetBuffer::new(offsets.into()), Buffer::from_slice_ref(bytes))
        }
        BytesValues::Interned { .. } => {
            let mut bytes = Vec::new();
            let mut lengths = Vec::with_capacity(len);
            for (at, value) in values.iter().enumerate() {
                let value = if nulls.as_ref().is_some_and(|nulls| nulls.is_null(at)) { &[] } else { value };
                bytes.extend_from_slice(value);
                lengths.push(value.len());
            }
            lengths.resize(len, 0);
            if bytes.len() > i32::MAX as usize {
                return Err(ArrowError::OffsetOverflowError(bytes.len()));
            }
            (OffsetBuffer::from_lengths(lengths), Buffer::from_vec(bytes))
        }
    };
    GenericByteArray::try_new(offsets, bytes, nulls)
}

fn nulls(validity: &Validity, len: usize) -> Option<NullBuffer> {
    validity.words(len).map(|words| NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, len)))
}
