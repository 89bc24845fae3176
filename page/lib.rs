//! The page of Milepost: files for a browser, built from TypeScript and embedded in the program.
//!
//! `docs/PAGE.md` says what the page shows. `page/src` has its sources, `page/built` the files of
//! this crate; `page/build` makes them. The service names the files by their hash.
//!
//! ```
//! let script = milepost_page::FILES.iter().find(|file| file.name == "page.js").unwrap();
//! assert_eq!(script.content_type, "text/javascript; charset=utf-8");
//! assert!(milepost_page::HTML.contains("\"/page/page.js\""));
//! ```

#![no_std]

/// A file that the page loads.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// The name, which [`HTML`] has in its addresses as `/page/NAME`.
    pub name: &'static str,
    /// The media type.
    pub content_type: &'static str,
    /// The content.
    pub bytes: &'static [u8],
}

/// The document that loads the files.
pub const HTML: &str = include_str!("built/page.html");

/// The files that the document loads.
pub const FILES: [PageFile; 2] = [
    PageFile {
        name: "page.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("built/page.js"),
    },
    PageFile {
        name: "page.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("built/page.css"),
    },
];

/// The viewer of a share: a module for the one script element of the file (`docs/SHARE.md`). It
/// draws into the body, and reads the elements `share`, `index-N` and `export-N`.
pub const SHARE_SCRIPT: &str = include_str!("built/share.js");

/// The style of the viewer of a share, for its one style element: that of the page.
pub const SHARE_STYLE: &str = include_str!("built/page.css");

/// The policy of the document: scripts, styles and requests are of the service only, and no text
/// becomes HTML.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; connect-src 'self'; img-src 'self' blob:; worker-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types worker";
