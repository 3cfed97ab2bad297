import ModelTools

/// The style sheet and the script of all pages. Neither loads anything, and a page is usable without the script.
enum ReportStyle {
  static let sheet =
    DifferencePageStyle.text + names(.light)
    + "@media (prefers-color-scheme: dark) {\n  \(names(.dark))}\n" + PictureStyle.all(.named) + """
      body { max-width: 70rem; }
      .by { color: var(--quiet); }
      section.verdict h2 { margin: 0.2rem 0; }
      .verdict.bad { border-color: var(--lost); background: var(--removed); }
      .verdict.doubt { border-color: var(--changed-line); background: var(--changed); }
      nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; padding: 0; list-style: none; }
      a { color: var(--added-line); }
      dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: 0.2rem 1rem; }
      dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
      table { border-collapse: collapse; max-width: 100%; display: block; overflow-x: auto; }
      th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
      td { overflow-wrap: anywhere; } td:last-child { min-width: 16rem; } td.number { min-width: 0; overflow-wrap: normal; }
      thead th, td:first-child, td:nth-child(2) code { white-space: nowrap; }
      tbody th { font-weight: 500; } .sortable tbody th { overflow-wrap: anywhere; min-width: 8rem; }
      .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
      th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-decoration: underline dotted; }
      th[aria-sort=ascending] button::after { content: " \\2191"; } th[aria-sort=descending] button::after { content: " \\2193"; }
      .filter { display: block; margin: 0.5rem 0; } .filter input { font: inherit; padding: 0.2rem 0.4rem; color: inherit; background: var(--back); border: 1px solid var(--same-line); border-radius: 4px; }
      tr.bad td:nth-child(3), tr.damage td:first-child { color: var(--lost); font-weight: 600; }
      td img { display: block; max-width: 12rem; max-height: 8rem; margin-top: 0.3rem; border: 1px solid var(--rule); }
      .changes tbody th { white-space: nowrap; }
      .strip { overflow: auto; }
      .chip.page-table { border-color: var(--rows); } .chip.page-index { border-color: var(--entries); } .chip.page-overflow { border-color: var(--long); }
      .chip.page-free { border-color: var(--free); } .chip.page-other { border-color: var(--rest); } .chip.page-orphan { border-color: var(--alone); } .chip.page-damaged { border-color: var(--lost); }
      .chip { border-left-width: 1em; white-space: nowrap; }
      .chip.bar-changes, .chip.bar-others { border-color: var(--entries); } .chip.bar-dates { border-color: var(--long); }
      .chip.bar-inserts { border-color: var(--rows); } .chip.bar-updates { border-color: var(--rest); } .chip.bar-deletes { border-color: var(--alone); }
      .chip.bar-sound { border-color: var(--rest); } .chip.bar-care { border-color: var(--alone); }
      .chip.way-mapping { border-color: var(--added-line); } .chip.way-inferred { border-color: var(--same-line); }
      .chip.way-uncertain { border-color: var(--changed-line); } .chip.way-refused { border-color: var(--removed-line); }
      .strip svg { max-width: 100%; min-width: 40rem; height: auto; }
      td.keep { overflow-wrap: normal; white-space: nowrap; } td.keep:last-child { min-width: 0; }
      body:has(.schema) { max-width: 106rem; }
      .steps > li { margin: 0.8rem 0; } .steps h3 { margin: 0; }
      .loss { color: var(--removed-line); font-weight: 600; }
      :focus-visible { outline: 3px solid var(--added-line); outline-offset: 2px; }
      @media print { .strip { overflow: visible; } .strip svg { min-width: 0; } nav, .filter { display: none; } table { display: table; } tr, .strip { break-inside: avoid; } }
      @media (max-width: 40rem) { body { padding: 0.8rem; } dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.4rem; }
        .stacked thead { display: none; } .stacked, .stacked tbody, .stacked tr { display: block; } .stacked td { display: inline; border: 0; padding: 0 0.6rem 0 0; }
        .changes td:nth-child(n + 2) { display: block; } .changes td:nth-child(3)::before { content: "before: "; color: var(--quiet); } .changes td:nth-child(4)::before { content: "now: "; color: var(--quiet); }
        .stacked tr { border-bottom: 1px solid var(--rule); padding: 0.4rem 0; } .stacked tr[hidden] { display: none; } .stacked td:last-child { display: block; } }

      """

  private static func names(_ colours: PictureColours) -> String {
    """
    :root { --rows: \(colours.rows); --entries: \(colours.entries); --long: \(colours.long); \
    --free: \(colours.free); --lost: \(colours.lost); --alone: \(colours.alone); --rest: \(colours.rest); }

    """
  }

  /// The script. It sorts a table when the user presses a column's heading, and filters the lines of a longer table by
  /// a text that the user types above the table.
  static let script = """
    "use strict";
    for (const table of document.querySelectorAll(".sortable")) {
      const body = table.tBodies[0];
      const heads = [...table.tHead.rows[0].cells];
      const value = (row, place) => row.cells[place].textContent.trim();
      heads.forEach((head, place) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = head.textContent;
        head.textContent = "";
        head.append(button);
        button.addEventListener("click", () => {
          const isUp = head.getAttribute("aria-sort") !== "ascending";
          heads.forEach((other) => other.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
          const isNumber = head.classList.contains("number");
          const number = (text) => Number(text.replaceAll(",", "") || "-1");
          const rows = [...body.rows].sort((one, other) => {
            const [left, right] = [value(one, place), value(other, place)];
            return isNumber ? number(left) - number(right) : left.localeCompare(right);
          });
          body.append(...(isUp ? rows : rows.reverse()));
        });
      });
      if (body.rows.length < 8) continue;
      const label = document.createElement("label");
      label.className = "filter";
      label.textContent = "Show only lines with ";
      const input = document.createElement("input");
      input.type = "search";
      input.addEventListener("input", () => {
        const wanted = input.value.toLowerCase();
        for (const row of body.rows) {
          const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
          row.hidden = !text.includes(wanted);
        }
      });
      label.append(input);
      table.before(label);
    }

    """
}
