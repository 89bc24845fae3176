//! Takes the viewer of a share and its style as gzip.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use milepost_page::{SHARE_SCRIPT, SHARE_STYLE};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    for (name, text) in [("viewer.js", SHARE_SCRIPT), ("viewer.css", SHARE_STYLE)] {
        let file = File::create(out.join(format!("{name}.gz")))?;
        let mut packed = GzEncoder::new(file, Compression::best());
        packed.write_all(text.as_bytes())?;
        packed.finish()?;
    }
    Ok(())
}
