//! Applications that drive a flow, or any broker, over AMQP 1.0. Each has its own connection. It sends a request, waits until the broker accepts it,
//! receives the first reply and settles it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_connect::{
    Anonymous, BrokerAddress, BrokerClient, BrokerEvent, BrokerLogin, DeliveryState, Listener, ListenerLimits,
    ListenerSettings,
};
use quayline_store::Store;
use quayline_store::queue::{Message, Persistence};

use crate::error_text::shown;

/// Longest wait for an outcome or a reply.
const WAIT: Duration = Duration::from_secs(60);

/// Longest time until a responder notices the request to stop.
const STOP_WAIT: Duration = Duration::from_millis(100);

/// Number of threads of the listener. A server has the same default.
const LISTENER_THREADS: usize = 2;

/// Applications over AMQP, with their common settings.
#[derive(Clone, Copy, Debug)]
pub struct AmqpApplications<'a> {
    /// Address of the broker.
    pub broker: SocketAddr,
    /// User and password. `None` logs in as anonymous.
    pub user: Option<(&'a str, &'a str)>,
    /// Queue of requests.
    pub request: &'a str,
    /// Queue of replies.
    pub reply: &'a str,
    /// Persistence of the requests.
    pub persistence: Persistence,
    /// Number of applications.
    pub count: usize,
    /// Time after which no request begins.
    pub until: Instant,
    /// Maximum number of requests of all applications.
    pub limit: u64,
}

impl AmqpApplications<'_> {
    /// Runs one application. It begins at the number `first` and advances by [`Self::count`]. Returns the number of requests that received a
    /// reply.
    ///
    /// # Errors
    /// The broker cannot be reached, refuses something, or sends no reply.
    pub fn run(&self, first: u64, content: &dyn Fn(u64) -> Vec<u8>) -> Result<u64, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(shown)?;
        runtime.block_on(self.application(first, content))
    }

    async fn application(&self, first: u64, content: &dyn Fn(u64) -> Vec<u8>) -> Result<u64, String> {
        let mut client = self.connected(&format!("application-{first}")).await?;
        let requests = client.sender(self.request).await.map_err(shown)?;
        let replies = client.receiver(self.reply).await.map_err(shown)?;
        let (mut done, mut number) = (0, first);
        while number < self.limit && Instant::now() < self.until {
            let message = Message { persistence: self.persistence, ..Message::new(content(number)) };
            match client.send(requests, &message, None, WAIT).await.map_err(shown)? {
                Some(DeliveryState::Accepted) => {}
                other => return Err(format!("the broker answers a request by {other:?}, expected accepted")),
            }
            client.grant(replies, 1);
            let reply = tokio::time::timeout(WAIT, reply(&mut client)).await;
            reply.map_err(|_| format!("no reply in {} s", WAIT.as_secs()))??;
            number += self.count as u64;
            done += 1;
        }
        client.close().await;
        Ok(done)
    }
}

impl AmqpApplications<'_> {
    /// Runs a program in place of a flow until `stop`. It sends the bytes of each request to the queue of replies, then settles the request.
    ///
    /// # Errors
    /// The broker cannot be reached, or refuses something.
    pub fn respond(&self, stop: &AtomicBool) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(shown)?;
        runtime.block_on(async {
            let mut client = self.connected("responder").await?;
            let replies = client.sender(self.reply).await.map_err(shown)?;
            let requests = client.receiver(self.request).await.map_err(shown)?;
            while !stop.load(Ordering::Relaxed) {
                if client.granted(requests) == 0 {
                    client.grant(requests, 1);
                }
                let Ok(event) = tokio::time::timeout(STOP_WAIT, client.next(true)).await else { continue };
                let BrokerEvent::Message(request) = event.map_err(shown)? else { continue };
                let content = request.message.map_err(|error| format!("{error:?}"))?.payload;
                let message = Message { persistence: self.persistence, ..Message::new(content) };
                let outcome = client.send(replies, &message, None, WAIT).await.map_err(shown)?;
                if outcome != Some(DeliveryState::Accepted) {
                    return Err(format!("the broker answers a reply by {outcome:?}, expected accepted"));
                }
                client.settle(request.delivery, DeliveryState::Accepted);
            }
            client.close().await;
            Ok(())
        })
    }

    async fn connected(&self, name: &str) -> Result<BrokerClient, String> {
        let address = BrokerAddress::parse(&format!("amqp://{}", self.broker))?;
        let user = self.user.map(|(user, password)| (user.to_owned(), password.to_owned()));
        let login = BrokerLogin { container: name.to_owned(), user, tls: None };
        BrokerClient::connect(&address, &login).await.map_err(shown)
    }
}

/// Receives one message and settles it.
async fn reply(client: &mut BrokerClient) -> Result<(), String> {
    loop {
        match client.next(true).await.map_err(shown)? {
            BrokerEvent::Message(message) => {
                client.settle(message.delivery, DeliveryState::Accepted);
                return Ok(());
            }
            BrokerEvent::Outcome(..) | BrokerEvent::Credit(_) => {}
            BrokerEvent::Detached(_, error) => return Err(error.to_string()),
        }
    }
}

/// Starts a listener for a store on the loopback interface, without a login.
///
/// # Errors
/// The listener cannot start.
pub fn amqp_listener(store: &Store) -> Result<Listener, String> {
    let settings = ListenerSettings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        container_id: "measured".to_owned(),
        tls: None,
        authenticator: std::sync::Arc::new(Anonymous),
        threads: LISTENER_THREADS,
        limits: ListenerLimits::default(),
    };
    Listener::start(store.clone(), settings).map_err(shown)
}
