use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Processor time of each thread of this process that is alive, by name, as the
/// kernel counts it.
pub(crate) fn processor_time() -> BTreeMap<String, Duration> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let nanos = read("schedstat")
            .split(' ')
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        *times.entry(read("comm").trim().to_owned()).or_default() += Duration::from_nanos(nanos);
    }
    times
}
