//! A service file's database.

use quayline_project::UserFile;

use std::sync::Arc;

use toml::Spanned;

use super::compile::{Known, one_field};
use super::provider::{milliseconds, within};
use super::wire;
use crate::codes;
use crate::sql::{SqlForm, SqlNames, SqlPassword, SqlSpec};

pub(super) fn database(file: &mut UserFile, at: &Spanned<wire::Provider>, known: &Known<'_>) -> Option<SqlSpec> {
    let wire = at.get_ref();
    let mut needed = |what: &Option<Spanned<String>>, name: &str| -> Option<String> {
        if what.is_none() {
            file.find(codes::INCOMPLETE, format!("a sql provider needs `{name}`"), at, format!("write `{name}`"));
        }
        what.as_ref().map(|text| text.get_ref().clone())
    };
    let (query, database, user) =
        (needed(&wire.query, "query"), needed(&wire.database, "database"), needed(&wire.user, "user"));
    let host = wire.host.as_ref().map_or_else(|| "127.0.0.1".to_owned(), |host| host.get_ref().clone());
    let near = host.starts_with('/')
        || host == "localhost"
        || host.parse().is_ok_and(|ip: core::net::IpAddr| ip.is_loopback());
    let plain = wire.plain_text.as_ref().is_some_and(|plain| *plain.get_ref());
    if let (true, Some(_), Some(at)) = (plain, &wire.authorities, &wire.plain_text) {
        let message = "`plain-text` and `authorities` contradict each other";
        file.find(codes::RULES, message, at, "keep `authorities`: then nothing is ever sent without TLS");
    }
    if !near && wire.authorities.is_none() && !plain {
        file.find(
            codes::VALUE,
            "a database on another machine without `authorities` is spoken to without TLS",
            at,
            "name the PEM file of the authorities of its certificate, or write `plain-text = true`",
        );
    }
    let password = match (&wire.password_file, &wire.password_environment) {
        (None, None) => SqlPassword::None,
        (Some(path), None) => SqlPassword::File(known.root.join(path.get_ref())),
        (None, Some(name)) => SqlPassword::Environment(name.get_ref().clone()),
        (Some(_), Some(name)) => {
            file.find(
                codes::TWICE,
                "the password comes from a file or from the environment",
                name,
                "remove one of them",
            );
            return None;
        }
    };
    let mut field = |name: &Spanned<String>| one_field(file, known.layout, name);
    let names = SqlNames {
        parameters: wire.parameters.iter().filter_map(&mut field).collect(),
        rows: wire.rows.as_ref().and_then(&mut field),
        count: wire.count.as_ref().and_then(&mut field),
    };
    if let (Some(rows), Some(at)) = (names.rows, &wire.rows)
        && known.layout.field(rows).occurs.is_none()
    {
        file.find(
            codes::VALUE,
            format!("`{}` has no OCCURS", at.get_ref()),
            at,
            "`rows` names the table that rows fill",
        );
    }
    let form = match SqlForm::new(known.layout, known.policies, known.charset, known.length, &names) {
        Ok(form) => Arc::new(form),
        Err(findings) => {
            file.findings.extend(findings.0);
            return None;
        }
    };
    let time_limit = milliseconds(file, wire.time_limit_ms.as_ref(), 5_000);
    let wait_limit = milliseconds(file, wire.wait_limit_ms.as_ref(), 2_000);
    let connections = within(file, wire.connections.as_ref(), 2, 1, 64);
    Some(SqlSpec {
        host,
        port: wire.port.as_ref().map_or(5432, |port| *port.get_ref()),
        database: database?,
        user: user?,
        password,
        query: query?,
        authorities: wire.authorities.as_ref().map(|path| known.root.join(path.get_ref())),
        connections: usize::try_from(connections).unwrap_or(1),
        time_limit,
        wait_limit,
        form,
    })
}
