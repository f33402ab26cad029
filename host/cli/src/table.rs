//! Tables as kubectl prints them: no borders, columns in capitals, three spaces between,
//! `<none>` for what is not there. Owns the look; rows come from the commands.

/// A table of text cells.
pub(crate) struct Table {
    head: Vec<String>,
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new<S: Into<String>>(head: Vec<S>) -> Self {
        let head: Vec<String> = head.into_iter().map(Into::into).collect();
        let widths = head.iter().map(|name| name.chars().count()).collect();
        Self { head, widths, rows: Vec::new() }
    }

    /// Adds a row; an empty cell is printed as `<none>`.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|c| if c.is_empty() { "<none>".to_owned() } else { c }).collect());
    }

    /// The table as text. Its rows are forgotten, but not their widths.
    pub(crate) fn render(&mut self) -> String {
        self.widen();
        let head = line(self.head.iter().map(String::as_str), &self.widths);
        head + &self.lines()
    }

    /// The rows since the last time, in columns that are as wide as they were, or wider.
    pub(crate) fn render_more(&mut self) -> String {
        self.widen();
        self.lines()
    }

    fn widen(&mut self) {
        for row in &self.rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
    }

    fn lines(&mut self) -> String {
        let rows = std::mem::take(&mut self.rows);
        rows.iter().map(|row| line(row.iter().map(String::as_str), &self.widths)).collect()
    }
}

fn line<'c>(cells: impl Iterator<Item = &'c str>, widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.zip(widths) {
        text.push_str(&format!("{cell:width$}   "));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// An age as kubectl prints it: `5s`, `5m12s`, `3h20m`, `2d4h`.
pub(crate) fn age(seconds: u64) -> String {
    let (d, h, m, s) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let two = |a: u64, x: &str, b: u64, y: &str| if b == 0 { format!("{a}{x}") } else { format!("{a}{x}{b}{y}") };
    match (d, h, m) {
        (0, 0, 0) => format!("{s}s"),
        (0, 0, _) => two(m, "m", s, "s"),
        (0, _, _) => two(h, "h", m, "m"),
        _ => two(d, "d", h, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_like_kubectl() {
        let mut table = Table::new(vec!["NAME", "STATE"]);
        table.row(vec!["a-long-name".into(), "Serving".into()]);
        table.row(vec!["b".into(), String::new()]);
        assert_eq!(table.render(), "NAME          STATE\na-long-name   Serving\nb             <none>\n");
        table.row(vec!["c".into(), "Parked".into()]);
        assert_eq!(table.render_more(), "c             Parked\n");
    }

    #[test]
    fn ages() {
        for (seconds, want) in [(5, "5s"), (312, "5m12s"), (300, "5m"), (12_000, "3h20m"), (187_200, "2d4h")] {
            assert_eq!(age(seconds), want);
        }
    }
}
