//! An API file to an API.

use std::path::Path;
use std::sync::Arc;

use quayline_cobol::layout::{Encoding, FieldIndex, FieldKind};
use quayline_cobol::{Absent, BadValue, FieldRule, Interface, RecordPlan};
use quayline_core::{Fault, Finding, Findings, NodeId, NodeKind, Severity};
use quayline_project::UserFile;
use toml::Spanned;

use super::location::Location;
use super::wire::Plain;
use super::{Api, Body, Compression, Operation, Projection, Response, ResponseBody, Segment, wire, xml_style};
use crate::about::About;
use crate::codes;
use crate::gate::GateRules;
use crate::parameter::{Parameter, ParameterPlace, assigned_fits, value_fits};
use crate::provider::ProviderSpec;
use crate::record_call::FileAction;
use crate::rule::{Condition, Probe, Test};
use crate::service::{Service, named_field, typed_shape};
use crate::shaping::ShapingRules;
use crate::top_array::TopArray;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

impl Api {
    /// Compiles an API file's text against the project's services.
    ///
    /// # Errors
    /// All findings at once.
    pub fn compile(name: &str, text: &str, services: &[Arc<Service>]) -> Result<Api, Findings> {
        let mut file = UserFile::new(name, text);
        let wire: wire::File = file.parse(codes::SYNTAX, "docs/reference/gateway.md")?;
        let stem = Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let api_name = wire.name.as_ref().map_or(stem, |name| name.get_ref().clone());
        let base_path = wire.base_path.get_ref().trim_end_matches('/').to_owned();
        if !base_path.is_empty() && !base_path.starts_with('/') || base_path.contains(['{', '?', '#']) {
            file.find(
                codes::PATH,
                "a base path begins with `/` and has no parameters",
                &wire.base_path,
                "write for example `/car100`",
            );
        }
        find_unreachable(&mut file, &wire.base_path);
        if wire.public && wire.roles.is_some() {
            file.find(codes::RULES, "the API is public and has roles", &wire.base_path, "remove `public` or `roles`");
        }
        let roles = wire.operations.iter().map(|operation| &operation.get_ref().roles);
        if roles.chain([&wire.roles]).any(|roles| roles.as_ref().is_some_and(Vec::is_empty)) {
            let hint = "name at least one, or leave `roles` out for everybody who is authenticated";
            file.find(codes::RULES, "`roles` is an empty list, so no client may call", &wire.base_path, hint);
        }
        if wire.operations.is_empty() {
            file.find(codes::INCOMPLETE, "the API has no operation", &wire.base_path, "add `[[operation]]`");
        }
        if let Some((at, (message, hint))) = wire.license.as_ref().and_then(|at| Some((at, at.get_ref().wrong()?))) {
            file.find(codes::VALUE, message, at, hint);
        }
        let mut api = Api {
            title: wire.title.clone().unwrap_or_else(|| api_name.clone()),
            name: api_name,
            version: wire.version.clone().unwrap_or_else(|| "1.0.0".to_owned()),
            description: wire.description.clone(),
            about: About {
                terms_of_service: wire.terms_of_service.clone(),
                contact: wire.contact.clone(),
                license: wire.license.as_ref().map(|license| license.get_ref().clone()).unwrap_or_default(),
                servers: wire.servers.clone(),
                tags: wire.tag.clone(),
            },
            base_path,
            etag: wire.etag,
            compression: match wire.compression {
                wire::Compression::Auto => Compression::Auto,
                wire::Compression::Off => Compression::Off,
                wire::Compression::Always => Compression::Always,
            },
            public: wire.public,
            roles: wire.roles.clone(),
            operations: Vec::new(),
            warnings: Vec::new(),
            at: file.text.place(&wire.base_path.span()),
        };
        let mut operations: Vec<Operation> = Vec::new();
        for operation in &wire.operations {
            let mut compiler = Compiler { file: &mut file, wire: &wire, api: &api };
            operations.extend(compiler.operation(operation, services));
        }
        for index in 0..operations.len() {
            operations[index].location = Location::of(&operations[index], &operations);
        }
        api.operations = operations.into_iter().map(Arc::new).collect();
        if file.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(file.findings));
        }
        api.warnings = file.findings;
        Ok(api)
    }
}

pub(super) struct Compiler<'a> {
    pub(super) file: &'a mut UserFile,
    wire: &'a wire::File,
    api: &'a Api,
}

impl Compiler<'_> {
    fn operation(&mut self, at: &Spanned<wire::Operation>, services: &[Arc<Service>]) -> Option<Operation> {
        let wire = at.get_ref();
        let method = wire.method.get_ref().to_ascii_uppercase();
        if !METHODS.contains(&method.as_str()) {
            self.file.find(
                codes::VALUE,
                format!("`{method}` is not a method of an API"),
                &wire.method,
                format!("write one of {}", METHODS.join(", ")),
            );
        }
        let found = services.iter().position(|service| service.name == *wire.service.get_ref());
        let Some(service_index) = found else {
            let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
            let message = format!("there is no service `{}`", wire.service.get_ref());
            let hint = match names.as_slice() {
                [] => "write it: `quayline service new COPYBOOK -o services/NAME.toml` makes a proposal".to_owned(),
                names => format!("the services are {}", names.join(", ")),
            };
            self.file.find(codes::NO_SUCH, message, &wire.service, hint);
            return None;
        };
        let service = Arc::clone(&services[service_index]);
        let request = Arc::clone(&service.request);
        let mut gate = GateRules::new(&request.plan, request.typed.clone(), service.options);
        let mut parameters: Vec<Parameter> = Vec::new();
        for parameter in &wire.parameters {
            if let Some(compiled) = self.parameter(parameter, &service, &mut gate) {
                if parameters.iter().any(|other| (other.place, &other.name) == (compiled.place, &compiled.name)) {
                    let name = &parameter.get_ref().name;
                    self.file.find(codes::TWICE, "two parameters have this name", name, "rename one of them");
                }
                parameters.push(compiled);
            }
        }
        let path = format!("{}{}", self.api.base_path, wire.path.get_ref());
        let segments = self.segments(&wire.path, &path, &parameters)?;
        let mut assigned = Vec::new();
        for (name, value) in &wire.assign {
            let Some(node) = self.request_node(&service, name) else { continue };
            if gate.closed[node.index()] {
                self.file.find(codes::TWICE, "a parameter sets this field already", name, "keep one of them");
            }
            gate.closed[node.index()] = true;
            let text = Plain::text(value, &self.file.text);
            if let Err(why) = assigned_fits(&request, &gate, node, &text) {
                let message = format!("`{}` does not take this value: {why}", name.get_ref());
                self.file.find(codes::VALUE, message, value, "write a value that the field takes");
            }
            assigned.push((node, text));
        }
        for (compiled, parameter) in parameters.iter().zip(&wire.parameters) {
            let wire = parameter.get_ref();
            let (default, example) = (&compiled.default, &compiled.example);
            for (what, at, value) in [("default", &wire.default, default), ("example", &wire.example, example)] {
                let why = value.as_ref().and_then(|value| value_fits(&request, &gate, compiled, value).err());
                if let (Some(at), Some(why)) = (at, why) {
                    let message = format!("the {what} of `{}` is not a value that it may have: {why}", compiled.name);
                    self.file.find(codes::VALUE, message, at, "write a value that requests may send too");
                }
            }
        }
        for (compiled, parameter) in parameters.iter().zip(&wire.parameters) {
            self.may_hold_low_values(parameter, compiled, &service);
        }
        let mut omitted: Vec<(NodeId, &Spanned<String>)> = Vec::new();
        for name in &wire.omit {
            for node in self.request_nodes(&service, name) {
                if !gate.closed[node.index()] {
                    omitted.push((node, name));
                }
                gate.closed[node.index()] = true;
            }
        }
        let mut body = wire.body.as_ref().map(|body| Body { required: body.get_ref().required, array: None });
        let file = self.file_operation(at, &method, &path, &service, &parameters, &mut gate, &mut body);
        // Where a record is looked for, its members are no part of the request.
        let is_new = file.as_ref().is_none_or(|file| matches!(file.action, FileAction::Insert | FileAction::Replace));
        for field in service.required.iter().filter(|_| is_new) {
            match request.plan.node_of(*field) {
                Some(node) if gate.required.contains(&node) => {}
                Some(node) => {
                    if let Some((_, name)) = omitted.iter().find(|(closed, _)| *closed == node) {
                        let path = service.layout.path(*field);
                        let message =
                            format!("the service requires {path}, and no request of this operation can have it");
                        let hint = "remove it from `omit`, give it a value in `assign`, or do not require it";
                        self.file.find(codes::RULES, message, *name, hint);
                    }
                    gate.required.push(node);
                }
                None => {
                    let message =
                        format!("the required field {} is not part of the request", service.layout.path(*field));
                    self.file.find(
                        codes::RULES,
                        message,
                        at,
                        "include it in the service's request, or do not require it",
                    );
                }
            }
        }
        if let (Some(at), Some(body)) = (wire.body.as_ref().filter(|body| body.get_ref().array), &mut body) {
            body.array = TopArray::of(&request.shape, |node| !gate.closed[node.index()]);
            if body.array.is_none() {
                let message = "the body is to be an array, but requests do not show one list alone";
                let hint = "exclude the other fields in [request] of the service, or name them in `omit`, `assign` or a parameter; name the counter of the list in `omit` too";
                self.file.find(codes::RULES, message, at, hint);
            }
        }
        let (probe, mut responses) = self.responses(at, &service, file.as_ref().map(|file| file.action))?;
        self.accepted(&service, &mut responses);
        if let (Some(file), Some(first)) = (&file, wire.responses.first()) {
            self.response_of_file(file.action, first, wire.responses.len());
        }
        let id = wire.id.as_ref().map_or_else(|| default_id(&method, &path), |id| id.get_ref().clone());
        let roles = wire.roles.clone().or_else(|| self.wire.roles.clone());
        Some(Operation {
            id,
            public: self.wire.public && wire.roles.is_none(),
            method,
            path,
            summary: wire.summary.clone(),
            description: wire.description.clone(),
            tags: wire.tags.clone().unwrap_or_else(|| self.wire.tags.clone()),
            roles,
            etag: self.api.etag,
            compression: self.api.compression,
            service,
            service_index,
            segments,
            parameters,
            ignore_unknown: matches!(self.wire.unknown_parameters, wire::Unknown::Ignore),
            body,
            assigned,
            gate,
            probe,
            responses,
            file,
            location: None,
            at: self.file.text.place(&at.span()),
        })
    }

    /// Reports responses that the action on a record file cannot give.
    fn response_of_file(&mut self, action: FileAction, first: &Spanned<wire::Response>, count: usize) {
        let (message, form, hint) = match action {
            FileAction::Browse => {
                ("a browse has one response", wire::BodyKind::Answer, "a page has records of all kinds")
            }
            FileAction::Delete => ("a delete has one response", wire::BodyKind::None, "the record no longer exists"),
            _ => return,
        };
        if count > 1 || !first.get_ref().when.is_empty() {
            self.file.find(codes::RULES, message, first, format!("keep one response without `when`: {hint}"));
        } else if first.get_ref().body != form
            && !(form == wire::BodyKind::None && matches!(first.get_ref().status.get_ref(), 204 | 205))
        {
            let (message, remedy) = match form {
                wire::BodyKind::None => ("the answer to a delete has no body", "write `body = \"none\"`"),
                _ => ("the answer to a browse is a page of records", "write `body = \"answer\"`, or leave `body` out"),
            };
            self.file.find(codes::RULES, message, first, format!("{remedy}: {hint}"));
        }
    }

    fn parameter(
        &mut self,
        at: &Spanned<wire::Parameter>,
        service: &Service,
        gate: &mut GateRules,
    ) -> Option<Parameter> {
        let wire = at.get_ref();
        let place = match wire.place.get_ref().as_str() {
            "path" => ParameterPlace::Path,
            "query" => ParameterPlace::Query,
            "header" => ParameterPlace::Header,
            other => {
                self.file.find(
                    codes::VALUE,
                    format!("`{other}` is not a place for a parameter"),
                    &wire.place,
                    "write path, query or header",
                );
                return None;
            }
        };
        let node = self.request_node(service, &wire.field)?;
        if gate.closed[node.index()] {
            self.file.find(codes::TWICE, "two parameters set this field", &wire.field, "keep one of them");
        }
        gate.closed[node.index()] = true;
        let name = wire.name.get_ref().clone();
        self.parameter_name(&wire.name, place);
        if let (Some(low), Some(high)) = (wire.minimum, wire.maximum)
            && low > high
        {
            let message = format!("no number is at least {low} and at most {high}");
            self.file.find(codes::RULES, message, &wire.name, "exchange `minimum` and `maximum`, or leave one out");
        }
        let parameter = Parameter {
            name: if place == ParameterPlace::Header { name.to_ascii_lowercase() } else { name },
            place,
            node,
            required: wire.required || place == ParameterPlace::Path,
            default: wire.default.as_ref().map(|value| Plain::text(value, &self.file.text)),
            minimum: wire.minimum,
            maximum: wire.maximum,
            description: wire.description.clone(),
            example: wire.example.as_ref().map(|value| Plain::text(value, &self.file.text)),
        };
        let has_bound = parameter.minimum.is_some() || parameter.maximum.is_some();
        if has_bound && !parameter.is_number(&service.request) {
            let message =
                format!("`minimum` and `maximum` are for numbers, and {} is not a number", wire.field.get_ref());
            self.file.find(codes::RULES, message, &wire.name, "remove them");
        }
        Some(parameter)
    }

    fn parameter_name(&mut self, at: &Spanned<String>, place: ParameterPlace) {
        // HTTP and the server itself read these (OpenAPI, section 4.12.2, knows the first three).
        const TAKEN: [&str; 10] = [
            "accept",
            "content-type",
            "authorization",
            "host",
            "x-api-key",
            "connection",
            "content-length",
            "transfer-encoding",
            "content-encoding",
            "traceparent",
        ];
        let name = at.get_ref();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || place == ParameterPlace::Header && !name.chars().all(is_token) {
            self.file.find(
                codes::VALUE,
                "this is not a valid parameter name",
                at,
                "write for example `maxCars` or `X-Model`",
            );
        } else if place == ParameterPlace::Header && TAKEN.iter().any(|taken| name.eq_ignore_ascii_case(taken)) {
            let message = format!("the header `{name}` is reserved");
            self.file.find(codes::VALUE, message, at, "use a header that HTTP and the server do not read");
        }
    }

    /// Returns the leaf of the request for a field, which is not in a list.
    fn request_node(&mut self, service: &Service, name: &Spanned<String>) -> Option<NodeId> {
        let plan = &service.request.plan;
        let found = named_field(&service.layout, name.get_ref());
        let field = match found {
            Ok(field) => field,
            Err(message) => {
                self.file.find(
                    codes::NO_SUCH,
                    message,
                    name,
                    "write the field's COBOL name, qualified by its groups where needed",
                );
                return None;
            }
        };
        let shape = plan.shape();
        let in_list = |node: NodeId| {
            let mut at = Some(node);
            while let Some(id) = at {
                if shape.node(id).is_list() {
                    return true;
                }
                at = shape.node(id).parent;
            }
            false
        };
        match plan.node_of(field) {
            Some(node) if shape.node(node).kind != NodeKind::Group && !in_list(node) => Some(node),
            Some(_) => {
                self.file.find(
                    codes::RULES,
                    "a parameter or assignment sets one elementary field outside of tables",
                    name,
                    "let the body carry tables",
                );
                None
            }
            None => {
                self.file.find(
                    codes::NO_SUCH,
                    format!("`{}` is not part of the service's request", name.get_ref()),
                    name,
                    "include it in the service's `[request]`",
                );
                None
            }
        }
    }

    /// Returns the leaves and lists below a field or group.
    fn request_nodes(&mut self, service: &Service, name: &Spanned<String>) -> Vec<NodeId> {
        let fields = service.layout.named(name.get_ref());
        let plan = &service.request.plan;
        let mut nodes = Vec::new();
        for field in fields {
            let end = service.layout.field(field).subtree_end;
            nodes.extend((field.0..end.0).filter_map(|i| plan.node_of(FieldIndex(i))));
        }
        if nodes.is_empty() {
            self.file.find(
                codes::NO_SUCH,
                format!("`{}` is not part of the service's request", name.get_ref()),
                name,
                "remove it here",
            );
        }
        nodes
    }

    fn segments(&mut self, at: &Spanned<String>, path: &str, parameters: &[Parameter]) -> Option<Vec<Segment>> {
        let mut segments = Vec::new();
        let mut used = Vec::new();
        if !path.starts_with('/') || path.contains(['?', '#']) {
            self.file.find(
                codes::PATH,
                "a path begins with `/` and has no `?` or `#`",
                at,
                "write for example `/models/{model}`",
            );
            return None;
        }
        find_unreachable(self.file, at);
        for part in path.split('/').skip(1) {
            let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
                if part.contains(['{', '}']) {
                    self.file.find(
                        codes::PATH,
                        format!("`{part}` is neither a text nor a parameter"),
                        at,
                        "a parameter is a whole part of a path: `/{name}`",
                    );
                    return None;
                }
                segments.push(Segment::Text(part.to_owned()));
                continue;
            };
            let found = parameters.iter().position(|p| p.place == ParameterPlace::Path && p.name == name);
            let Some(index) = found else {
                self.file.find(
                    codes::PATH,
                    format!("the path has `{{{name}}}`, the operation no such parameter"),
                    at,
                    "add it as `[[operation.parameter]]` with `in = \"path\"`",
                );
                return None;
            };
            if used.contains(&index) {
                self.file.find(codes::PATH, format!("the path has `{{{name}}}` twice"), at, "keep one of them");
            }
            used.push(index);
            segments.push(Segment::Parameter(index));
        }
        for (i, parameter) in parameters.iter().enumerate() {
            if parameter.place == ParameterPlace::Path && !used.contains(&i) {
                self.file.find(
                    codes::PATH,
                    format!("the path has no `{{{}}}`", parameter.name),
                    at,
                    "add it to the path, or move the parameter to the query",
                );
            }
        }
        Some(segments)
    }

    fn responses(
        &mut self,
        at: &Spanned<wire::Operation>,
        service: &Service,
        action: Option<FileAction>,
    ) -> Option<(Option<Probe>, Vec<Response>)> {
        let wire = at.get_ref();
        let mut fields: Vec<FieldIndex> = Vec::new();
        let mut responses = Vec::new();
        for response in &wire.responses {
            let place = response;
            let wire = response.get_ref();
            let status = *wire.status.get_ref();
            if !(200..=599).contains(&status) || status == 304 {
                self.file.find(
                    codes::VALUE,
                    format!("{status} is not a status of an answer"),
                    &wire.status,
                    "write a status from 200 to 599",
                );
            } else if matches!(status, 204 | 205) && !matches!(wire.body, wire::BodyKind::None) {
                self.file.find(
                    codes::VALUE,
                    format!("an answer with status {status} has no body"),
                    &wire.status,
                    "write `body = \"none\"`, or another status",
                );
            }
            let when = wire.when.iter().filter_map(|c| self.condition(c, service, &mut fields)).collect();
            let body = match wire.body {
                wire::BodyKind::None => ResponseBody::None,
                wire::BodyKind::Problem => {
                    let detail = wire.detail.as_ref().unwrap_or(&wire.description);
                    self.names_no_field(place, service, detail);
                    ResponseBody::Problem { detail: detail.clone() }
                }
                wire::BodyKind::Answer => self.projection(place, service, &wire.include, &wire.exclude)?,
            };
            let body = if wire.array { self.array(place, body, action) } else { body };
            responses.push(Response { status, description: wire.description.clone(), when, body });
        }
        if responses.is_empty() {
            let body = match action {
                Some(FileAction::Delete) => ResponseBody::None,
                _ => self.projection(at, service, &[], &[])?,
            };
            let status = action.map_or(200, FileAction::status);
            let description = action.map_or("The answer.", |action| super::records::description(action)).to_owned();
            responses.push(Response { status, description, when: Vec::new(), body });
        }
        for (i, response) in responses.iter().enumerate() {
            if response.when.is_empty() && i + 1 < responses.len() {
                let hint = "put the response without `when` last: it applies to all other answers";
                self.file.find(codes::RULES, "responses after one without `when` never apply", at, hint);
            }
        }
        let probe = if fields.is_empty() {
            None
        } else {
            match Probe::new(&service.layout, &fields, &service.policies, service.charset) {
                Ok(probe) => Some(probe),
                Err(findings) => {
                    self.file.findings.extend(findings.0);
                    return None;
                }
            }
        };
        Some((probe, responses))
    }

    /// Warns of an optional parameter of a program whose field holds 0x00 without it: the program computes with digits that are none.
    fn may_hold_low_values(&mut self, at: &Spanned<wire::Parameter>, parameter: &Parameter, service: &Service) {
        let has_value = parameter.required || parameter.default.is_some();
        let is_of_program = matches!(service.provider, ProviderSpec::Program(_));
        let side = &service.request;
        let is_set = side.defaults.get(parameter.node.index()).is_some_and(Option::is_some);
        if has_value || is_set || !is_of_program || service.policies.absent != Absent::LowValues {
            return;
        }
        let field = side.plan.field_of(parameter.node).map(|field| side.plan.layout().field(field));
        if let Some(field) = field
            && matches!(&field.kind, FieldKind::Item(Encoding::Zoned { .. } | Encoding::Packed { .. }))
        {
            let message = format!(
                "without the parameter `{}`, {} holds 0x00, which is not a number for the program",
                parameter.name, field.name
            );
            let hint =
                "write `initialize = \"initial\"` under [options] of the service, a `default`, or `required = true`";
            let place = self.file.text.place(&at.get_ref().name.span());
            self.file.findings.push(Finding::warning(codes::LOW_VALUES, Fault::Config, message).at(place).hint(hint));
        }
    }

    /// Warns of a problem whose text is the name of a field: clients receive the name, and not the field's value.
    fn names_no_field(&mut self, at: &Spanned<wire::Response>, service: &Service, detail: &str) {
        let layout = &service.layout;
        let Ok(plan) = RecordPlan::new(layout, &service.response, &service.policies, service.charset) else { return };
        let names = |node: NodeId, shown: &str| {
            let field = plan.field_of(node).map(|field| layout.field(field).name.as_str());
            shown == detail || field.is_some_and(|name| name.eq_ignore_ascii_case(detail))
        };
        if plan.shape().iter().skip(1).any(|(node, part)| names(node, &part.name)) {
            let message = format!("`detail` is the text `{detail}`, and not the value of the field with this name");
            let hint = "to answer with the field, write `body = \"answer\"` and no `detail`; otherwise write a sentence for people";
            let place = self.file.text.place(&at.span());
            let finding = Finding::warning(codes::DETAIL, Fault::Config, message);
            self.file.findings.push(finding.at(place).hint(hint));
        }
    }

    /// Makes an answer the array of its one list.
    fn array(
        &mut self,
        at: &Spanned<wire::Response>,
        mut body: ResponseBody,
        action: Option<FileAction>,
    ) -> ResponseBody {
        if let ResponseBody::Answer(projection) = &mut body {
            projection.array = TopArray::of(&projection.shape, |_| true);
            // An array has no root element.
            projection.xml = false;
        }
        let is_array = matches!(&body, ResponseBody::Answer(projection) if projection.array.is_some());
        if !is_array || action == Some(FileAction::Browse) {
            let message = "the answer is to be an array, but it does not show one list alone";
            let hint = "exclude the other fields here or in [response] of the service; a page of a browse is an object";
            self.file.find(codes::RULES, message, at, hint);
        }
        body
    }

    fn condition(
        &mut self,
        at: &Spanned<wire::Condition>,
        service: &Service,
        fields: &mut Vec<FieldIndex>,
    ) -> Option<Condition> {
        let wire = at.get_ref();
        let field = match named_field(&service.layout, wire.field.get_ref()) {
            Ok(field) => field,
            Err(message) => {
                self.file.find(codes::NO_SUCH, message, &wire.field, "write the field's COBOL name");
                return None;
            }
        };
        let in_table = {
            let mut at = Some(field);
            let mut found = false;
            while let Some(index) = at {
                found |= service.layout.field(index).occurs.is_some();
                at = service.layout.field(index).parent;
            }
            found
        };
        if in_table || matches!(service.layout.field(field).kind, quayline_cobol::layout::FieldKind::Group) {
            self.file.find(
                codes::RULES,
                "a rule looks at one elementary field outside of tables",
                &wire.field,
                "name such a field",
            );
            return None;
        }
        let text = |value: &Spanned<Plain>| Plain::text(value, &self.file.text);
        let mut tests: Vec<Test> = Vec::new();
        tests.extend(wire.equals.as_ref().map(|value| Test::OneOf(vec![text(value)])));
        tests.extend(wire.one_of.as_ref().map(|values| Test::OneOf(values.iter().map(text).collect())));
        tests.extend(wire.not.as_ref().map(|value| Test::Not(text(value))));
        tests.extend(wire.at_least.as_ref().map(|value| Test::AtLeast(text(value))));
        tests.extend(wire.at_most.as_ref().map(|value| Test::AtMost(text(value))));
        let count = tests.len();
        let Some(test) = tests.pop().filter(|_| count == 1) else {
            self.file.find(
                codes::RULES,
                "a condition needs one test",
                at,
                "write one of equals, not, one-of, at-least, at-most",
            );
            return None;
        };
        let policies = &service.policies;
        let has_null = [policies.invalid, policies.blank, policies.low_values].contains(&BadValue::Null);
        if let Some(why) = test.never_holds(service.layout.field(field), has_null) {
            let hint = "write a value that the record can have, such as \"Y\" and not true, or remove the condition";
            self.file.find(codes::RULES, format!("the condition never holds: {why}"), at, hint);
        }
        let field = fields.iter().position(|known| *known == field).unwrap_or_else(|| {
            fields.push(field);
            fields.len() - 1
        });
        Some(Condition { field, test })
    }

    fn projection<T>(
        &mut self,
        at: &Spanned<T>,
        service: &Service,
        include: &[Spanned<String>],
        exclude: &[Spanned<String>],
    ) -> Option<ResponseBody> {
        let mut interface: Interface = service.response.clone();
        for (names, shown) in [(include, true), (exclude, false)] {
            for name in names {
                let field = name.get_ref().to_uppercase();
                let known = interface.fields.iter_mut().find(|rule| rule.field.eq_ignore_ascii_case(&field));
                match known {
                    Some(rule) => rule.include = Some(shown),
                    None => interface.fields.push(FieldRule { field, include: Some(shown), ..FieldRule::default() }),
                }
            }
        }
        match RecordPlan::new(&service.layout, &interface, &service.policies, service.charset) {
            Ok(plan) => {
                let (shape, typed) = typed_shape(&plan, &service.types);
                // An answer that shows nothing is still an object, or an element. The wrapper is the root's only child.
                let around = [NodeId::ROOT, NodeId(1)];
                let around = &around[..1 + usize::from(interface.wrapper.is_some())];
                let rules = ShapingRules::new(&plan, &shape, typed, (service.options, service.policies.trim), around);
                let xml = quayline_xml::XmlWriter::new(&shape, xml_style()).is_ok();
                Some(ResponseBody::Answer(Box::new(Projection { plan, shape, rules, array: None, xml })))
            }
            Err(findings) => {
                for finding in findings.0 {
                    let hint = finding.hint.map_or("names are those of the copybook".into(), |hint| hint.to_string());
                    self.file.find(finding.code, finding.message, at, hint);
                }
                None
            }
        }
    }
}

/// Derives an operation id such as `getCar100Models`.
fn default_id(method: &str, path: &str) -> String {
    let mut id = method.to_ascii_lowercase();
    for word in path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut chars = word.chars();
        id.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        id.push_str(chars.as_str());
    }
    id
}

/// Reports parts of a path that no client can send. Clients percent-encode all but a few characters, and resolve `.` and `..` (RFC 3986,
/// sections 2 and 5.2.4). Quayline compares paths in the form that clients send.
fn find_unreachable(file: &mut UserFile, path: &Spanned<String>) {
    for part in path.get_ref().split('/') {
        if part.starts_with('{') {
            continue;
        }
        let sent = as_sent(part);
        if sent != part {
            let message = format!("no client sends `{part}` as a part of a path");
            file.find(codes::PATH, message, path, format!("write `{sent}`, as clients send it"));
        } else if matches!(part, "." | "..") {
            let message = format!("no client sends `{part}` as a part of a path: clients resolve it to another path");
            file.find(codes::PATH, message, path, "leave it out");
        }
    }
}

/// Returns a part of a path in the form that clients send. Percent-encodes all characters that require it, with upper-case digits, and decodes
/// unreserved characters (RFC 3986, section 6.2.2).
fn as_sent(part: &str) -> String {
    let bytes = part.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut sent = String::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let encoded = digit(at + 1).zip(digit(at + 2)).filter(|_| *byte == b'%');
        let encoded = encoded.and_then(|(high, low)| u8::try_from(16 * high + low).ok());
        let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let stays = is_unreserved(*byte) || b"!$&'()*+,;=:@{}".contains(byte);
        match encoded {
            Some(byte) if is_unreserved(byte) => sent.push(char::from(byte)),
            Some(byte) => sent.push_str(&format!("%{byte:02X}")),
            None if stays => sent.push(char::from(*byte)),
            None => sent.push_str(&format!("%{byte:02X}")),
        }
        at += if encoded.is_some() { 3 } else { 1 };
    }
    sent
}
