//! The figures as pictures.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::appends::{SIZES, WRITERS, what};
use super::figures::{Figures, short};
use super::growth;

const COLORS: [RGBColor; 9] = [
    RGBColor(200, 30, 60),
    RGBColor(30, 110, 180),
    RGBColor(120, 170, 220),
    RGBColor(60, 150, 60),
    RGBColor(230, 140, 20),
    RGBColor(130, 90, 170),
    RGBColor(150, 150, 150),
    RGBColor(140, 90, 60),
    RGBColor(40, 40, 40),
];

/// Draws them into a folder; gives the names of the files.
pub fn draw(figures: &Figures, dir: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    std::fs::create_dir_all(dir)?;
    let mut names = Vec::new();
    for size in SIZES {
        let whats = WRITERS.map(|writers| (format!("{writers}"), what(writers, size)));
        let title = what(1, size).replace("1 writer, ", "Durable appends a second, events of ");
        let name = format!("appends-{size}.svg");
        if bars(figures, &dir.join(&name), (&title, "writers"), ("appends", "/s"), &whats)? {
            names.push(name);
        }
    }
    let of_steps: Vec<&str> = whats(figures, "steps", "bytes");
    let whats: Vec<(String, String)> =
        of_steps.iter().map(|what| ((*what).to_owned(), (*what).to_owned())).collect();
    let title = ("A conversation that grows, a checkpoint a step: bytes on the disk", "");
    if bars(figures, &dir.join("steps-disk.svg"), title, ("steps", "bytes"), &whats)? {
        names.push("steps-disk.svg".to_owned());
    }
    let growths = [
        (growth::EVENTS_OF_A_TASK, "growth-events.svg"),
        (growth::LINEAGES_OF_A_TASK, "growth-lineages.svg"),
        (growth::TASKS, "growth-tasks.svg"),
    ];
    for (work, name) in growths {
        if lines(figures, &dir.join(name), work)? {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// A line for each operation over the sizes of a growth, both on logarithmic scales. False where
/// nothing was measured.
fn lines(figures: &Figures, path: &Path, work: &str) -> Result<bool, Box<dyn Error>> {
    let of = figures.all.iter().filter(|f| f.work == work && f.unit == "us");
    let points: Vec<(&str, f64, f64)> = of
        .filter_map(|f| {
            let power = f.who.strip_prefix("10^")?.parse::<i32>().ok()?;
            Some((&*f.what, 10_f64.powi(power), f.median()))
        })
        .collect();
    let sizes = points.iter().map(|(_, size, _)| *size);
    let (Some(least), Some(most)) = (sizes.clone().reduce(f64::min), sizes.reduce(f64::max)) else {
        return Ok(false);
    };
    let costs = points.iter().map(|(_, _, cost)| *cost);
    let (low, high) = (costs.clone().fold(1e9, f64::min), costs.fold(0.0, f64::max));
    let area = SVGBackend::new(path, (900, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{work}: microseconds an operation"), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d((least..most * 8.0).log_scale(), (low / 2.0..high * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| short(*y))
        .draw()?;
    for (n, operation) in growth::OPERATIONS.into_iter().enumerate() {
        let color = COLORS.get(n).copied().unwrap_or(BLACK);
        let of = points.iter().filter(|(what, _, _)| *what == operation);
        let line: Vec<(f64, f64)> = of.map(|(_, size, cost)| (*size, *cost)).collect();
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)).point_size(3))?
            .label(operation)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .position(SeriesLabelPosition::UpperRight)
        .draw()?;
    area.present()?;
    Ok(true)
}

fn whats<'a>(figures: &'a Figures, work: &str, unit: &str) -> Vec<&'a str> {
    let mut whats: Vec<&str> = Vec::new();
    for figure in &figures.all {
        if figure.work == work && figure.unit == unit && !whats.contains(&&*figure.what) {
            whats.push(&figure.what);
        }
    }
    whats
}

/// Groups of bars on a logarithmic scale: a group for each of these, a bar for each contestant.
/// False where nothing was measured.
fn bars(
    figures: &Figures,
    path: &Path,
    (title, below): (&str, &str),
    (work, unit): (&str, &str),
    groups: &[(String, String)],
) -> Result<bool, Box<dyn Error>> {
    let mut whos: Vec<&str> = Vec::new();
    let mut values = Vec::new();
    for figure in figures.all.iter().filter(|f| f.work == work && f.unit == unit) {
        if !groups.iter().any(|(_, what)| *what == figure.what) {
            continue;
        }
        values.push(figure.median());
        if !whos.contains(&&*figure.who) {
            whos.push(&figure.who);
        }
    }
    let Some(most) = values.iter().copied().reduce(f64::max) else {
        return Ok(false);
    };
    let least = values.iter().copied().fold(most, f64::min);
    let area = SVGBackend::new(path, (900, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let across = (whos.len() + 1) as f64;
    let width = across * groups.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..width, (least / 2.0..most * 2.0).log_scale())?;
    let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .x_desc(format!("{below}: {}", names.join(" | ")))
        .y_label_formatter(&|y| short(*y))
        .draw()?;
    for (n, who) in whos.iter().enumerate() {
        let color = COLORS.get(n).copied().unwrap_or(BLACK);
        let drawn = groups.iter().enumerate().filter_map(|(group, (_, what))| {
            let figure = figures.median(work, what, who, unit)?;
            let left = across * group as f64 + n as f64 + 0.5;
            Some(Rectangle::new([(left, least / 2.0), (left + 0.9, figure)], color.filled()))
        });
        chart
            .draw_series(drawn)?
            .label(*who)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    area.present()?;
    Ok(true)
}
