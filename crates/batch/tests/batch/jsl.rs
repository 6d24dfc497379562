//! Job XML: all faults are found at once, with place and remedy; references are resolved as the specification requires.

use expect_test::{Expect, expect};
use quayline_project::job::{Artifacts, JobFile, Parameters, StepBody};

struct Known;

impl Artifacts for Known {
    fn missing(&self, kind: &str, reference: &str) -> Option<Vec<String>> {
        (reference != format!("my-{kind}")).then(|| vec![format!("my-{kind}")])
    }
}

fn xml(inside: &str) -> String {
    format!("<job id=\"j\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">\n{inside}\n</job>")
}

fn check(inside: &str, expected: Expect) {
    let findings = match JobFile::parse("j.xml", &xml(inside)) {
        Ok(file) => file.check(Some(&Parameters::new()), &|_| None, &Known),
        Err(findings) => findings.0,
    };
    let lines: Vec<String> = findings
        .iter()
        .map(|finding| {
            let hint = finding.hint.as_deref().unwrap_or("");
            format!("{} {}: {}; {hint}\n", finding.code, finding.place, finding.message)
        })
        .collect();
    expected.assert_eq(&lines.concat());
}

fn step(id: &str, attributes: &str, inside: &str) -> String {
    format!("<step id=\"{id}\" {attributes}><batchlet ref=\"my-batchlet\"/>{inside}</step>\n")
}

#[test]
fn elements_and_attributes_are_those_of_the_schema() {
    check(
        "<step id=\"a\" colour=\"red\">\n<chunk><writer ref=\"w\"/>\n<reader/></chunk>\n<batchlet ref=\"b\"/>\n<properties/>text</step><jump/>",
        expect![[r#"
            JOB-001 j.xml:2:14: step has no attribute colour in job XML; the attributes of step are id, start-limit, allow-start-if-complete, next
            JOB-001 j.xml:2:2: step has text, expected elements only; remove the text, or put it into an attribute or a comment
            JOB-001 j.xml:4:2: reader is in the wrong place in chunk; the order in chunk is reader, processor, writer, checkpoint-algorithm, skippable-exception-classes, retryable-exception-classes, no-rollback-exception-classes
            JOB-001 j.xml:3:2: chunk has no reader; add <reader ref="..."/>
            JOB-001 j.xml:5:2: step has more than one batchlet or chunk; keep one of them
            JOB-001 j.xml:6:2: properties is in the wrong place in step; the order in step is properties, listeners, batchlet, chunk, partition, end, fail, next, stop
            JOB-001 j.xml:6:26: jump is not an element of job; the elements of job are properties, listeners, decision, flow, split, step
        "#]],
    );
    let wrong = JobFile::parse("j.xml", "<job id=\"j\" version=\"3.0\">").map(|_| ()).unwrap_err();
    assert!(wrong.0[0].message.contains("ends inside"), "{wrong}");
    let wrong = JobFile::parse("j.xml", "<job id=\"j\" version=\"3.0\"/>").map(|_| ()).unwrap_err();
    assert_eq!(wrong.0.len(), 2, "{wrong}");
}

#[test]
fn targets_loops_and_elements_that_nothing_reaches() {
    let flow = format!("<flow id=\"f\" next=\"a\">{}</flow>\n", step("inner", "next=\"a\"", ""));
    check(
        &format!(
            "{}{}{flow}{}",
            step("a", "next=\"b\"", "<stop on=\"X\" restart=\"inner\"/>"),
            step("b", "next=\"f\"", "<next on=\"X\" to=\"nowhere\"/>"),
            step("a", "", "")
        ),
        expect![[r#"
            JOB-004 j.xml:2:65: a restart cannot begin at inner, which is not a job-level element; the steps, flows and splits of the job are a, b, f, a
            JOB-004 j.xml:3:65: no element has the id nowhere; the elements of job j are a, b, f, a
            JOB-005 j.xml:4:14: a loop: a, b, f and then a again; an element runs once in an execution: end the loop with stop and restart, or use another element
            JOB-004 j.xml:4:40: a is not an element of flow f, so the job cannot continue there; continue with an element of the same job or flow
            JOB-003 j.xml:6:7: two elements of the job have the id a; give each element an id of its own
            JOB-006 j.xml:6:7: nothing reaches step a; name a in a next, or remove it
        "#]],
    );
}

#[test]
fn transitions_that_an_earlier_one_hides_and_restarts_at_a_decision() {
    // Regression: the check accepted a `stop` whose restart begins at a decision, although the restarted job could only fail. It accepted an
    // empty `to` and an empty id. It also treated an element as reachable whose only transition comes after `on="*"`.
    let decision = "<decision id=\"d\" ref=\"my-decision\"><end on=\"*\"/></decision>\n";
    check(
        &format!(
            "{}{}{}{}{decision}",
            step(
                "a",
                "next=\"z\"",
                "<stop on=\"X\" restart=\"d\"/><next on=\"X\" to=\"c\"/><next on=\"*\" to=\"b\"/><next on=\"Y\" to=\"c\"/>"
            ),
            step("b", "next=\"d\"", "<next on=\"X\" to=\"\"/>"),
            step("c", "", ""),
            step("z", "", ""),
        ),
        expect![[r#"
            JOB-006 j.xml:2:14: next is never followed: an earlier on="*" matches every exit status that leads here; remove next or that transition
            JOB-004 j.xml:2:65: a restart cannot begin at d, which is a decision and needs an element before it; the steps, flows and splits of the job are a, b, c, z
            JOB-006 j.xml:2:84: the transition is never taken: an earlier on="X" matches every exit status that leads here; put it before that transition, or remove it
            JOB-006 j.xml:2:126: the transition is never taken: an earlier on="*" matches every exit status that leads here; put it before that transition, or remove it
            JOB-004 j.xml:3:65: a next leads to no element; the elements of job j are a, b, c, z, d
            JOB-006 j.xml:4:7: nothing reaches step c; name c in a next, or remove it
            JOB-006 j.xml:5:7: nothing reaches step z; name z in a next, or remove it
        "#]],
    );
    check(
        &step("", "", ""),
        expect![[r#"
            JOB-002 j.xml:2:7: the id of a step is empty; give it an id: transitions, lists and logs refer to the element by its id
        "#]],
    );
}

#[test]
fn references_without_value_and_artifacts_that_nobody_has() {
    check(
        "<step id=\"a\" start-limit=\"many\"><chunk item-count=\"#{jobParameters['count']}\" checkpoint-policy=\"custom\"><reader ref=\"mine\"/><writer ref=\"my-writer\"/></chunk></step>",
        expect![[r#"
            JOB-002 j.xml:2:14: start-limit is not a whole number from 0 to 4294967295; write a number, or a reference whose value is a number
            JOB-007 j.xml:2:40: #{jobParameters['count']} has no value and becomes an empty text; start the job with --param count=VALUE, or add a default: ?:VALUE;
            JOB-002 j.xml:2:79: checkpoint-policy is custom, but the chunk has no checkpoint-algorithm; add <checkpoint-algorithm ref="..."/> after the writer
            JOB-008 j.xml:2:114: no reader is called mine; there are my-reader
        "#]],
    );
}

/// Returns the property of the batchlet `x`.
fn resolved(value: &str, parameters: &[(&str, &str)]) -> String {
    let inside = format!(
        "<properties><property name=\"outer\" value=\"O\"/><property name=\"both\" value=\"job\"/></properties><step id=\"a\"><properties><property name=\"both\" value=\"step\"/></properties><batchlet ref=\"b\"><properties><property name=\"x\" value=\"{value}\"/></properties></batchlet></step>"
    );
    let file = JobFile::parse("j.xml", &xml(&inside)).expect("a job");
    let given = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let system = |name: &str| (name == "file.separator").then(|| "/".to_owned());
    let (job, _) = file.resolve(&given, &system).expect("values");
    let quayline_project::job::Element::Step(step) = &job.elements[0] else { panic!("a step") };
    let StepBody::Batchlet(batchlet) = &step.body else { panic!("a batchlet") };
    batchlet.properties["x"].clone()
}

#[test]
fn the_four_operators_and_their_defaults() {
    let given = [("p", "P"), ("q", "Q")];
    for (value, expected) in [
        ("#{jobParameters['p']}", "P"),
        ("a#{jobParameters['p']}b#{jobParameters['q']}c", "aPbQc"),
        ("#{jobParameters['none']}", ""),
        ("#{jobParameters['none']}?:D;", "D"),
        ("#{jobParameters['none']}?:#{jobParameters['q']};!", "Q!"),
        ("#{jobParameters['none']}?:#{jobParameters['none']}?:deep;;", "deep"),
        ("#{jobParameters['p']}?:D;", "P"),
        ("#{jobProperties['outer']}#{jobProperties['both']}", "Ostep"),
        ("#{systemProperties['file.separator']}", "/"),
        ("#{partitionPlan['later']}?:D;", "#{partitionPlan['later']}?:D;"),
        ("#{unknown['p']}", "#{unknown['p']}"),
        ("#{jobParameters['p'", "#{jobParameters['p'"),
    ] {
        assert_eq!(resolved(value, &given), expected, "{value}");
    }
}

/// Regression: references in the default of a `partitionPlan` reference became empty texts, and values that look like references were resolved in
/// partitions only.
#[test]
fn a_default_of_a_partition_has_the_values_of_the_job() {
    let system = |name: &str| (name == "s").then(|| "S".to_owned());
    let given =
        Parameters::from([("p".to_owned(), "P;?:".to_owned()), ("q".to_owned(), "#{jobParameters['p']}".to_owned())]);
    let of = |text: &str, planned: &[(&str, &str)]| {
        let inside = format!(
            "<properties><property name=\"j\" value=\"J\"/></properties><step id=\"a\"><properties><property name=\"k\" value=\"K\"/></properties>\
             <batchlet ref=\"b\"><properties><property name=\"x\" value=\"{text}\"/></properties></batchlet><partition><plan/></partition></step>"
        );
        let file = JobFile::parse("j.xml", &xml(&inside)).unwrap();
        let (job, unresolved) = file.resolve(&given, &system).unwrap();
        assert!(unresolved.is_empty(), "{unresolved:?}");
        let quayline_project::job::Element::Step(step) = &job.elements[0] else { panic!("no step") };
        let planned = planned.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let StepBody::Batchlet(batchlet) = step.of_partition(&planned).unwrap().body else { panic!("no batchlet") };
        batchlet.properties["x"].clone()
    };
    for (text, value) in [
        ("#{partitionPlan['n']}?:#{jobParameters['p']};!", "P;?:!"),
        ("#{partitionPlan['n']}?:#{jobProperties['j']}#{jobProperties['k']}#{systemProperties['s']};", "JKS"),
        ("#{partitionPlan['n']}?:#{jobParameters['none']}?:D;;", "D"),
        ("#{partitionPlan['n']}?:#{partitionPlan['m']}?:#{jobParameters['p']};;", "P;?:"),
        ("#{jobParameters['none']}?:#{partitionPlan['n']}?:#{jobProperties['j']};;", "J"),
        ("#{jobParameters['q']}", "#{jobParameters['p']}"),
        ("#{partitionPlan['n']}?:#{jobParameters['q']};", "#{jobParameters['p']}"),
    ] {
        assert_eq!(of(text, &[]), value, "{text}");
    }
    assert_eq!(of("#{partitionPlan['n']}?:#{jobParameters['p']};", &[("n", "N")]), "N");
}

/// Regression: what leads on from a flow of a split had no effect and no finding.
#[test]
fn a_flow_of_a_split_leads_nowhere() {
    check(
        &format!(
            "<split id=\"s\" next=\"z\">\n<flow id=\"f\" next=\"z\">\n{}<stop on=\"X\"/>\n</flow>\n</split>\n{}",
            step("a", "", ""),
            step("z", "", ""),
        ),
        expect![[r#"
            JOB-006 j.xml:3:14: next has no effect: the job continues after all flows of the split; put it on the split, or into the flow after its last element
            JOB-006 j.xml:5:7: the transition has no effect: the job continues after all flows of the split; put it into the flow after its last element, or on an element after the split
        "#]],
    );
}
