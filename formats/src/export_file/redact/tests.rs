use super::views::View;
use super::*;

fn redacted(json: &str) -> String {
    Patterns::new([7; 32]).unwrap().json(json, false).0
}

/// Returns secrets of each pattern, with the name in their replacement.
fn secrets() -> Vec<(&'static str, String)> {
    // Assembled at run time, so that scanners find no secret in this file.
    let long = "aB3".repeat(12);
    let jwt = format!("eyJ{long}.eyJ{long}.{long}");
    let hex = "0badcafe".repeat(8);
    vec![
        ("milepost", format!("mp_0badcafe_{long}")),
        ("milepost", format!("ms_{hex}")),
        ("api-key", format!("sk-proj-{long}")),
        ("api-key", format!("sk-ant-api03-{long}")),
        ("github", format!("ghp_{long}")),
        ("github", format!("github_pat_{long}")),
        ("gitlab", format!("glpat-{long}")),
        ("aws", format!("AKIA{}", "A1B2C3D4E5F6G7H8")),
        ("slack", format!("xoxb-123-{long}")),
        ("slack", format!("xapp-1-{long}")),
        ("google", format!("AIza{}", &long[..35])),
        ("google", format!("GOCSPX-{long}")),
        ("google", format!("ya29.{long}")),
        ("jwt", jwt),
        ("stripe", format!("sk_live_{long}")),
        ("stripe", format!("rk_test_{long}")),
        ("hugging-face", format!("hf_{long}")),
        ("npm", format!("npm_{long}")),
        ("pypi", format!("pypi-{long}")),
        ("sendgrid", format!("SG.{}.{long}", &long[..22])),
        ("azure", format!("abc8Q~{}", &long[..34])),
        ("telegram", format!("123456789:AA{}", &long[..33])),
        ("age", format!("AGE-SECRET-KEY-1{long}")),
    ]
}

/// The place of a token of GitHub in them.
const GITHUB: usize = 4;

#[test]
fn each_pattern_is_found_wherever_it_stands() {
    for (name, secret) in secrets() {
        let found = redacted(&format!(r#"{{"a":["it is {secret}, you know"]}}"#));
        let expected = format!(r#"{{"a":["it is [redacted:{name}], you know"]}}"#);
        assert_eq!(found, expected);
        assert!(!redacted(&format!(r#"{{"{secret}":1}}"#)).contains(&secret));
    }
}

#[test]
fn what_a_secret_was_for_stays() {
    for (text, expected) in [
        ("Bearer abcdefgh1234", "Bearer [redacted:bearer]"),
        ("Authorization: Basic YTpi", "Authorization: Basic [redacted:basic]"),
        ("https://ana:hunter2@host/", "https://ana:[redacted:url]@host/"),
        ("password=hunter2&x=1", "password=[redacted:pair]"),
        ("DB_PASSWORD='a b', y", "DB_PASSWORD=[redacted:pair], y"),
        ("api-key: 1234", "api-key: [redacted:pair]"),
    ] {
        assert_eq!(Patterns::new([7; 32]).unwrap().text(text, false), expected);
    }
    let escaped = redacted(r#"{"log":"{\"password\": \"hunter 2\"}"}"#);
    assert_eq!(escaped, r#"{"log":"{\"password\": \"[redacted:field]\"}"}"#);
}

#[test]
fn a_private_key_goes_as_a_whole_also_where_it_is_cut() {
    let begin = "-----BEGIN RSA PRIVATE KEY-----";
    let whole = format!(r#""a {begin}\nMIIE\n-----END RSA PRIVATE KEY----- b""#);
    assert_eq!(redacted(&whole), r#""a [redacted:private-key] b""#);
    let cut = format!(r#""a {begin}\nMIIE""#);
    assert_eq!(redacted(&cut), r#""a [redacted:private-key]""#);
}

#[test]
fn a_field_with_the_name_of_a_secret_loses_its_text() {
    let found = redacted(r#"{"OPENAI_API_KEY" : "x", "tokens": "y", "Token": ["z"], "pwd":""}"#);
    let field = r#""[redacted:field]""#;
    let expected =
        format!(r#"{{"OPENAI_API_KEY" : {field}, "tokens": "y", "Token": [{field}], "pwd":""}}"#);
    assert_eq!(found, expected);
    // A measure of tokens is not a secret, and a number with the name of a password is one.
    let numbers = redacted(r#"{"loss_per_token": 0.25, "password": 4711, "n": 7}"#);
    assert_eq!(numbers, format!(r#"{{"loss_per_token": 0.25, "password": {field}, "n": 7}}"#));
}

#[test]
fn a_name_holds_for_all_within_its_value_and_an_option_for_the_next_argument() {
    let field = r#""[redacted:field]""#;
    for (given, expected) in [
        (r#"{"token":{"v":"x","of":[{"w":"y"}]}}"#, r#"{"token":{"v":F,"of":[{"w":F}]}}"#),
        (r#"{"token":{"count":3}}"#, r#"{"token":{"count":3}}"#),
        (r#"["tool","--password","x","y"]"#, r#"["tool","--password",F,"y"]"#),
        (r#"["--api-key",["x"],"--api-key"]"#, r#"["--api-key",[F],"--api-key"]"#),
    ] {
        assert_eq!(redacted(given), expected.replace('F', field));
    }
}

#[test]
fn forms_of_tokens_have_no_other_place() {
    let patterns = Patterns::new([7; 32]).unwrap();
    let (long, hex) = ("aB3".repeat(12), "ab12".repeat(10));
    for token in [
        format!("nvapi-{long}"),
        format!("pul-{hex}"),
        format!("https://{long}@example.org/a"),
        format!("{}.atlasv1.{long}{long}", &long[..14]),
        format!("ana:$apr1$abcdefgh${long}"),
        format!("$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ${long}"),
        format!("AKIA{} and {long}aB3+", "A1B2C3D4E5F6G7H8"),
    ] {
        let found = patterns.text(&token, false);
        assert!(!found.contains(&long[..14]) && !found.contains(&hex), "{token}: {found}");
    }
}

#[test]
fn a_patch_is_a_field_that_is_named_by_its_path() {
    for (given, expected) in [
        (
            r#"[{"op":"add","path":"/a/db~1password","value":"hunter2"}]"#,
            r#"[{"op":"add","path":"/a/db~1password","value":"[redacted:field]"}]"#,
        ),
        (
            r#"{"value":"hunter2","name":"API_KEY"}"#,
            r#"{"value":"[redacted:field]","name":"API_KEY"}"#,
        ),
        (
            r#"{"key":"x-token","n":1,"value":"hunter2"}"#,
            r#"{"key":"x-token","n":1,"value":"[redacted:field]"}"#,
        ),
        (r#"{"name":"city","value":"Rome"}"#, r#"{"name":"city","value":"Rome"}"#),
        (r#"{"path":"/","value":"a"}"#, r#"{"path":"/","value":"a"}"#),
    ] {
        assert_eq!(redacted(given), expected);
    }
}

#[test]
fn pairs_are_found_as_programs_print_them() {
    let patterns = Patterns::new([7; 32]).unwrap();
    for text in [
        "password := hunter2",
        "password == hunter2",
        "'password' => 'hunter2'",
        "password: b'hunter2'",
        "environ['DB_PASSWORD'] = 'hunter2'",
        "password: \"hun\\\"ter2 hunter2\"",
        "password=\\\"hunter2\\\"",
        "curl --token hunter2 x",
        "mysql --password 'a hunter2'",
        "https://u:p@hunter2@host/",
        "redis://:hunter2@host/0",
        // To its end, whatever is in it.
        "DB_PASSWORD=ab,hunter2",
        "DB_PASSWORD=ab&hunter2",
        "DB_PASSWORD=ab;hunter2",
        "DB_PASSWORD=ab'hunter2",
        "DB_PASSWORD=ab\"hunter2",
        "DB_PASSWORD=ab\"c d hunter2\"",
        "DB_PASSWORD='ab'\"hunter2\"",
        "DB_PASSWORD=\"ab hunter2",
        "DB_PASSWORD=ab\\ hunter2",
        "DB_PASSWORD=ab\\\n  hunter2",
        "password = \"\"\"\nhunter2\n\"\"\"",
        "password: correct horse hunter2",
        "  db password: correct horse hunter2\nnext: 1",
        // Blocks
        "password: |\n  hunter2\n",
        "secret: >-\n  one\n\n  hunter2\nnext: 1",
        "- token: |2+ # why\n    hunter2",
        "a:\n  'api_key': !str &x |\r\n    one\r\n    hunter2\r\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nhunter2\n-----END PGP PRIVATE KEY BLOCK-----",
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nhunter2",
        "Private-Lines: 8\nhunter2\nPrivate-MAC: 00",
        // Headers
        "Authorization: token hunter2",
        "Authorization: ApiKey hunter2",
        "Proxy-Authorization: hunter2",
        "Authorization: Digest username=\"a\", response=\"hunter2\"",
        "curl -H 'Authorization: token ab,hunter2' https://x",
        "{'Authorization': 'Key hunter2'}",
        "Cookie: a=1; sid=hunter2",
        "Set-Cookie: sid=hunter2; Path=/",
        // Programs
        "machine example.org login ana password hunter2",
        "machine example.org\n  login ana\n  password hunter2\n",
        "curl -u ana:hunter2 https://x",
        "curl -s \\\n  --user 'ana:a hunter2' https://x",
        "curl -uana:hunter2 https://x",
        "curl -b 'sid=hunter2' https://x",
        "sshpass -p hunter2 ssh x",
        "mysql -u ana -phunter2 db",
        "openssl rsa -passin pass:hunter2",
        "passphrase: hunter2",
        "SECRET_KEY = 'hunter2'",
        "AccountName=a;AccountKey=hunter2==;EndpointSuffix=x",
        "<password>hunter2</password>",
        // Readings
        "password%3Dhunter2",
        "password\u{1b}[0m=\u{1b}[1mhunter2",
        "\\x70assword=hunter2",
        "&#112;assword=&quot;a hunter2&quot;",
    ] {
        assert_found(&patterns, text);
    }
}

fn assert_found(patterns: &Patterns, text: &str) {
    let found = patterns.text(text, false);
    assert!(!found.contains("hunter2"), "{text}: {found}");
    assert!(found.contains("[redacted:"), "{text}: {found}");
}

#[test]
fn values_are_found_apart_from_their_names_and_behind_marks_of_lines() {
    let patterns = Patterns::new([7; 32]).unwrap();
    for text in [
        "redis-cli -h x -a hunter2 ping",
        "ldapsearch -D cn=ana -w hunter2",
        "mongosh -u ana -p hunter2",
        "unzip -P hunter2 a.zip",
        "SECRET_KEY_BASE=hunter2",
        "passwords: hunter2",
        // Names apart from their values
        "{\"name\": \"DB_PASSWORD\", \"value\": \"hunter2\"}",
        "{\\\"key\\\": \\\"X-Token\\\", \\\"value\\\": \\\"a hunter2\\\"}",
        "<add key=\"Password\" value=\"hunter2\"/>",
        "x {\"password\": {\"n\": 1, \"value\": \"hunter2\"",
        "x \"passwords\": [\"ab\", \"hunter2\"",
        "run(\"tool\", \"--password\", \"hunter2\")",
        "password = <<EOF\nhunter2\nEOF",
        "export TOKEN=$(cat <<-'END'\n  one\n  hunter2\nEND\n)",
        "password\thunter2",
        "The password is hunter2.",
        "Password for ana: hunter2",
        "password\u{ff1a}hunter2",
        "apiVersion: v1\nkind: Secret\ndata:\n  other: hunter2\n",
        "data:\n  other: hunter2\nkind: Secret\n",
        "kind: Secret\nstringData:\n  other: hunter2",
        // Readings
        "+password: |\n+  hunter2\n",
        "     1\tpassword: |\n     2\t  hunter2\n",
        "     9→a:\n    10→  password: |\n    11→    hunter2\n",
        "password%253Dhunter2",
        "password%25253Dhunter2",
    ] {
        assert_found(&patterns, text);
    }
}

#[test]
fn no_way_to_write_a_secret_down_hides_it() {
    let (name, secret) = secrets().swap_remove(0);
    let escapes: String = secret.bytes().map(|b| format!("\\u{b:04x}")).collect();
    for given in [
        format!(r#"{{"a":"{escapes}"}}"#),
        format!(r#"{{"a":"\ud800 {escapes}"}}"#),
        format!(r#"{{"a":"\udc00{escapes}\ud800"}}"#),
        format!(r#"{{"a":"\ud83d\ude00{escapes}"}}"#),
        format!(r#"["{{\"b\":\"{{\\\"c\\\":\\\"{secret}\\\"}}\"}}"]"#),
        format!(r#"["{{\"b\":\"\\{}\"}}"]"#, &escapes.replace('\\', "\\\\")[2..]),
    ] {
        let found = redacted(&given);
        serde_json::from_str::<serde::de::IgnoredAny>(&found).expect(&found);
        assert!(found.contains(&format!("[redacted:{name}]")), "{found}");
        assert!(!found.contains(&secret), "{found}");
        assert!(!found.contains(&escapes), "{found}");
    }
}

#[test]
fn a_name_rule_holds_in_json_that_stands_as_text() {
    let inner = r#"{"client_secret":"hunter2","n":1.50}"#;
    let given = serde_json::json!({ "arguments": inner }).to_string();
    let expected = serde_json::json!({ "arguments": inner.replace("hunter2", "[redacted:field]") });
    assert_eq!(redacted(&given), expected.to_string());
}

#[test]
fn names_that_become_one_get_numbers() {
    let secrets = secrets();
    let (one, two) = (&secrets[GITHUB].1, format!("{}x", secrets[GITHUB].1));
    let given = format!(r#"{{"a":{{"{one}":1,"{two}":2,"b":3}},"{one}":4}}"#);
    assert_eq!(
        redacted(&given),
        r#"{"a":{"[redacted:github]":1,"[redacted:github]-2":2,"b":3},"[redacted:github]":4}"#
    );
}

#[test]
fn keys_stay_as_different_as_they_were() {
    let patterns = Patterns::new([7; 32]).unwrap();
    let secret = &secrets()[GITHUB].1;
    let (one, two) = (format!("{secret}1"), format!("{secret}2"));
    let key = |key: &str| patterns.key(key, 100);
    assert_eq!(key("plain"), "plain");
    assert!(key(&one).starts_with("[redacted:github]-"));
    assert_eq!(key(&one), key(&one));
    assert_ne!(key(&one), key(&two));
    let long = format!("{} {one}", "x".repeat(90));
    assert_eq!(key(&long).len(), 64, "the hash alone");
}

#[test]
fn what_is_brief_is_never_longer() {
    let patterns = Patterns::new([7; 32]).unwrap();
    for text in [
        "password=a",
        "password: ''",
        "x://:p@h",
        "Bearer abcdefgh",
        "authorization: basic a",
        "--token a",
    ] {
        let found = patterns.text(text, true);
        assert!(found.len() <= text.len() && found.contains('*'), "{text}: {found}");
    }
    for json in [r#"{"token":"a"}"#, r#"{"a":{"base64":"cGFzc3dvcmQ9YQ=="}}"#] {
        let found = patterns.json(json, true).0;
        assert!(found.len() <= json.len() && found != json, "{json}: {found}");
    }
}

#[test]
fn bytes_with_a_secret_are_replaced() {
    let (_, secret) = secrets().swap_remove(0);
    let bytes = [b"\xff ", secret.as_bytes()].concat();
    let json = format!(r#"{{"data":{{"base64":"{}"}}}}"#, BASE64.encode(&bytes));
    let instead = BASE64.encode(b"[redacted:bytes]");
    assert_eq!(redacted(&json), format!(r#"{{"data":{{"base64":"{instead}"}}}}"#));
}

#[test]
fn a_checkpoint_has_its_other_id_wherever_it_is_named() {
    let patterns = Patterns::new([7; 32]).unwrap();
    let (id, not) = (CheckpointId([1; 32]), CheckpointId([2; 32]));
    let other = patterns.checkpoint(id);
    assert_ne!(other, id);
    let found = patterns.json(&format!(r#"{{"parent":"{id}","n":["{not}"]}}"#), false).0;
    assert_eq!(found, format!(r#"{{"parent":"{other}","n":["{not}"]}}"#));
}

#[test]
fn what_is_no_secret_stays_word_for_word() {
    for json in [
        r#"{"kind":"message","content":"a token of love \ud83d\ude00 \ud800","n":1.50}"#,
        r#"{"hash":"b25a9af56c94b42a64bd2d1b83ed6f619328715abf04bc67d31ac363a4bf0e9f"}"#,
        r#"["https://example.org/a:b@c","sk-short","bearer of news"]"#,
        "12",
        "",
    ] {
        assert_eq!(redacted(json), json);
    }
}

/// A way to write a text down.
fn written(secret: &str, way: usize, at: usize) -> String {
    let (front, back) = secret.split_at(1 + at % (secret.len() - 1));
    let percent = |text: &str| text.bytes().map(|b| format!("%{b:02X}")).collect::<String>();
    match way {
        0 => secret.to_owned(),
        1 => percent(secret),
        2 => format!("{}{back}", percent(front)),
        3 => format!("{front}\u{1b}[31m{back}\u{1b}[0m"),
        4 => format!("{front}\n{back}"),
        5 => format!("{front}\\\n    {back}"),
        6 => format!("{front}\r\n> {back}"),
        7 => format!("{front}\u{200b}{back}"),
        8 => BASE64.encode(format!("key {secret}").as_bytes()),
        9 => secret.bytes().map(|b| format!("\\x{b:02x}")).collect(),
        10 => secret.bytes().map(|b| format!("&#{b};")).collect(),
        11 => data_encoding::HEXLOWER.encode(secret.as_bytes()),
        _ => format!("{front}\u{1b}]8;;x\u{7}{back}"),
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    #[test]
    fn a_planted_secret_remains_in_no_way_to_write_it(
        which in 0_usize..23,
        way in 0_usize..13,
        at in 0_usize..1000,
        before in "([ -~]{0,20}|[ -~\n\u{e9}\u{4e2d}]{0,20}) ",
        after in "[ \n\"',;&)]([ -~]{0,20}|[ -~\n\u{e9}\u{4e2d}]{0,20})",
        in_json in proptest::prelude::any::<bool>(),
    ) {
        let secret = secrets().swap_remove(which).1;
        let text = format!("{before}{}{after}", written(&secret, way, at));
        let patterns = Patterns::new([7; 32]).unwrap();
        let found = match in_json {
            true => {
                let json = serde_json::json!({ "content": [text] }).to_string();
                let found = patterns.json(&json, false).0;
                let value: serde_json::Value = serde_json::from_str(&found).unwrap();
                value["content"][0].as_str().unwrap().to_owned()
            }
            false => patterns.text(&text, false),
        };
        // No reading of it has a longer part of the secret than what names its kind.
        let plain = View::plain(&found).map_or(found.clone(), |view| view.text);
        let decoded = View::decoded(&plain).map_or(plain, |view| view.text);
        let flat: String = decoded.chars().filter(|c| !c.is_whitespace()).collect();
        let tail = &secret[secret.len() - 12..];
        let base64 = BASE64.encode(tail.as_bytes());
        let hex = data_encoding::HEXLOWER.encode(tail.as_bytes());
        for left in [tail, &base64[..12], &hex] {
            proptest::prop_assert!(!flat.contains(left), "{} in {}", left, found);
        }
    }
}
