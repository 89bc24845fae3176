//! Texts as addresses and as the JSON form of events; what is read comes back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use milepost::{Address, Body};

fuzz_target!(|text: &str| {
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse::<Address>().ok(), Some(address));
    }
    if let Ok(body) = Body::from_json(text) {
        let (kind, payload) = body.encode();
        assert_eq!(Body::decode(kind, &payload).ok(), Some(body));
    }
});
