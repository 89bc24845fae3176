//! Takes the files of the page, and those of the API page out of the vendored archive of Swagger
//! UI, each as gzip.

use std::fs::File;
use std::io::{self, Cursor, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The files that the page loads. The archive holds 30 MB of others.
const FILES: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for file in FILES {
        let end = format!("/dist/{file}");
        let found = archive.file_names().find(|name| name.ends_with(&end)).map(str::to_owned);
        let found = found.ok_or_else(|| format!("the archive of Swagger UI has no {file}"))?;
        let packed = File::create(out.join(format!("{file}.gz")))?;
        let mut packed = GzEncoder::new(packed, Compression::best());
        io::copy(&mut archive.by_name(&found)?, &mut packed)?;
        packed.finish()?;
    }
    for file in milepost_page::FILES {
        let packed = File::create(out.join(format!("{}.gz", file.name)))?;
        let mut packed = GzEncoder::new(packed, Compression::best());
        packed.write_all(file.bytes)?;
        packed.finish()?;
    }
    Ok(())
}
