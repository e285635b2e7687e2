use askama::Template;
use serde::Serialize;

/// What the figures of a chart are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Amounts in US dollars.
    Usd,
    /// A number of things.
    #[default]
    Count,
    /// Times in milliseconds.
    Ms,
    /// Shares from 0 to 100.
    Percent,
}

/// How a row of figures is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// A line through the points.
    Line,
    /// A line with a filled area below.
    Area,
    /// Bars, stacked on those before.
    Bars,
}

/// A row of figures.
#[derive(Debug, Clone, Serialize)]
pub struct ChartSeries {
    /// The name in the legend.
    pub label: String,
    /// How it is drawn.
    pub kind: ChartKind,
    /// A figure for each time of the chart.
    pub values: Vec<Option<f64>>,
}

/// Figures over time.
#[derive(Debug, Clone, Default, Template)]
#[template(path = "parts/chart.html")]
pub struct PageChart {
    /// Id of the element.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The figure of the whole time, beside the title.
    pub total: String,
    /// Where the figures come from; empty: nowhere.
    pub href: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// Seconds since 1970 of each point.
    pub times: Vec<u64>,
    /// The rows of figures.
    pub series: Vec<ChartSeries>,
}

impl PageChart {
    /// A chart without figures yet.
    pub fn new(id: impl Into<String>, title: impl Into<String>, unit: Unit) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            unit,
            ..Self::default()
        }
    }

    /// Sets the times.
    #[must_use]
    pub fn times(mut self, times: Vec<u64>) -> Self {
        self.times = times;
        self
    }

    /// Adds a row of figures.
    #[must_use]
    pub fn series(
        mut self,
        label: impl Into<String>,
        kind: ChartKind,
        values: Vec<Option<f64>>,
    ) -> Self {
        self.series.push(ChartSeries {
            label: label.into(),
            kind,
            values,
        });
        self
    }

    /// Sets the figure beside the title, and where it comes from.
    #[must_use]
    pub fn total(mut self, total: impl Into<String>, href: impl Into<String>) -> Self {
        self.total = total.into();
        self.href = href.into();
        self
    }

    fn is_empty(&self) -> bool {
        let has = |series: &ChartSeries| series.values.iter().flatten().any(|value| *value != 0.0);
        !self.series.iter().any(has)
    }

    fn data(&self) -> String {
        serde_json::json!({ "unit": self.unit, "x": self.times, "series": self.series }).to_string()
    }

    /// The chart in words, for screen readers.
    fn words(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|one| one.label.as_str()).collect();
        format!("{} over time: {}", self.title, names.join(", "))
    }
}
