//! The page: its document and files, their headers, and who gets them.

use milepost_server::ServerOptions;

use crate::changing::dressed;
use crate::served::{Came, Served, request};

/// The headers of a navigation from a page of another origin.
const LINK: [(&str, &str); 3] = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

/// The addresses of the files that a document loads.
fn files(document: &Came) -> Vec<String> {
    let html = String::from_utf8(document.bytes.clone()).unwrap();
    let found = html.split('"').filter(|part| part.starts_with("/page/"));
    let found: Vec<_> = found.map(str::to_owned).collect();
    assert_eq!(found.len(), 2, "{html}");
    found
}

#[tokio::test]
async fn the_page_is_there_without_a_token_and_has_nothing_of_the_store() {
    let served = Served::new();
    let document = served.get("/").await;
    served.token("ana", false);
    served.task("essay", "ana", 1);
    let again = served.get("/").await;
    assert_eq!((document.status, again.status), (200.try_into().unwrap(), document.status));
    assert_eq!((&document.bytes, document.header("etag")), (&again.bytes, again.header("etag")));
    assert_eq!(document.header("content-type"), "text/html; charset=utf-8");
    for path in files(&document) {
        let file = served.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        let kind = if path.ends_with(".js") { "text/javascript" } else { "text/css" };
        assert_eq!(file.header("content-type"), format!("{kind}; charset=utf-8"));
        // Its name changes with its content.
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        let hash = blake3::hash(&file.bytes).to_hex();
        assert!(path.contains(&format!(".{}.", &hash[..16])), "{path}");
    }
    for path in ["/page/page.js", "/page/page.html", "/page/", "/page/..%2fpage.js"] {
        assert_eq!(served.get(path).await.status, 404, "{path}");
    }
    assert_eq!(served.get("/v1/me").await.status, 401);
    let icon = served.get("/favicon.ico").await;
    assert_eq!((icon.status.as_u16(), icon.bytes.len()), (204, 0));
    assert_eq!(icon.header("cache-control"), "public, max-age=86400");
}

#[tokio::test]
async fn the_document_is_asked_for_again_and_is_the_same_until_the_program_is_another() {
    let served = Served::new();
    let document = served.get("/").await;
    assert_eq!(document.header("cache-control"), "no-cache");
    let tag = document.header("etag").to_owned();
    let known = dressed(request("GET", "/", None, ""), &[("if-none-match", &tag)]);
    let same = served.ask(known).await;
    assert_eq!((same.status, same.bytes.len()), (304.try_into().unwrap(), 0));
    assert_eq!(same.header("content-security-policy"), milepost_page::CONTENT_SECURITY_POLICY);
}

#[tokio::test]
async fn pages_and_files_have_the_headers_that_keep_others_out() {
    let served = Served::new();
    let document = served.get("/").await;
    let mut paths = files(&document);
    paths.push("/".into());
    for path in paths {
        let came = served.get(&path).await;
        for (name, value) in [
            ("content-security-policy", milepost_page::CONTENT_SECURITY_POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(came.header(name), value, "{path} {name}");
        }
    }
    // Nothing in the document needs more than the policy allows.
    let html = String::from_utf8(document.bytes).unwrap();
    for inline in ["<style", " style=", " onload=", "javascript:", "http://", "https://"] {
        assert!(!html.contains(inline), "{inline}: {html}");
    }
    let scripts = html.split("<script").skip(1);
    assert!(scripts.into_iter().all(|rest| rest.split('>').next().unwrap().contains("src=")));
    for path in ["/docs/", "/docs/page.js", "/docs/page.css"] {
        let came = served.get(path).await;
        let policy = came.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{path} {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path} {policy}");
        assert_eq!(came.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn a_link_elsewhere_leads_to_the_page_and_to_nothing_else() {
    let served = Served::new();
    let file = files(&served.get("/").await).remove(0);
    let ask = |path: &str, headers: &[(&'static str, &str)]| {
        served.ask(dressed(request("GET", path, None, ""), headers))
    };
    assert_eq!(ask("/", &LINK).await.status, 200);
    assert_eq!(ask("/v1/tasks", &LINK).await.status, 403);
    // A request that is not a navigation loads a part into the page of another origin.
    for mode in ["no-cors", "cors", "same-origin"] {
        for path in ["/", "/favicon.ico", &file] {
            let headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode)];
            assert_eq!(ask(path, &headers).await.status, 403, "{path} {mode}");
        }
    }
    let own = [("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")];
    assert_eq!(ask(&file, &own).await.status, 200);
}

#[tokio::test]
async fn a_browser_that_tells_its_origin_only_is_one_of_the_page_if_the_host_is_the_same() {
    let served = Served::new();
    let ask = |origin: &str, host: &str| {
        let asked = request("POST", "/v1/tasks", None, r#"{"id": "essay"}"#);
        served.ask(dressed(asked, &[("origin", origin), ("host", host)]))
    };
    let own = ask("http://127.0.0.1:7733", "127.0.0.1:7733").await;
    assert_eq!(own.status, 201, "{own:?}");
    for (origin, host) in [
        ("http://127.0.0.1:7734", "127.0.0.1:7733"),
        ("http://localhost:7733", "127.0.0.1:7733"),
        ("http://evil.example", "evil.example"),
        ("null", "127.0.0.1:7733"),
        ("127.0.0.1:7733", "127.0.0.1:7733"),
    ] {
        assert_eq!(ask(origin, host).await.status, 403, "{origin} {host}");
    }
}

#[tokio::test]
async fn a_service_without_a_page_has_none() {
    let served = Served::with(ServerOptions::default().page(false));
    let file = files(&Served::new().get("/").await).remove(0);
    for path in ["/", "/favicon.ico", &file] {
        assert_eq!(served.get(path).await.status, 404, "{path}");
    }
    assert_eq!(served.get("/v1/me").await.status, 200);
}
