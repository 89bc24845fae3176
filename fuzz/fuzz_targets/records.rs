//! Bytes as records, sections, groups and events: whatever they are, reading them ends, without a
//! panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use milepost_codec::{Body, Control, Groups, Header, Records, Sections};

fuzz_target!(|bytes: &[u8]| {
    for record in Records::new(bytes).flatten() {
        if let Ok(header) = record.header() {
            let _ = Body::decode(header.kind, record.payload);
            let _ = Control::decode(header.kind, record.payload);
        }
        let _ = record.body_hash(&[0; 16]);
    }
    for section in Sections::new(bytes).flatten() {
        let _ = section.iter().count();
        let _ = section.skip(section.count / 2);
        let _ = section.truncate(section.count / 2);
    }
    let _ = Groups::new(bytes).count();
    let _ = Header::decode(bytes);
});
