#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| milepost_fuzz::opencode_exports(bytes));
