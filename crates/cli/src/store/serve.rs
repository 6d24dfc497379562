//! `quayline queue serve`.

use std::time::Duration;

use quayline_core::{Fault, Finding};
use quayline_server::{AmqpConfig, ServeConfig};
use quayline_store::Store;

use crate::args::ServeQueuesArgs;
use crate::console::Console;
use crate::exit::{CLI_LISTEN, Stop, argument};
use crate::queues::listen;

/// Serves the queues until a signal stops it.
pub(crate) fn run(args: &ServeQueuesArgs, store: &Store, console: &Console) -> Result<(), Stop> {
    let mut config = match (&args.project, args.anonymous) {
        (Some(project), _) => ServeConfig::load(project)?,
        (None, true) => {
            let mut config = ServeConfig::default();
            config.authentication.required = false;
            config
        }
        (None, false) => {
            let finding = argument("no client can log in: the settings name no user".to_owned());
            let hint = "name the folder of a project whose quayline.toml has users with --project, or add --anonymous";
            return Err(finding.hint(hint).into());
        }
    };
    let mut amqp = config.amqp.take().unwrap_or_default();
    amqp.listen = args.listen.or(amqp.listen);
    config.amqp = Some(AmqpConfig { ..amqp });
    config.check()?;
    let stop = crate::interrupt::stop_flag().map_err(|error| {
        let what = format!("signals cannot be received: {}", error.kind());
        Finding::error(CLI_LISTEN, Fault::Environment, what).hint("report this with the name of your system")
    })?;
    let listener = listen(store, &config)?;
    console.line(&format!("listening on {}", listener.address()));
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    listener.stop();
    Ok(())
}
