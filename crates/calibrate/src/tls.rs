//! TLS handshakes between a client and a server of this thread, in memory.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
};

use crate::certificate;
use crate::run::Work;

/// Whether a handshake begins from nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Handshake {
    /// Certificate, signature and key exchange.
    Full,
    /// A handshake that resumes the previous session by its ticket.
    Resumed,
}

/// Handshakes of one kind.
pub(crate) struct Handshakes {
    kind: Handshake,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
    wire: Vec<u8>,
}

impl Handshakes {
    pub(crate) fn new(kind: Handshake) -> Result<Handshakes, String> {
        let made = certificate::make()?;
        let certificate = CertificateDer::from(made.certificate);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key));
        let text = |error: rustls::Error| error.to_string();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(text)?;
        let provider = Arc::new(default_provider());
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        if kind == Handshake::Full {
            client.resumption = Resumption::disabled();
        }
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .map_err(text)?;
        let name = ServerName::try_from("localhost").map_err(|error| error.to_string())?;
        let mut handshakes =
            Handshakes { kind, client: Arc::new(client), server: Arc::new(server), name, wire: Vec::new() };
        // The first one of a client that resumes is full.
        handshakes.one()?;
        Ok(handshakes)
    }

    /// Makes one handshake, including the tickets that the server sends after it.
    fn one(&mut self) -> Result<Option<HandshakeKind>, String> {
        let text = |error: rustls::Error| error.to_string();
        let mut client = ClientConnection::new(Arc::clone(&self.client), self.name.clone()).map_err(text)?;
        let mut server = ServerConnection::new(Arc::clone(&self.server)).map_err(text)?;
        // Two round trips at most, and the tickets.
        for _ in 0..4 {
            pass(&mut client, &mut server, &mut self.wire)?;
            pass(&mut server, &mut client, &mut self.wire)?;
            if !client.is_handshaking() && !server.is_handshaking() && !server.wants_write() {
                break;
            }
        }
        if client.is_handshaking() || server.is_handshaking() {
            return Err("the handshake does not end".to_owned());
        }
        Ok(server.handshake_kind())
    }
}

/// Transfers the pending bytes of one side to the other.
fn pass<A, B>(
    from: &mut impl std::ops::DerefMut<Target = ConnectionCommon<A>>,
    to: &mut impl std::ops::DerefMut<Target = ConnectionCommon<B>>,
    wire: &mut Vec<u8>,
) -> Result<(), String>
where
    A: rustls::SideData,
    B: rustls::SideData,
{
    wire.clear();
    while from.wants_write() {
        from.write_tls(wire).map_err(|error| error.to_string())?;
    }
    let mut rest = wire.as_slice();
    while !rest.is_empty() {
        to.read_tls(&mut rest).map_err(|error| error.to_string())?;
        to.process_new_packets().map_err(|error| error.to_string())?;
    }
    Ok(())
}

impl Work for Handshakes {
    fn batch(&mut self) -> Result<u64, String> {
        let wanted = match self.kind {
            Handshake::Full => HandshakeKind::Full,
            Handshake::Resumed => HandshakeKind::Resumed,
        };
        match self.one()? {
            Some(kind) if kind == wanted => Ok(1),
            other => Err(format!("{other:?} instead of {wanted:?}")),
        }
    }
}
