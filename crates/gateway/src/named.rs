//! Names for the schemas of an OpenAPI document: generators of clients make a class of each schema in `components.schemas`, and
//! invent names such as `InlineObject7` for inline ones.

use crate::Json;
use crate::api::xml_style;

/// Moves the schema of each body and each response to `components.schemas` and leaves a `$ref` (OpenAPI 3.1, section 4.8.7).
///
/// `findModels` gets `FindModelsRequest`, `FindModelsResult` for 200 and `FindModelsResult404` for any other status. Schemas that are
/// equal share the name of the first. `FindModelsResponse` is the name that oapi-codegen gives its own type for all responses of the operation.
pub(crate) fn name_schemas(document: &mut Json) {
    let mut schemas: Vec<(String, Json)> = Vec::new();
    if let Some(Json::Object(paths)) = member(document, "paths") {
        for (_, item) in paths {
            let Json::Object(methods) = item else { continue };
            methods.iter_mut().for_each(|(_, operation)| name_in(operation, &mut schemas));
        }
    }
    if let Some(Json::Object(known)) =
        member(document, "components").and_then(|components| member(components, "schemas"))
    {
        known.extend(schemas);
    }
}

fn name_in(operation: &mut Json, schemas: &mut Vec<(String, Json)>) {
    let Some(Json::Text(id)) = operation.get("operationId") else { return };
    let mut letters = id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let stem: String = letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect();
    if let Some(body) = member(operation, "requestBody") {
        name_content(body, &format!("{stem}Request"), schemas);
    }
    let Some(Json::Object(responses)) = member(operation, "responses") else { return };
    for (status, response) in responses {
        let status = if status == "200" { "" } else { status.as_str() };
        name_content(response, &format!("{stem}Result{status}"), schemas);
    }
}

/// Names the schemas of a request body or a response, for JSON and for the same members in XML.
fn name_content(holder: &mut Json, name: &str, schemas: &mut Vec<(String, Json)>) {
    name_media(holder, "application/json", name, schemas);
    name_media(holder, "application/xml", name, schemas);
    let xml = member(holder, "content").and_then(|content| member(content, "application/xml"));
    if let Some(schema) = xml.and_then(|media| member(media, "schema")) {
        let root = xml_style().record;
        schema.put("xml", Json::object([("name", Json::text(root))]));
    }
}

fn name_media(holder: &mut Json, media: &str, name: &str, schemas: &mut Vec<(String, Json)>) {
    let media = member(holder, "content").and_then(|content| member(content, media));
    let Some(schema) = media.and_then(|media| member(media, "schema")) else { return };
    if schema.get("$ref").is_some() {
        return;
    }
    let known = schemas.iter().find(|(_, known)| known == schema).map(|(name, _)| name.clone());
    let name = known.unwrap_or_else(|| {
        // Two ids may differ in characters that names of components do not have.
        let mut free = name.to_owned();
        while free == "Problem" || schemas.iter().any(|(taken, _)| *taken == free) {
            free.push('_');
        }
        schemas.push((free.clone(), schema.clone()));
        free
    });
    *schema = Json::object([("$ref", Json::text(format!("#/components/schemas/{name}")))]);
}

fn member<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Json> {
    match json {
        Json::Object(members) => members.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value),
        _ => None,
    }
}
