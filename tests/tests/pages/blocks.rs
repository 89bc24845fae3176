//! Code blocks of a page, which are the same in each language.

/// A block: its language, and its lines without comments.
type Block = (String, Vec<String>);

/// The blocks of a page, without drawings and output, whose words are translated.
pub fn of(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                blocks.push((language.to_owned(), Vec::new()));
            }
        } else if let Some((language, lines)) = blocks.last_mut().filter(|_| inside) {
            let plain = without_comment(language, line);
            if !plain.is_empty() {
                lines.push(plain);
            }
        }
    }
    blocks.retain(|(language, _)| language != "text");
    blocks
}

fn without_comment(language: &str, line: &str) -> String {
    let mark = if language.starts_with("rust") { "// " } else { "# " };
    // A comment is at the beginning of a line, or after a space.
    let padded = format!(" {line}");
    let plain = match padded.split_once(&format!(" {mark}")) {
        Some((plain, _)) => plain,
        None => &padded,
    };
    plain.strip_prefix(' ').unwrap_or(plain).trim_end().to_owned()
}

#[test]
fn blocks_are_equal_apart_from_comments() {
    let english = "x\n```sh\nrun it   # quickly\n# first\necho '#a'\n```\n```text\nbox\n```\n";
    let chinese = "y\n```sh\nrun it # 快\necho '#a'\n```\n";
    assert_eq!(of(english), of(chinese));
    assert_ne!(of(english), of("```sh\nrun it\n```\n"));
    assert_eq!(of("```rust,no_run\n    a(); // b\n```\n")[0].1, ["    a();"]);
    assert_eq!(of("```sh\ncurl http://a//b\n```\n")[0].1, ["curl http://a//b"]);
}
