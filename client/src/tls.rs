//! Trust of TLS certificates.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::error::{Error, Result};

/// Parses trusted certificates from PEM.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(read) if read.is_empty() => Err(invalid("there is no certificate in the PEM")),
        Ok(read) => Ok(read),
        Err(error) => Err(invalid(format!("the PEM cannot be read: {error}"))),
    }
}

/// Returns a TLS configuration that trusts the system's certificates and those in `roots`. It
/// neither uses nor changes the process-wide TLS settings, which belong to the program.
pub(crate) fn config(roots: Vec<CertificateDer<'static>>) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(roots, provider.clone()).map_err(invalid)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

/// Returns a configuration for clients without TLS: it trusts no certificate and reads no files.
pub(crate) fn none() -> Result<ClientConfig> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_root_certificates(RootCertStore::empty());
    Ok(config.with_no_client_auth())
}

fn invalid(text: impl ToString) -> Error {
    Error::invalid("TLS", text.to_string())
}
