#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| milepost_fuzz::copilot_sessions(bytes));
