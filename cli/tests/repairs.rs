//! Damage that was repaired leaves a record, which `verify` and `doctor` count.

use std::fs;

use serde_json::Value;

use crate::common::{Place, text};

/// Changes one byte in the middle of the used part of the journal's newest segment.
fn edit_journal(place: &Place) {
    let journal = place.store().join("journal");
    let mut segments: Vec<_> = (fs::read_dir(journal).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().contains("spare"))
        .collect();
    segments.sort();
    let segment = segments.pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[4096 + (end - 4096) / 2] ^= 1;
    fs::write(segment, bytes).unwrap();
}

#[test]
fn an_edited_store_ends_verify_and_doctor_with_3_until_it_is_acknowledged() {
    let place = Place::recorded();
    assert_eq!(place.json("verify")["ok"], true);
    edit_journal(&place);
    // Another command opens the store first, and mends it.
    assert_eq!(place.say("log run -n 1").code, 0);

    let verify = place.say("verify");
    assert_eq!(verify.code, 3, "{verify:?}");
    assert!(verify.out.contains("journal/00") && verify.out.contains("mended from sled"));
    assert!(verify.out.contains("known whole 20") && verify.out.contains("no fault found now"));
    assert!(verify.err.contains("1 repair on record"), "{verify:?}");
    let doctor = place.say("doctor");
    assert_eq!(doctor.code, 3, "{doctor:?}");
    assert!(doctor.out.contains("WRONG  repairs") && doctor.out.contains("journal/00"));
    let json: Value = serde_json::from_str(&place.say("verify --json").out).unwrap();
    assert_eq!((&json["ok"], json["faults"].as_array().unwrap().len()), (&false.into(), 0));
    let repair = json["repairs"][0].clone();
    assert!(text(&repair, "place").starts_with("journal/"), "{repair}");
    assert!(text(&repair, "whole_at") < text(&repair, "found_at"), "{repair}");

    let acknowledged = place.say("verify --acknowledge").ok();
    assert!(acknowledged.contains("acknowledged 20"), "{acknowledged}");
    assert!(place.say("verify").ok().ends_with("no fault found\n"));
    let doctor = place.say("doctor");
    assert_eq!(doctor.code, 0, "{doctor:?}");
    assert!(doctor.out.contains("1 repair on record, all acknowledged"), "{doctor:?}");
    assert!(doctor.out.contains("journal/00"), "the record can be read after that: {doctor:?}");
}
