use milepost::Engine;
use milepost_formats::{Format, Result};
use std::path::Path;
#[derive(Debug)]
pub struct SessionTail;
#[derive(Debug, Clone, Copy)]
pub enum TailStop<'a> {
    End,
    BeforeCall(&'a str),
    AfterCall(&'a str),
}
impl SessionTail {
    pub fn new(_e: &Engine, _f: Format, _p: &Path, _t: &str, _u: &str) -> Result<Self> {
        Ok(Self)
    }
    pub fn read_on(&mut self, _s: TailStop<'_>) -> Result<()> {
        Ok(())
    }
}
