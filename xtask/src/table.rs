//! Plain-text tables: columns as wide as their widest cell, numbers right-aligned.

pub(crate) fn print<const N: usize>(head: [&str; N], rows: &[[String; N]]) {
    print!("{}", render(head, rows));
}

fn render<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let mut widths = [0; N];
    for row in std::iter::once(&head).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let numeric: Vec<bool> = (0..N)
        .map(|column| !rows.is_empty() && rows.iter().all(|row| row[column].parse::<f64>().is_ok()))
        .collect();
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = String::new();
    for row in [&head, &rule].into_iter().chain(rows) {
        let cells: Vec<String> = (0..N)
            .map(|column| match (numeric[column], widths[column]) {
                (true, width) => format!("{:>width$}", row[column]),
                (false, width) => format!("{:<width$}", row[column]),
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_left_and_numbers_go_right() {
        let rows = [
            ["a".to_owned(), "1.50".to_owned()],
            ["longer".to_owned(), "12.25".to_owned()],
        ];
        assert_eq!(
            render(["name", "s"], &rows),
            "name        s\n------  -----\na        1.50\nlonger  12.25\n"
        );
    }
}
