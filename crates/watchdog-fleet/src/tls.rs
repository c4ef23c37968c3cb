//! TLS to the server, with libpq's meanings of `sslmode`. Without a file of authorities, the system's own judge it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream as PostgresTls};
use tokio_rustls::TlsConnector;

use crate::connection_settings::{ConnectionSettings, TlsMode};
use crate::end_point::end_point;
use crate::fleet_error::FleetError;

/// Begins TLS with a server.
#[derive(Clone)]
pub(crate) struct ServerTls {
    connector: TlsConnector,
    is_encrypted: Arc<AtomicBool>,
}

impl ServerTls {
    /// # Errors
    /// Fails if the file of authorities cannot be read or has none, or the system's cannot be had.
    pub(crate) fn new(settings: &ConnectionSettings) -> Result<Self, FleetError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = settings.root_certificates.is_some();
        let check = match settings.tls {
            TlsMode::VerifyFull => Some(true),
            TlsMode::VerifyCa => Some(false),
            // libpq's: authorities that were named are asked.
            TlsMode::Require if roots => Some(false),
            _ => None,
        };
        let verifier: Arc<dyn ServerCertVerifier> = match check {
            Some(true) => build_verifier(settings, &provider)?,
            Some(false) => Arc::new(NamelessServer {
                authority: Some(build_verifier(settings, &provider)?),
                provider: provider.clone(),
            }),
            None => Arc::new(NamelessServer {
                authority: None,
                provider: provider.clone(),
            }),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| new_tls_error(settings, &error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(ServerTls {
            connector: TlsConnector::from(Arc::new(config)),
            is_encrypted: Arc::default(),
        })
    }

    /// A connection is made anew: nothing is encrypted yet.
    pub(crate) fn begin(&self) {
        self.is_encrypted.store(false, Ordering::Relaxed);
    }

    /// Whether TLS was agreed on since.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted.load(Ordering::Relaxed)
    }
}

fn new_tls_error(settings: &ConnectionSettings, why: &dyn std::fmt::Display) -> FleetError {
    FleetError::Tls {
        server: settings.server(),
        why: why.to_string(),
    }
}

fn build_verifier(
    settings: &ConnectionSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, FleetError> {
    let Some(path) = &settings.root_certificates else {
        return Ok(Arc::new(
            Verifier::new(provider.clone()).map_err(|error| new_tls_error(settings, &error))?,
        ));
    };
    let unreadable = |why: String| FleetError::File {
        path: path.clone(),
        why,
    };
    let mut roots = RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?
    {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("it has no certificate in it".into()));
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    Ok(verifier.map_err(|error| new_tls_error(settings, &error))?)
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for ServerTls {
    type Stream = EncryptedStream<S>;
    type TlsConnect = ServerHandshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<ServerHandshake, io::Error> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(ServerHandshake {
            connector: self.connector.clone(),
            name,
            is_encrypted: self.is_encrypted.clone(),
        })
    }
}

/// A handshake to be made.
pub(crate) struct ServerHandshake {
    connector: TlsConnector,
    name: ServerName<'static>,
    is_encrypted: Arc<AtomicBool>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ServerHandshake {
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let begun = self.connector.connect(self.name, stream);
        Box::pin(async move {
            let stream = begun.await?;
            self.is_encrypted.store(true, Ordering::Relaxed);
            Ok(EncryptedStream(stream))
        })
    }
}

/// A connection over TLS that knows what a login is bound to.
pub(crate) struct EncryptedStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> PostgresTls for EncryptedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let certificate = self
            .0
            .get_ref()
            .1
            .peer_certificates()
            .and_then(<[_]>::first);
        certificate
            .and_then(|der| end_point(der))
            .map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EncryptedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Takes a server without its name: with an authority, one whose certificate that authority signed, as `verify-ca` does; without one, whoever
/// answers, as `prefer` and `require` do: against listeners, not against somebody in between.
#[derive(Debug)]
struct NamelessServer {
    authority: Option<Arc<dyn ServerCertVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for NamelessServer {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        match authority.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is looked at last: everything else was in order.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
