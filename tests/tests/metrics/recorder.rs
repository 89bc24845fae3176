//! A recorder of the `metrics` facade that keeps numbers, by name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// Number of values, and their sum.
#[derive(Default)]
struct Values(Mutex<(u64, f64)>);

impl HistogramFn for Values {
    fn record(&self, value: f64) {
        let mut values = self.0.lock().unwrap();
        values.0 += 1;
        values.1 += value;
    }
}

type Named<T> = Mutex<BTreeMap<String, Arc<T>>>;

/// A metric's name, with the labels that tell two of one store apart, is its key.
#[derive(Default)]
pub struct Numbers {
    counters: Named<AtomicU64>,
    gauges: Named<AtomicU64>,
    histograms: Named<Values>,
    units: Mutex<BTreeMap<String, (Option<Unit>, String)>>,
    /// Number of requests for a handle.
    pub asked: AtomicU64,
}

fn name(key: &Key) -> String {
    let stores = key.labels().filter(|label| label.key() == "store");
    assert_eq!(stores.count(), 1, "{key}");
    let parts = key.labels().filter(|label| label.key() != "store");
    let parts: Vec<_> = parts.map(|part| format!("/{}", part.value())).collect();
    format!("{}{}", key.name(), parts.join(""))
}

impl Numbers {
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.lock().unwrap()[name].load(Ordering::Relaxed)
    }

    pub fn gauge(&self, name: &str) -> f64 {
        f64::from_bits(self.gauges.lock().unwrap()[name].load(Ordering::Relaxed))
    }

    /// Returns the number of values, and their sum.
    pub fn histogram(&self, name: &str) -> (u64, f64) {
        *self.histograms.lock().unwrap()[name].0.lock().unwrap()
    }

    /// Returns the unit and the description of every metric.
    pub fn described(&self) -> BTreeMap<String, (Option<Unit>, String)> {
        self.units.lock().unwrap().clone()
    }

    fn of<T: Default>(&self, named: &Named<T>, key: &Key) -> Arc<T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Arc::clone(named.lock().unwrap().entry(name(key)).or_default())
    }

    fn describe(&self, key: &KeyName, unit: Option<Unit>, what: &SharedString) {
        let described = (unit, what.to_string());
        let mut units = self.units.lock().unwrap();
        units.insert(key.as_str().to_owned(), described);
    }
}

impl Recorder for Numbers {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, what: SharedString) {
        self.describe(&key, unit, &what);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, what: SharedString) {
        self.describe(&key, unit, &what);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, what: SharedString) {
        self.describe(&key, unit, &what);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.of(&self.counters, key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.of(&self.gauges, key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.of(&self.histograms, key))
    }
}
