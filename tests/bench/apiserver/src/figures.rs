//! The figures of all rounds: medians beside their aims.

use std::io::Write;

/// In the order in which they were first measured.
#[derive(Default)]
pub(crate) struct Figures {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    /// The aim, and whether less is better.
    aim: Option<(f64, bool)>,
    values: Vec<f64>,
}

impl Figures {
    /// Adds one round's figure.
    pub(crate) fn add(&mut self, name: &str, aim: Option<(f64, bool)>, value: f64) {
        match self.rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { name: name.to_owned(), aim, values: vec![value] }),
        }
    }

    /// A line a figure: median, lowest and highest of the rounds, the aim.
    pub(crate) fn show(mut self, out: &mut impl Write) {
        tell(out, &format!("{:<56} {:>10} {:>22}  aim", "", "median", "lowest to highest"));
        for row in &mut self.rows {
            row.values.sort_by(f64::total_cmp);
            let median = at(&row.values, 0.5);
            let aim = row.aim.map_or_else(String::new, |(aim, less)| {
                let met = if less { median <= aim } else { median >= aim };
                format!("{} {aim}: {}", if less { "at most" } else { "at least" }, if met { "met" } else { "missed" })
            });
            let range = format!("{} to {}", short(at(&row.values, 0.0)), short(at(&row.values, 1.0)));
            tell(out, &format!("{:<56} {:>10} {range:>22}  {aim}", row.name, short(median)));
        }
    }
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value.abs() {
        0.0..1.0 => format!("{value:.3}"),
        1.0..100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

/// The value below which this share of the sorted ones lies.
pub(crate) fn at(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// Writes a line; nobody is left to tell if that fails.
pub(crate) fn tell(out: &mut impl Write, line: &str) {
    let _told = writeln!(out, "{line}");
}
