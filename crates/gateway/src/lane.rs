//! One thread's way from request to record and from record to answer: the buffers and compiled loops of one operation.

use std::borrow::Cow;

use quayline_cobol::{Absent, FaultKind, NoteKind, RecordDecoder, RecordEncoder, RecordFault};
use quayline_core::{NodeId, Run, Sink, Value};
use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};
use quayline_xml::XmlWriter;

use crate::api::{Operation, Projection, ResponseBody, xml_style};
use crate::gate::{Gate, GateState, INEXACT, Numbers};
use crate::parameter::{ParameterPlace, set_parameter};
use crate::problem::{FieldError, Problem};
use crate::provider::{Held, Measure, Outgoing, ProviderSpec};
use crate::record_call::{Conditions, FileAction, PAGE_PARAMETERS, RecordCall, RecordCheck};
use crate::service::{RequestSide, Service};
use crate::shaping::{self, Shaping, ShapingState};
use crate::top_array::TopArray;
use crate::unread::Unread;
use crate::{codes, media_type, rule, uri};

/// The parts of an HTTP request that an operation uses.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The values of the path's parameters as matched, still percent-encoded.
    pub path_values: &'a [&'a str],
    /// The query, after `?`.
    pub query: &'a str,
    /// A header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The body, whole.
    pub body: &'a [u8],
    /// Media type of the body with its parameters, from the header.
    pub media_type: Option<&'a str>,
}

/// Form of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Media {
    /// `application/json`.
    Json,
    /// `application/xml`.
    Xml,
}

impl Media {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Xml => "application/xml",
        }
    }
}

/// Answer made from a record.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Form of the body; `None` for an answer without one.
    pub media: Option<Media>,
    /// The body is the first `len` bytes.
    pub buffer: Vec<u8>,
    /// Length of the body.
    pub len: usize,
    /// Values that the body shows otherwise than the record has them: null for a set text that is not a value of the field's type, the nearest double
    /// for a hexadecimal float with more bits, or spaces for control characters, as `control-characters` asks.
    pub replaced: u64,
}

/// The state of one operation on one thread.
#[derive(Debug)]
pub struct OperationLane {
    encoder: RecordEncoder,
    reader: JsonReader,
    gate: GateState,
    probe: Option<RecordDecoder>,
    /// The number of leading bytes that determine the length of an answer of varying length, and their decoder.
    length: Option<(usize, RecordDecoder)>,
    values: Vec<Vec<u8>>,
    /// Fields of requests that got the nearest float, since [`Self::take_rounded`].
    rounded: u64,
    responses: Vec<Option<ResponseLane>>,
    shaping: ShapingState,
}

#[derive(Debug)]
struct ResponseLane {
    decoder: RecordDecoder,
    json: JsonWriter,
    xml: Option<Box<XmlWriter>>,
}

impl OperationLane {
    /// Creates a lane for `operation`.
    #[must_use]
    pub fn new(operation: &Operation) -> Self {
        let request = &operation.service.request;
        OperationLane {
            encoder: match &operation.file {
                Some(file) if file.changes_a_part() => RecordEncoder::of_parts(&request.plan),
                _ => RecordEncoder::new(&request.plan),
            },
            reader: match operation.gate.numbers {
                Numbers::Json => JsonReader::new(&request.shape, ReaderOptions::default()).strict(),
                Numbers::Lenient => JsonReader::new(&request.shape, ReaderOptions::default()),
            },
            gate: GateState::default(),
            probe: operation.probe.as_ref().map(rule::Probe::decoder),
            length: operation.responses.iter().find_map(|response| match &response.body {
                ResponseBody::Answer(projection) => {
                    Some((projection.plan.length_front()?, RecordDecoder::new(&projection.plan)))
                }
                _ => None,
            }),
            values: Vec::new(),
            rounded: 0,
            responses: operation.responses.iter().map(|_| None).collect(),
            shaping: ShapingState::default(),
        }
    }

    /// Builds the record of a request.
    ///
    /// # Errors
    /// All faults of the request: 400 with an entry for each field, or 415.
    pub fn record<'a>(
        &'a mut self,
        operation: &'a Operation,
        request: &Request<'_>,
    ) -> Result<Outgoing<'a>, Box<Problem>> {
        let side = &operation.service.request;
        let OperationLane { encoder, reader, gate: state, rounded: count, .. } = self;
        state.begin(side.shape.len());
        let mut gate = Gate { rules: &operation.gate, shape: &side.shape, state, place: "body", sink: encoder };
        let unread = body(operation, request, reader, &mut gate)?;
        parameters(operation, request, &mut gate);
        for (node, value) in &operation.assigned {
            gate.place = "assigned";
            gate.set(*node, Value::Text(Run::from(value.as_bytes())));
        }
        gate.sink.leave(NodeId::ROOT);
        let rounded = rounded(side, &mut state.rounded, reader, encoder);
        let mut errors = core::mem::take(&mut state.errors);
        if operation.gate.rounds_floats {
            *count += rounded.len() as u64;
        } else {
            errors.extend(rounded.into_iter().map(|node| inexact(operation, node)));
        }
        if !operation.gate.required.is_empty() {
            errors.extend(unread.missing(&side.shape, &operation.gate.required, &state.seen, &errors));
        }
        let selected = selection_fault(operation, request.query);
        let taken = encoder.take();
        if let (Ok(record), true, None) = (&taken, errors.is_empty(), &selected) {
            return Ok(Outgoing { front: record, tail: &side.tail, tail_used: side.tail_used });
        }
        let array = operation.body.as_ref().and_then(|body| body.array.as_ref());
        for fault in taken.err().iter().flat_map(|faults| &faults.0) {
            let parameter =
                operation.parameters.iter().find(|p| format!("$.{}", side.shape.path(p.node)) == fault.path);
            let Some(path) = unread.place(fault) else { continue };
            errors.push(FieldError {
                place: parameter.map_or("body", |parameter| parameter.place.name()),
                field: parameter.map_or(path, |parameter| parameter.name.clone()),
                rule: fault.kind.code().to_string(),
                detail: fault.kind.to_string(),
            });
        }
        if let (Some(array), false) = (array, errors.is_empty()) {
            let of_body = errors.iter_mut().filter(|error| error.place == "body");
            of_body.for_each(|error| error.field = array.place(&error.field));
        }
        Err(Box::new(match selected {
            Some(fault) if errors.is_empty() => fault.alone(),
            fault => {
                errors.extend(fault.map(SelectionFault::entry));
                Problem::of_errors(errors)
            }
        }))
    }

    /// Returns the number of fields of requests that got the nearest float, as the service's `inexact-floats` asks, and resets it to 0.
    pub fn take_rounded(&mut self) -> u64 {
        core::mem::take(&mut self.rounded)
    }

    /// Builds the record file operation that a request demands, if the operation's service is a record file.
    ///
    /// # Errors
    /// Those of [`Self::record`], and invalid page parameters.
    pub fn record_call(
        &mut self,
        operation: &Operation,
        request: &Request<'_>,
        conditions: Conditions,
    ) -> Result<RecordCall, Box<Problem>> {
        let Some(file) = &operation.file else { return Err(Box::new(Problem::broken())) };
        let mut errors = Vec::new();
        let wrong = |errors: &mut Vec<FieldError>, field: &str, rule: &str, detail: String| {
            let field = field.to_owned();
            errors.push(FieldError { place: "query", field, rule: rule.to_owned(), detail });
        };
        let mut page = [None, None];
        if file.action == FileAction::Browse {
            for (name, value) in uri::pairs(request.query) {
                let name = uri::decode_query(name);
                if let Some(at) = PAGE_PARAMETERS.iter().position(|known| name.as_deref() == Some(*known)) {
                    page[at] = uri::decode_query(value);
                }
            }
        }
        let [limit, after] = page;
        let count = match limit.as_deref().map(str::parse) {
            None => file.page.0,
            Some(Ok(count)) if (1..=file.page.1).contains(&count) => count,
            Some(_) => {
                wrong(&mut errors, "limit", "range", format!("expected 1 to {}", file.page.1));
                0
            }
        };
        let mut record = match self.record(operation, request) {
            Ok(record) => record.to_vec(),
            Err(mut problem) => {
                if !problem.errors.is_empty() && !errors.is_empty() {
                    problem.errors.append(&mut errors);
                    *problem = Problem::of_errors(problem.errors);
                }
                return Err(problem);
            }
        };
        let key = file.key_of(&record, &self.gate.seen).unwrap_or_else(|missing| {
            let parameter = operation.parameters.iter().find(|parameter| parameter.node == missing);
            let name = parameter.map_or_else(|| file.key.field.clone(), |parameter| parameter.name.clone());
            wrong(&mut errors, &name, "required", "a later part of the key is given, so this one is needed".to_owned());
            Vec::new()
        });
        let after = after.filter(|_| errors.is_empty()).and_then(|token| {
            let place = file.place_of(&key, &token);
            if place.is_none() {
                let expected = "expected `next` of the previous page of the same request; to start again, omit `after`";
                wrong(&mut errors, "after", "type", expected.to_owned());
            }
            place
        });
        if !errors.is_empty() {
            return Err(Box::new(Problem::of_errors(errors)));
        }
        if file.action == FileAction::Update {
            let removed = file.places.iter().filter(|(node, _)| self.gate.removed[node.index()]);
            let faults = removed.filter_map(|(node, place)| not_removed(operation, *node, &record[place.clone()]));
            errors.extend(faults.take(50));
            if !errors.is_empty() {
                return Err(Box::new(Problem::of_errors(errors)));
            }
        }
        let sets = |node: NodeId| {
            let seen = self.gate.seen.get(node.index()).copied().unwrap_or(false);
            // RFC 7396: null removes a member. The record holds its initial value.
            let removed = file.action == FileAction::Update && self.gate.removed[node.index()];
            seen || removed || file.action == FileAction::Replace && !operation.gate.closed[node.index()]
        };
        let mut changed = (!file.slides && file.action != FileAction::Insert).then(|| {
            let set = file.places.iter().filter(|(node, _)| sets(*node));
            let bytes = |(node, place)| file.parted.get(node).map_or(std::slice::from_ref(place), Vec::as_slice);
            set.map(|(node, place)| (node, place)).flat_map(bytes).cloned().collect::<Vec<_>>()
        });
        if let Some(changed) = changed.as_mut().filter(|_| file.action.takes_body()) {
            let mut errors = Vec::new();
            for counter in &file.counters {
                match counter.set_with(sets) {
                    Ok(place) => changed.extend(place),
                    Err(list) => errors.push(FieldError {
                        place: "body",
                        field: format!("$.{}", operation.service.request.shape.path(list)),
                        rule: "required".to_owned(),
                        detail: "the request changes the counter of this list, so it needs the list too".to_owned(),
                    }),
                }
            }
            if !errors.is_empty() {
                return Err(Box::new(Problem::of_errors(errors)));
            }
        }
        let check = (file.has_views && file.action.takes_body()).then(|| {
            // The encoder has checked the views of a whole record.
            let is_part = file.changes_a_part();
            let nodes = operation.service.request.shape.iter().map(|(node, _)| node).filter(|_| is_part);
            let answers = operation.responses.iter().map(|response| &response.body);
            RecordCheck {
                request: operation.service.request.plan.clone(),
                given: nodes.filter(|node| self.gate.seen[node.index()]).collect(),
                answer: answers.into_iter().find_map(|body| match body {
                    ResponseBody::Answer(projection) => Some(projection.plan.clone()),
                    _ => None,
                }),
            }
        });
        if !file.action.takes_body() {
            record.clear();
        }
        Ok(RecordCall {
            action: file.action,
            index: file.index.clone(),
            key,
            matching: file.matching,
            record,
            changed,
            measure: (file.action == FileAction::Replace).then(|| file.measure.clone()).flatten(),
            check,
            conditions,
            count,
            after,
        })
    }

    /// Writes a page of the records of a key as JSON: `items`, and `next` if another page follows. `buffer` is reused.
    ///
    /// # Errors
    /// Those of [`Self::answer`]; 406 for a media type other than JSON.
    pub fn page(
        &mut self,
        operation: &Operation,
        (key, records, next): (&[u8], Vec<Vec<u8>>, Option<Vec<u8>>),
        media: Media,
        fields: Option<&str>,
        buffer: Vec<u8>,
    ) -> Result<Answer, Box<Problem>> {
        if media == Media::Xml {
            return Err(Box::new(no_form("a page of records has no XML form")));
        }
        let mut page = b"{\"items\":[".to_vec();
        let (mut status, mut buffer, mut replaced) = (200, buffer, 0);
        for (at, mut record) in records.into_iter().enumerate() {
            if at > 0 {
                page.push(b',');
            }
            let answer = self.answer(operation, &mut record, media, fields, buffer)?;
            page.extend_from_slice(&answer.buffer[..answer.len]);
            (status, buffer) = (answer.status, answer.buffer);
            replaced += answer.replaced;
        }
        page.push(b']');
        if let (Some(next), Some(file)) = (next, &operation.file) {
            // Letters and digits: nothing in it needs an escape.
            page.extend_from_slice(format!(",\"next\":\"{}\"", file.token(key, &next)).as_bytes());
        }
        page.push(b'}');
        let len = page.len();
        Ok(Answer { status, media: Some(media), buffer: page, len, replaced })
    }

    /// Takes the record that a provider holds, limited to the length that its counts give.
    pub fn take(&mut self, held: Box<dyn Held>, record: &mut Vec<u8>) {
        match &mut self.length {
            Some((front, decoder)) => {
                let mut length = |front: &[u8]| decoder.length(front);
                held.take(Some(Measure { front: *front, length: &mut length }), record);
            }
            None => held.take(None, record),
        }
    }

    /// Returns the answer for a provider's record, which is not changed. `fields` is the client's selection; `buffer` is reused.
    ///
    /// # Errors
    /// 502 if the record is not one of the service or fits no response.
    pub fn answer(
        &mut self,
        operation: &Operation,
        record: &mut Vec<u8>,
        media: Media,
        fields: Option<&str>,
        buffer: Vec<u8>,
    ) -> Result<Answer, Box<Problem>> {
        let unreadable = match (&operation.probe, &mut self.probe) {
            (Some(probe), Some(decoder)) => probe.values(decoder, record, &mut self.values),
            _ => Vec::new(),
        };
        let conditions = operation.responses.iter().map(|response| &response.when[..]);
        let chosen = rule::choose(conditions, &self.values, &unreadable);
        let Some(index) = chosen.map_err(|faults| misfit(&operation.service, &faults))? else {
            return Err(Box::new(Problem::new(
                502,
                codes::NO_RULE,
                "no response of the API fits the service's answer",
            )));
        };
        let response = &operation.responses[index];
        let projection = match &response.body {
            ResponseBody::None => {
                return Ok(Answer { status: response.status, media: None, buffer, len: 0, replaced: 0 });
            }
            ResponseBody::Problem { detail } => {
                return Err(Box::new(Problem::new(response.status, codes::ANSWERED, detail.clone())));
            }
            ResponseBody::Answer(projection) => projection,
        };
        let wanted = fields.map(|asked| shaping::wanted(&projection.shape, asked));
        // What an answer that could not be read has left is not about this one, which may have nothing to shape.
        (self.shaping.short, self.shaping.replaced) = (None, 0);
        // The provider has done its work: JSON tells the client what became of it, and 406 would not (RFC 9110, section 12.4.1).
        let media = if projection.xml { media } else { Media::Json };
        let lane = self.responses[index].get_or_insert_with(|| ResponseLane::new(projection));
        let done = match media {
            Media::Json => lane.json(projection, record, wanted.as_deref(), &mut self.shaping, buffer),
            Media::Xml => lane.xml(projection, record, wanted.as_deref(), &mut self.shaping, buffer),
        };
        let (mut buffer, mut len) = done.map_err(|faults| misfit(&operation.service, &faults.0))?;
        if let Some((node, min)) = self.shaping.short.take() {
            let path =
                projection.plan.field_of(node).map(|field| projection.plan.layout().path(field)).unwrap_or_default();
            let note = format!("{path} has fewer elements than {min}");
            let mut problem = Problem::new(502, codes::BAD_ANSWER, "the service's answer does not fit its copybook");
            problem.errors.push(FieldError {
                place: "answer",
                field: path,
                rule: "minItems".to_owned(),
                detail: format!("the list has fewer elements than the copybook's minimum, {min}"),
            });
            return Err(Box::new(problem.logged(note)));
        }
        if let Some(array) = &projection.array {
            len = array.unwrapped(&mut buffer, len);
        }
        let rounded = lane.decoder.notes().iter().filter(|note| note.kind == NoteKind::Rounded).count() as u64;
        let replaced = core::mem::take(&mut self.shaping.replaced) + rounded;
        Ok(Answer { status: response.status, media: Some(media), buffer, len, replaced })
    }
}

/// Returns the float fields of a request whose numbers have more digits than they keep, each once.
fn rounded(
    side: &RequestSide,
    of_parameters: &mut Vec<NodeId>,
    reader: &mut JsonReader,
    encoder: &RecordEncoder,
) -> Vec<NodeId> {
    let mut nodes = core::mem::take(of_parameters);
    nodes.extend(reader.take_rounded());
    let fields =
        encoder.notes().iter().filter(|note| note.kind == NoteKind::NearestFloat).filter_map(|note| note.field);
    for field in fields {
        nodes.extend(side.shape.iter().map(|(node, _)| node).find(|node| side.plan.field_of(*node) == Some(field)));
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Returns the error of a float field that does not keep its number.
#[cold]
fn inexact(operation: &Operation, node: NodeId) -> FieldError {
    let (rule, detail) = (NoteKind::NearestFloat.code().to_string(), INEXACT.to_owned());
    match operation.parameters.iter().find(|parameter| parameter.node == node) {
        Some(parameter) => FieldError { place: parameter.place.name(), field: parameter.name.clone(), rule, detail },
        None => FieldError {
            place: "body",
            field: format!("$.{}", operation.service.request.shape.path(node)),
            rule,
            detail,
        },
    }
}

/// Returns the error of a member that an update must not remove: the request does not set it, or the service defines no initial value, which is
/// low-values.
fn not_removed(operation: &Operation, node: NodeId, initial: &[u8]) -> Option<FieldError> {
    let service = &operation.service;
    let detail = if operation.gate.closed[node.index()] {
        "this member is not part of the request"
    } else if service.policies.absent == Absent::LowValues && initial.iter().all(|byte| *byte == 0) {
        "expected a value: the service defines no initial value for this member"
    } else {
        return None;
    };
    let field = format!("$.{}", service.request.shape.path(node));
    Some(FieldError { place: "body", field, rule: "null".to_owned(), detail: detail.to_owned() })
}

/// Returns the problem of an answer that does not fit its copybook.
#[cold]
fn misfit(service: &Service, faults: &[RecordFault]) -> Box<Problem> {
    // A separate record of requests precedes that of answers.
    let front = service.request_length.unwrap_or(0);
    let faults: Vec<_> = faults.iter().cloned().map(|fault| without_front(fault, front)).collect();
    let mut note = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let is_unset = matches!(service.provider, ProviderSpec::Program(_))
        && service.policies.absent == Absent::LowValues
        && faults.iter().any(|fault| fault.kind == FaultKind::LowValues);
    if is_unset {
        note.push_str(UNSET_FIELDS);
    }
    let mut problem = Problem::new(502, codes::BAD_ANSWER, "the service's answer does not fit its copybook");
    let entry = |fault: &RecordFault| FieldError {
        place: "answer",
        field: fault.path.clone(),
        rule: fault.kind.code().to_string(),
        detail: fault.kind.to_string(),
    };
    problem.errors = faults.iter().map(entry).collect();
    Box::new(problem.logged(note))
}

/// Returns a fault whose lengths and offset count the bytes from `front` on.
fn without_front(mut fault: RecordFault, front: usize) -> RecordFault {
    fault.offset = fault.offset.saturating_sub(front);
    match &mut fault.kind {
        FaultKind::ShortRecord { found, need: other } | FaultKind::LongRecord { found, expected: other } => {
            (*found, *other) = (found.saturating_sub(front), other.saturating_sub(front));
        }
        _ => {}
    }
    fault
}

/// Cause of numbers of low-values in an answer, for the log.
const UNSET_FIELDS: &str = "; fields that the program does not set hold 0x00: set them in the program, or write `initialize = \"initial\"` under [options] of the service";

impl ResponseLane {
    fn new(projection: &Projection) -> Self {
        ResponseLane {
            decoder: RecordDecoder::new(&projection.plan),
            json: JsonWriter::new(&projection.shape, JsonStyle::default()),
            xml: None,
        }
    }

    fn json(
        &mut self,
        projection: &Projection,
        record: &mut Vec<u8>,
        wanted: Option<&[bool]>,
        state: &mut ShapingState,
        buffer: Vec<u8>,
    ) -> Result<(Vec<u8>, usize), quayline_cobol::RecordFaults> {
        let writer = &mut self.json;
        let done = if wanted.is_none() && projection.rules.is_plain() {
            self.decoder.decode_in_place(record, writer)
        } else {
            let mut shaping = Shaping { rules: &projection.rules, state, wanted, sink: writer };
            self.decoder.decode_in_place(record, &mut shaping)
        };
        if let Err(faults) = done {
            self.json.discard();
            self.json.clear();
            return Err(faults);
        }
        let (buffer, len) = self.json.exchange(buffer);
        // Without the line feed that ends a line of JSON lines.
        Ok((buffer, len.saturating_sub(1)))
    }

    fn xml(
        &mut self,
        projection: &Projection,
        record: &mut Vec<u8>,
        wanted: Option<&[bool]>,
        state: &mut ShapingState,
        mut buffer: Vec<u8>,
    ) -> Result<(Vec<u8>, usize), quayline_cobol::RecordFaults> {
        let writer = self.xml.get_or_insert_with(|| {
            Box::new(
                XmlWriter::new(&projection.shape, xml_style()).expect("the projection was found to have an XML form"),
            )
        });
        writer.clear();
        writer.begin();
        let mut shaping = Shaping { rules: &projection.rules, state, wanted, sink: &mut **writer };
        let done = self.decoder.decode_in_place(record, &mut shaping);
        if let Err(faults) = done {
            writer.discard();
            writer.clear();
            return Err(faults);
        }
        writer.end();
        buffer.clear();
        buffer.extend_from_slice(writer.bytes());
        let len = buffer.len();
        Ok((buffer, len))
    }
}

/// Computes a strong validator (ETag) of an answer's content (RFC 9110, section 8.8.3).
#[must_use]
pub fn etag(body: &[u8]) -> String {
    format!("\"{:032x}\"", xxhash_rust::xxh3::xxh3_128(body))
}

/// Reads the body of a request into the gate, up to the end of the root. Faults of single values are in the gate's state.
///
/// # Errors
/// A body that the operation does not take or that is missing, and a media type that it does not take.
fn body<S: Sink>(
    operation: &Operation,
    request: &Request<'_>,
    reader: &mut JsonReader,
    gate: &mut Gate<'_, S>,
) -> Result<Unread, Box<Problem>> {
    let Some(body) = operation.body.as_ref().filter(|_| !request.body.is_empty()) else {
        gate.enter(NodeId::ROOT);
        if operation.body.as_ref().is_some_and(|body| body.required) {
            return Err(Box::new(Problem::new(400, codes::BODY, "the request has no body")));
        }
        if !request.body.is_empty() {
            return Err(Box::new(Problem::new(400, codes::BODY, "the operation takes no body")));
        }
        return Ok(Unread::default());
    };
    if let Err(why) = media_type::check(request.media_type, &operation.method) {
        return Err(Box::new(Problem::new(415, codes::MEDIA_TYPE, why.detail())));
    }
    let wrapped = match body.array.as_ref().map(|array| array.wrapped(request.body)) {
        Some(None) => {
            gate.enter(NodeId::ROOT);
            let (field, rule, detail) = ("$".to_owned(), "type".to_owned(), "expected an array".to_owned());
            gate.state.errors.push(FieldError { place: "body", field, rule, detail });
            return Ok(Unread::whole());
        }
        Some(wrapped) => wrapped,
        None => None,
    };
    let in_front = body.array.as_ref().map_or(0, TopArray::column);
    let Err(fault) = reader.read(wrapped.as_deref().unwrap_or(request.body), gate) else {
        return Ok(Unread::default());
    };
    // The values that were read stay in the record, so that the encoder finds their faults too.
    let unread = Unread::of(&fault);
    unread.without_short_lists(&mut gate.state.errors);
    gate.state.errors.extend(fault.problems.iter().map(|problem| {
        let moved = if problem.line == 1 { in_front } else { 0 };
        let column = usize::try_from(problem.column).unwrap_or(usize::MAX).saturating_sub(moved);
        FieldError {
            place: "body",
            field: problem.path.clone(),
            rule: problem.error.code().to_string(),
            detail: format!("{} (line {}, column {column})", problem.error, problem.line),
        }
    }));
    Ok(unread)
}

/// A `fields` that names a member which no response has.
struct SelectionFault(String);

impl SelectionFault {
    fn alone(self) -> Problem {
        let mut problem = Problem::new(400, codes::FIELDS, format!("`fields`: {}", self.0));
        problem.errors.push(self.entry());
        problem
    }

    fn entry(self) -> FieldError {
        let (field, rule) = (FIELDS_PARAMETER.to_owned(), codes::FIELDS.to_owned());
        FieldError { place: "query", field, rule, detail: self.0 }
    }
}

/// Checks the members that a request selects against all responses of the operation. The provider has not been called yet: afterwards, a client
/// would have to repeat a request that was performed.
fn selection_fault(operation: &Operation, query: &str) -> Option<SelectionFault> {
    let asked = asked_fields(operation, query)?;
    // The answer to a message without a reply has one member.
    let is_put = operation.is_put();
    if is_put && asked == "messageId" {
        return None;
    }
    let shapes = operation.answers().filter(|_| !is_put).map(|projection| &*projection.shape);
    shaping::fields_fault(shapes, &asked).map(SelectionFault)
}

/// Checks before the call that an operation has an answer of the form that the client accepts.
///
/// # Errors
/// 406 if no response of the operation has an XML form.
pub fn check_form(operation: &Operation, media: Media) -> Result<(), Box<Problem>> {
    if media == Media::Json {
        return Ok(());
    }
    if operation.file_action() == Some(FileAction::Browse) {
        return Err(Box::new(no_form("a page of records has no XML form")));
    }
    let has_answers = operation.answers().next().is_some();
    if has_answers && operation.answers().all(|projection| !projection.xml) {
        return Err(Box::new(no_form("no response of this operation has an XML form")));
    }
    Ok(())
}

fn no_form(detail: &str) -> Problem {
    Problem::new(406, codes::NOT_ACCEPTABLE, detail)
}

/// Sets the fields of the parameters.
fn parameters<S: Sink>(operation: &Operation, request: &Request<'_>, gate: &mut Gate<'_, S>) {
    let mut given: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    let error = |state: &mut GateState, place: &'static str, field: &str, rule: &str, detail: String| {
        let field = shaping::shown(field);
        state.errors.push(FieldError { place, field, rule: rule.to_owned(), detail });
    };
    // Each is compared with all before it, so their number has a bound of its own.
    const PAIRS_MAX: usize = 100;
    // At least this many take two bytes each.
    let crowded = request.query.len() > 2 * PAIRS_MAX && uri::pairs(request.query).nth(PAIRS_MAX).is_some();
    if crowded {
        error(gate.state, "query", "", "number", format!("the query has more than {PAIRS_MAX} parameters"));
    }
    let browses = operation.file_action() == Some(FileAction::Browse);
    let pages = |name: &str| browses && PAGE_PARAMETERS.contains(&name);
    for (name, value) in uri::pairs(request.query).take(if crowded { 0 } else { PAIRS_MAX }) {
        let (Some(name), Some(value)) = (uri::decode_query(name), uri::decode_query(value)) else {
            error(gate.state, "query", "", "encoding", "a name or value is not percent-encoded UTF-8".to_owned());
            continue;
        };
        let known = operation.parameters.iter().any(|p| p.place == ParameterPlace::Query && p.name == name);
        let is_ignored = !known && name != FIELDS_PARAMETER && !pages(&name);
        if is_ignored && operation.ignore_unknown {
            continue;
        }
        if given.iter().any(|(other, _)| *other == name) {
            error(gate.state, "query", &name, "once", "the parameter occurs twice".to_owned());
        } else if is_ignored {
            error(gate.state, "query", &name, "unknown", "the operation has no such parameter".to_owned());
        }
        given.push((name, value));
    }
    let mut path_values = operation.segments.iter().filter_map(|segment| match segment {
        crate::api::Segment::Parameter(index) => Some(*index),
        crate::api::Segment::Text(_) => None,
    });
    let mut from_path: Vec<(usize, Cow<'_, str>)> = Vec::new();
    for value in request.path_values {
        let Some(index) = path_values.next() else { break };
        match uri::decode_path(value) {
            Some(value) => from_path.push((index, value)),
            None => error(
                gate.state,
                "path",
                &operation.parameters[index].name,
                "encoding",
                "the value is not percent-encoded UTF-8".to_owned(),
            ),
        }
    }
    for (index, parameter) in operation.parameters.iter().enumerate() {
        let place = parameter.place.name();
        let value: Option<&str> = match parameter.place {
            ParameterPlace::Query => {
                given.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| value.as_ref())
            }
            ParameterPlace::Path => from_path.iter().find(|(at, _)| *at == index).map(|(_, value)| value.as_ref()),
            ParameterPlace::Header => (request.header)(&parameter.name),
        };
        let Some(value) = value.or(parameter.default.as_deref()) else {
            if parameter.required {
                error(gate.state, place, &parameter.name, "required", "the parameter is missing".to_owned());
            }
            continue;
        };
        gate.place = place;
        if let Err((rule, detail)) = set_parameter(parameter, value, gate) {
            error(gate.state, place, &parameter.name, rule, detail);
        }
    }
}

/// The parameter that selects members of the answer.
pub(crate) const FIELDS_PARAMETER: &str = "fields";

/// Returns the members that a request selects.
#[must_use]
pub fn asked_fields(operation: &Operation, query: &str) -> Option<String> {
    if query.is_empty() || has_own_fields(operation) {
        return None;
    }
    let is_fields = |name: &str| uri::decode_query(name).as_deref() == Some(FIELDS_PARAMETER);
    let (_, value) = uri::pairs(query).find(|(name, _)| is_fields(name))?;
    uri::decode_query(value).map(Cow::into_owned)
}

/// Returns whether the operation has its own query parameter `fields`, so that requests cannot select members.
pub(crate) fn has_own_fields(operation: &Operation) -> bool {
    operation.parameters.iter().any(|p| p.place == ParameterPlace::Query && p.name == FIELDS_PARAMETER)
}
