//! Compresses the files of the page.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    for file in milepost_page::FILES {
        let packed = File::create(out.join(format!("{}.gz", file.name)))?;
        let mut packed = GzEncoder::new(packed, Compression::best());
        packed.write_all(file.bytes)?;
        packed.finish()?;
    }
    Ok(())
}
