//! Tables as kubectl prints them: no borders, columns in capitals, three spaces between. Owns the
//! look, and the form of ages; rows come from the commands.

/// Narrower columns do not exist, in characters.
const NARROWEST: usize = 3;

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
        let widths = head.iter().map(|name| name.chars().count().max(NARROWEST)).collect();
        Self { head, widths, rows: Vec::new() }
    }

    /// Adds a row; an empty cell is printed as `<none>`.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.row_as_it_is(cells.into_iter().map(|c| if c.is_empty() { "<none>".to_owned() } else { c }).collect());
    }

    /// Adds a row whose empty cells stay empty.
    pub(crate) fn row_as_it_is(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
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

/// The last cell is not padded; the others are, whatever follows.
fn line<'c>(cells: impl Iterator<Item = &'c str>, widths: &[usize]) -> String {
    let mut text = String::new();
    let mut last = None;
    for (cell, width) in cells.zip(widths) {
        if let Some((cell, width)) = last.replace((cell, width)) {
            text.push_str(&format!("{cell:width$}   "));
        }
    }
    text.push_str(last.map_or("", |(cell, _)| cell));
    text.push('\n');
    text
}

/// An age as kubectl prints it, the more coarsely the older: `5s`, `119s`, `2m`, `5m12s`, `22m`, `3h20m`, `2d4h`, `3y12d`.
pub(crate) fn age(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |a: u64, x: &str, b: u64, y: &str| if b == 0 { format!("{a}{x}") } else { format!("{a}{x}{b}{y}") };
    match (minutes, hours, days, years) {
        (0..2, ..) => format!("{seconds}s"),
        (2..10, ..) => two(minutes, "m", seconds % 60, "s"),
        (10..180, ..) => format!("{minutes}m"),
        (_, 0..8, ..) => two(hours, "h", minutes % 60, "m"),
        (_, 8..48, ..) => format!("{hours}h"),
        (_, _, 0..8, _) => two(days, "d", hours % 24, "h"),
        (.., 0..2) => format!("{days}d"),
        (.., 2..8) => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
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
    fn empty_cells_stay_empty_where_the_server_says_so() {
        let mut table = Table::new(vec!["IP", "ERROR"]);
        table.row_as_it_is(vec!["a".into(), String::new()]);
        table.row_as_it_is(vec![String::new(), "no".into()]);
        assert_eq!(table.render(), "IP    ERROR\na     \n      no\n");
    }

    #[test]
    fn ages() {
        let (minute, hour, day) = (60, 3600, 86_400);
        for (seconds, want) in [
            (0, "0s"),
            (82, "82s"),
            (119, "119s"),
            (120, "2m"),
            (312, "5m12s"),
            (10 * minute + 5, "10m"),
            (22 * minute + 5, "22m"),
            (179 * minute, "179m"),
            (3 * hour, "3h"),
            (12_000, "3h20m"),
            (8 * hour + 600, "8h"),
            (47 * hour, "47h"),
            (187_200, "2d4h"),
            (8 * day + hour, "8d"),
            (729 * day, "729d"),
            (730 * day, "2y"),
            (742 * day, "2y12d"),
            (3000 * day, "8y"),
        ] {
            assert_eq!(age(seconds), want);
        }
    }
}
