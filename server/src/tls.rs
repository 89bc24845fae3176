//! TLS certificates that can be reloaded.

use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificate and key of a service. Cheap to clone: all clones share one.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Tls");
        shown.field("certificate", &self.0.certificate);
        shown.field("key", &self.0.key).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads PEM files: a certificate followed by its chain, and its private key.
    ///
    /// # Errors
    ///
    /// A file cannot be read or lacks its content, or the key does not belong to the certificate.
    pub fn read(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> io::Result<Self> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = RwLock::new(Arc::new(config(&certificate, &key)?));
        Ok(Self(Arc::new(Inner { certificate, key, current })))
    }

    /// Reads both files again, for new connections.
    ///
    /// # Errors
    ///
    /// As [`Tls::read`]; the previous certificate stays in use.
    pub fn reload(&self) -> io::Result<()> {
        let new = Arc::new(config(&self.0.certificate, &self.0.key)?);
        *self.0.current.write() = new;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0.current.read()))
    }
}

fn config(certificate: &Path, key: &Path) -> io::Result<ServerConfig> {
    let chain =
        CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|e| unreadable("certificate", certificate, &e))?;
    if chain.is_empty() {
        return Err(unreadable("certificate", certificate, &pem::Error::NoItemsFound));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable("key", key, &e))?;
    let versions = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(Error::other)?;
    let config = versions.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = config.map_err(|e| {
        let (certificate, key) = (certificate.display(), key.display());
        let text =
            format!("the certificate {certificate} and the key {key} cannot be used together: {e}");
        Error::new(ErrorKind::InvalidData, text)
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn unreadable(what: &str, path: &Path, error: &pem::Error) -> Error {
    let path = path.display();
    match error {
        pem::Error::Io(error) => {
            Error::new(error.kind(), format!("cannot read the {what} {path}: {error}"))
        }
        pem::Error::NoItemsFound => {
            Error::new(ErrorKind::InvalidData, format!("there is no {what} as PEM in {path}"))
        }
        // The content is not shown: it may be a key.
        _ => Error::new(ErrorKind::InvalidData, format!("the {what} {path} is no PEM")),
    }
}
