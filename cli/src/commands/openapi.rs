//! `openapi`: the description of the service.

// tidy: one command

use super::command::{CliCommand, Examples, Run};

/// Print the OpenAPI 3.1 description of /v1 of `serve`, to generate clients from.
#[derive(Debug, clap::Args)]
pub struct OpenapiArgs;

impl CliCommand for OpenapiArgs {
    const EXAMPLES: Examples = &[("openapi > openapi.json", "to make clients from")];
    const RUN: Run<Self> = Run::Alone(|_, _, out| Ok(out.line(milepost_server::openapi()?)?));
}
