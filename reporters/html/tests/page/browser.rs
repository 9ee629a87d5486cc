//! A headless Chromium that looks at a page, and what it is asked.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Its profile and pages lie in a folder of their own.
pub(crate) struct Browser(TempDir);

impl Browser {
    pub(crate) fn new() -> Browser {
        Browser(tempfile::tempdir().unwrap())
    }

    /// What `script` returns in the page, after the page's own scripts. `faults` collects uncaught errors.
    pub(crate) fn look(&self, page: &str, script: &str) -> Value {
        let listening = "<head><script>const faults = []; onerror = text => { faults.push(text); };</script>";
        let asking = format!(
            "<script>const seen = document.createElement(\"pre\"); seen.id = \"seen\"; document.body.append(seen);\
             seen.textContent = encodeURIComponent(JSON.stringify((() => {{{script}}})()));</script></body></html>"
        );
        let page = page.replacen("<head>", listening, 1).replacen("</body></html>", &asking, 1);
        let file = self.0.path().join("page.html");
        fs::write(&file, page).unwrap();
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1280,900"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", self.0.path().join("profile").display()))
            .arg("--dump-dom")
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("chromium looks at the report: install the package `chromium`");
        let dom = String::from_utf8_lossy(&output.stdout);
        let seen = dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let Some((seen, _)) = seen else {
            panic!("chromium gave no answer: {}", String::from_utf8_lossy(&output.stderr))
        };
        serde_json::from_str(&decode(seen)).unwrap()
    }
}

/// Undoes `encodeURIComponent`, which keeps the answer apart from the markup around it.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let code = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(code, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// What is asked, as the body of a function.
pub(crate) mod check {
    /// What is drawn.
    pub(crate) const CHARTS: &str = r#"
        const all = selector => [...document.querySelectorAll(selector)];
        const title = figure => figure.querySelector("figcaption").firstChild.textContent;
        const charts = all("figure[data-chart]");
        const boxes = figure => [...figure.querySelectorAll(".plot > svg > text")].map(t => t.getBBox());
        const clipped = figure => boxes(figure).some(b =>
            b.x < -1 || b.x + b.width > figure.querySelector("svg[role]").viewBox.baseVal.width + 1);
        const covers = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
        const overlapping = figure => boxes(figure).some((a, i, rest) => rest.slice(i + 1).some(b => covers(a, b)));
        const percent = charts.length ? [...charts[0].querySelectorAll('text[text-anchor="middle"]')] : [];
        return {
            faults,
            figures: all("figure").length,
            images: all("img").length,
            heading: document.querySelector("h1").textContent,
            legend: all(".legend").map(l => l.textContent).join(),
            without_line: charts.filter(f => !f.querySelector(".plot path.line")).map(title),
            clipped: charts.filter(clipped).map(title),
            overlapping: charts.filter(overlapping).map(title),
            percentile_ticks: percent.map(t => t.textContent),
        };
    "#;

    /// What a reader does with it.
    pub(crate) const READER: &str = r#"
        const figure = n => document.querySelectorAll("figure[data-chart]")[n];
        const root = n => figure(n).querySelector("svg[role]");
        const ticks = n => [...root(n).querySelectorAll('text[text-anchor="middle"]')].map(t => t.textContent);
        const tip = n => figure(n).querySelector(".tip");
        const at = (n, type, share) => {
            const box = root(n).getBoundingClientRect();
            const place = { clientX: box.left + box.width * share, clientY: box.top + box.height / 2 };
            root(n).dispatchEvent(new PointerEvent(type, { ...place, button: 0, bubbles: true }));
        };
        const key = (n, name) => root(n).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
        const seen = { faults, ticks: ticks(1), other_test: ticks(5) };
        at(1, "pointermove", 0.5);
        seen.hover = tip(1).hidden ? "" : tip(1).textContent;
        at(1, "pointerleave", 0.5);
        seen.away = tip(1).hidden;
        at(1, "pointerdown", 0.4);
        at(1, "pointermove", 0.5);
        at(1, "pointerup", 0.6);
        seen.ticks_zoomed = ticks(1);
        seen.sibling_zoomed = ticks(2);
        seen.other_test_zoomed = ticks(5);
        root(1).dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
        seen.ticks_back = ticks(1);
        const button = figure(1).querySelector(".legend button");
        const lines = () => root(1).querySelectorAll("path.line").length;
        seen.pressed = [button.getAttribute("aria-pressed")];
        seen.lines = [lines()];
        button.click();
        seen.pressed.push(button.getAttribute("aria-pressed"));
        seen.lines.push(lines());
        button.click();
        seen.lines.push(lines());
        key(1, "ArrowRight");
        key(1, "ArrowRight");
        seen.keys = tip(1).hidden ? "" : tip(1).textContent;
        key(1, "+");
        seen.key_zoomed = ticks(1);
        key(1, "Escape");
        seen.key_back = ticks(1);
        const theme = document.getElementById("theme");
        seen.themes = [0, 1].map(() => { theme.click(); return document.documentElement.dataset.theme; });
        return seen;
    "#;

    /// Strokes of the IOPS of the first test.
    pub(crate) const GAP: &str = r#"
        const line = document.querySelectorAll("figure[data-chart]")[2].querySelector("path.line");
        return { faults, strokes: line.getAttribute("d").split("M").length - 1 };
    "#;
}
