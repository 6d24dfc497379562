//! A service file's database.

use core::time::Duration;
use std::sync::Arc;

use toml::Spanned;

use super::compile::{Known, one_field};
use super::wire;
use crate::codes;
use crate::files::UserFile;
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
    if !near && wire.authorities.is_none() && !wire.plain_text {
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
    let ms = |given: Option<u64>, default| Duration::from_millis(given.unwrap_or(default).clamp(1, 3_600_000));
    Some(SqlSpec {
        host,
        port: wire.port.unwrap_or(5432),
        database: database?,
        user: user?,
        password,
        query: query?,
        authorities: wire.authorities.as_ref().map(|path| known.root.join(path.get_ref())),
        connections: wire.connections.unwrap_or(2).clamp(1, 64),
        time_limit: ms(wire.time_limit_ms, 5_000),
        wait_limit: ms(wire.wait_limit_ms, 2_000),
        form,
    })
}
