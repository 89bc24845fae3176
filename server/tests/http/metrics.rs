//! `/metrics` is what Prometheus reads, and counts what happened.

use std::collections::BTreeSet;

use crate::served::Served;

/// The value of a line.
fn value(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[tokio::test]
async fn each_line_is_of_a_metric_that_was_said_before_and_numbers_go_up() {
    let served = Served::new();
    served.task("t", "ana", 3);
    served.get("/api/v1/tasks/t/checkpoints").await;
    served.get("/api/v1/tasks/none/checkpoints").await;
    served.get("/nothing/at/all").await;
    let came = served.get("/metrics").await;
    assert_eq!(came.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let text = String::from_utf8(came.bytes).unwrap();
    let mut said = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap();
            assert!(said.insert(name.to_owned()), "{name} is said once");
        } else if !line.starts_with('#') {
            let (name, number) = line.rsplit_once(' ').unwrap();
            assert!(number.parse::<f64>().unwrap() >= 0.0, "{line}");
            assert!(seen.insert(name.to_owned()), "{name} is there once");
            let base = name.split('{').next().unwrap();
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| base.strip_suffix(end))
                .unwrap_or(base);
            assert!(said.contains(base), "{line}");
        }
    }
    assert_eq!(value(&text, "milepost_checkpoints_total"), 3.0);
    assert_eq!(value(&text, "milepost_store_tasks"), 1.0);
    let route = "/api/v1/tasks/{task}/checkpoints";
    let requests =
        |status| format!("milepost_http_requests_total{{route=\"{route}\",status=\"{status}\"}}");
    assert_eq!((value(&text, &requests(200)), value(&text, &requests(404))), (1.0, 1.0));
    let took = format!("milepost_http_request_seconds_count{{route=\"{route}\"}}");
    assert_eq!(value(&text, &took), 2.0);
    // A path without a route is not a label.
    assert!(!text.contains("nothing"), "{text}");
}
