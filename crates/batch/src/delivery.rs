//! Delivery guarantees of the artifacts that come with Quayline.

use quayline_project::job::ArtifactRef;

/// Describes the work that a crash repeats or loses for an artifact, for [`quayline_project::job::plan_text`].
#[must_use]
pub fn delivery(artifact: &ArtifactRef) -> &'static str {
    match artifact.name.as_str() {
        "quayline.fileReader" | "quayline.documentReader" => "continues at the offset of the last checkpoint",
        "quayline.accountReader" => "continues at the line of the last checkpoint",
        "quayline.folderReader" => "continues after the file of the last checkpoint",
        "quayline.parquetReader" => "continues at the row of the last checkpoint",
        "quayline.recordFileReader" | "quayline.sqlReader" => "continues after the key of the last checkpoint",
        "quayline.rejectReader" => "continues after the place of the last checkpoint",
        "quayline.externalReader" => "continues at the position that the program gave with the last checkpoint",
        "quayline.queueReader" => "gets in the unit of work of the chunk: each message once",
        "quayline.mapProcessor" => "maps the items of the chunk again, and changes nothing outside the map",
        "quayline.filterProcessor" => "evaluates the condition for the items of the chunk again, without other effects",
        "quayline.commandProcessor" => "runs the command for the items of the chunk again: at least once each",
        "quayline.cobolProcessor" => "calls the program for the items of the chunk again: at least once each",
        "quayline.httpProcessor" => "sends the requests of the chunk again: at least once each",
        "quayline.externalProcessor" => "gives the items of the chunk to the program again: at least once each",
        "quayline.externalWriter" => "as the program undoes what follows the position of the last checkpoint",
        "quayline.fileWriter" => "cuts the file back to the last checkpoint: each item once",
        "quayline.parquetWriter" => "continues in the row group of the last checkpoint: each item once",
        "quayline.sqlWriter" => {
            "writes in the transaction of the checkpoint, or with a token in another database: each item once"
        }
        "quayline.queueWriter" | "quayline.recordFileWriter" | "quayline.accountWriter" => {
            "writes in the unit of work of the chunk: each item once"
        }
        _ => OWN,
    }
}

/// Delivery guarantee of an artifact that is not built in.
const OWN: &str = "as its own code does: at least once unless it uses the unit of work";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Registry;

    /// Every built-in artifact of a chunk must be described in the plan.
    #[test]
    fn the_plan_knows_every_artifact_of_a_chunk() {
        let mut registry = Registry::default();
        crate::builtin::register(&mut registry);
        for kind in ["reader", "processor", "writer"] {
            let names = quayline_project::job::Artifacts::missing(&registry, kind, "").unwrap_or_default();
            assert!(names.len() > 3, "{kind}: {names:?}");
            for name in names {
                let artifact = ArtifactRef { name: name.clone(), properties: Default::default() };
                assert_ne!(delivery(&artifact), OWN, "{name}");
            }
        }
    }
}
