//! Records, sections, groups, headers, bodies and control events: content under the check of
//! something larger, which is still decoded with care.

use milepost_codec::{
    Body, BodyForm, ChunkList, Control, Header, LogBatches, Records, Result, SectionRef, Sections,
};

use crate::targets::bounds::{bounded, told};

/// The first byte of an input for each decoder that is not of a kind.
pub const PLAIN: [&str; 5] = ["header", "records", "sections", "groups", "unknown body"];

/// The kinds of control events begin here.
const CONTROLS: u16 = 256;

/// The first byte of an input for a body of a kind.
pub fn body_selector(kind: u16) -> u8 {
    64 + (kind % 64) as u8
}

/// The first byte of an input for a control event of a kind.
pub fn control_selector(kind: u16) -> u8 {
    128 + (kind.saturating_sub(CONTROLS) % 128) as u8
}

/// Decodes bytes by the kind in the first of them.
pub fn records(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let outcome = bounded("records", rest.len(), 0, || match selector {
        0 => read_header(rest),
        1 => walk_records(Records::new(rest)),
        2 => Sections::new(rest).try_for_each(|section| walk_section(&section?)),
        3 => LogBatches::new(rest).try_for_each(|group| {
            let group = group?;
            assert!(group.span.0 <= group.span.1 && group.span.1 <= rest.len());
            walk_section(&group.section)
        }),
        64..128 => read_body(u16::from(selector - 64), rest),
        128.. => read_control(CONTROLS + u16::from(selector - 128), rest),
        _ => read_body(9999, rest),
    });
    if let Err(error) = outcome {
        told("records", &error);
    }
}

/// Asserts that a decoded value is the same after encoding and decoding.
fn read_header(bytes: &[u8]) -> Result<()> {
    let header = Header::decode(bytes)?;
    assert_eq!(Header::decode(&header.encode())?, header);
    Ok(())
}

fn read_body(kind: u16, bytes: &[u8]) -> Result<()> {
    let body = Body::decode(kind, bytes)?;
    let (kind_again, payload) = body.encode();
    assert_eq!(kind_again, kind);
    assert_eq!(Body::decode(kind, &payload)?, body);
    // There is a JSON form of everything that is stored, and it can be recorded.
    if let Ok(text) = body.to_json() {
        Body::from_json(&text).unwrap_or_else(|e| panic!("{body:?} as JSON: {e}: {text}"));
    }
    Ok(())
}

fn read_control(kind: u16, bytes: &[u8]) -> Result<()> {
    let control = Control::decode(kind, bytes)?;
    let (kind_again, payload) = control.encode();
    assert_eq!(kind_again, kind);
    assert_eq!(Control::decode(kind, &payload)?, control);
    Ok(())
}

fn walk_records(records: Records<'_>) -> Result<()> {
    for record in records {
        let record = record?;
        let header = record.header()?;
        record.body_hash(&[1; 16])?;
        match record.form {
            BodyForm::Inline => {
                let _ = Body::decode(header.kind, record.payload);
                let _ = Control::decode(header.kind, record.payload);
            }
            BodyForm::Chunked => drop(ChunkList::decode(record.payload)?),
            _ => {}
        }
    }
    Ok(())
}

/// Everything that is done with a section.
pub(crate) fn walk_section(section: &SectionRef<'_>) -> Result<()> {
    for at in [0, 1, 2, section.count / 2, section.count, u32::MAX] {
        section.salt(at);
        let _ = section.iter().nth(at as usize);
        // Invalid where a caller asks for more than there is, so not passed on.
        if let Ok(tail) = section.skip(at) {
            tail.encode(&mut Vec::new());
        }
        if let Ok(front) = section.truncate(at) {
            front.encode(&mut Vec::new());
        }
    }
    section.iter().try_for_each(|record| record.map(drop))?;
    walk_records(Records::new(section.records))
}
