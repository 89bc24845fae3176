use super::*;
use std::os::unix::fs::PermissionsExt as _;

fn new(user: &str) -> NewToken {
    NewToken { user: user.into(), ..NewToken::default() }
}

#[test]
fn a_token_is_taken_until_it_ends_or_is_revoked_and_by_other_handles_too() {
    let dir = tempfile::tempdir().unwrap();
    let (tokens, other) = (Tokens::of_store(dir.path()), Tokens::of_store(dir.path()));
    assert!(!other.any().unwrap());
    let (ana, shown) = tokens.create(&new("ana"), 10).unwrap();
    let ends = NewToken { expires_us: Some(20), admin: true, ..new("bob") };
    let (bob, his) = tokens.create(&ends, 10).unwrap();
    assert!(other.any().unwrap() && shown != his && shown.starts_with("mp_"));
    assert_eq!(other.list().unwrap(), [ana.clone(), bob.clone()]);
    assert_eq!(other.check(&shown, 1 << 60).unwrap(), Ok(ana.clone()));
    assert_eq!(other.check(&his, 19).unwrap(), Ok(bob));
    assert_eq!(other.check(&his, 20).unwrap(), Err(Refused::Expired));
    tokens.revoke(&ana.id, 30).unwrap();
    tokens.revoke(&ana.id, 40).unwrap();
    assert_eq!(other.check(&shown, 30).unwrap(), Err(Refused::Revoked));
    assert_eq!(other.list().unwrap()[0].revoked_us, Some(30));
    let none = tokens.revoke("ffffffff", 1).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

#[test]
fn what_nobody_made_is_refused_whatever_it_looks_like() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_store(dir.path());
    let (info, token) = tokens.create(&new("ana"), 0).unwrap();
    let secret = token.splitn(3, '_').nth(2).unwrap();
    let long = format!("{token}A");
    let zero = format!("mp_{}_{}", info.id, "A".repeat(43));
    let elsewhere = format!("mp_00000000_{secret}");
    let cut = &token[..token.len() - 1];
    for wrong in ["", "mp_", "mp__", "Bearer", &info.id, secret, &long, &zero, &elsewhere, cut] {
        assert_eq!(tokens.check(wrong, 0).unwrap(), Err(Refused::Unknown), "{wrong}");
    }
    for n in 0..token.len() {
        let mut other = token.clone().into_bytes();
        other[n] = if other[n] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        assert_eq!(tokens.check(&other, 0).unwrap(), Err(Refused::Unknown), "{n}");
    }
}

#[test]
fn the_file_is_the_owners_only_and_has_no_secret_and_one_that_is_damaged_lets_nobody_in() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_store(dir.path());
    let (_, token) = tokens.create(&new("ana"), 0).unwrap();
    let path = dir.path().join("server/tokens.json");
    let bits = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((bits(&path), bits(path.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(token.splitn(3, '_').nth(2).unwrap()));
    for wrong in ["", "{}", "[]", r#"{"version": 2, "tokens": []}"#, &text[..text.len() - 9]] {
        fs::write(dir.path().join("beside"), wrong).unwrap();
        own(&dir.path().join("beside"));
        fs::rename(dir.path().join("beside"), &path).unwrap();
        assert_eq!(tokens.check(&token, 0).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(tokens.any().unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(tokens.create(&new("bob"), 0).is_err(), "nothing is written over");
    }
}

/// Sets the mode that tokens require.
fn own(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn tokens_in_a_file_that_others_may_read_or_that_is_a_link_do_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_store(dir.path());
    let (_, token) = tokens.create(&new("ana"), 0).unwrap();
    let path = dir.path().join("server/tokens.json");
    for mode in [0o644, 0o640, 0o620, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let tokens = Tokens::of_store(dir.path());
        let error = tokens.check(&token, 0).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        assert!(tokens.create(&new("bob"), 0).is_err(), "{mode:o}");
    }
    own(&path);
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(Tokens::of_store(dir.path()).check(&token, 0).is_err());
    fs::remove_file(&path).unwrap();
    fs::hard_link(&elsewhere, &path).unwrap();
    assert!(Tokens::of_store(dir.path()).check(&token, 0).is_err());
    fs::remove_file(&elsewhere).unwrap();
    assert!(Tokens::of_store(dir.path()).check(&token, 0).unwrap().is_ok());
}

#[test]
fn tokens_that_are_gone_let_nobody_in() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_store(dir.path());
    let (_, token) = tokens.create(&new("ana"), 0).unwrap();
    let path = dir.path().join("server/tokens.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(tokens.any().unwrap_err().kind(), ErrorKind::Corrupt);
    fs::write(&path, r#"{"version": 1, "tokens": []}"#).unwrap();
    own(&path);
    assert_eq!(tokens.check("", 0).unwrap_err().kind(), ErrorKind::Corrupt);
    fs::write(&path, text).unwrap();
    assert_eq!(tokens.check(&token, 0).unwrap().unwrap().user, "ana");
}

#[test]
fn names_that_are_none_and_tokens_that_have_ended_are_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_store(dir.path());
    let long = "u".repeat(257);
    for wrong in ["", "a\nb", "\0", &long] {
        let error = tokens.create(&new(wrong), 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    let ended = NewToken { expires_us: Some(5), ..new("ana") };
    assert_eq!(tokens.create(&ended, 5).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(Tokens::none().create(&new("ana"), 0).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(!Tokens::none().any().unwrap() && !tokens.any().unwrap());
}
