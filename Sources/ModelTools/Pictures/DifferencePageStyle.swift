import ObjectModel

/// The style sheet of ``DifferencePage`` and of other pages with a ``ModelDiagram``: light and dark, every colour with a sign or a word beside it,
/// contrast of text at least 4.5 to 1.
package enum DifferencePageStyle {
  /// The style sheet.
  package static let text = """
    :root { color-scheme: light dark; --back: #ffffff; --text: #1f2328; --quiet: #59636e;
      --rule: #d1d9e0; --code: #eef1f4;
      --same: #f6f8fa; --same-line: #6e7781; --added: #d3ecff; --added-line: #0550ae;
      --removed: #ffe2cc; --removed-line: #953800; --changed: #fff5b1; --changed-line: #7d5a00; }
    @media (prefers-color-scheme: dark) {
      :root { --back: #0d1117; --text: #e6edf3; --quiet: #9da7b1; --rule: #3d444d; --code: #212830;
        --same: #1c2128; --same-line: #8b949e; --added: #0c2d57; --added-line: #79b8ff;
        --removed: #4a2409; --removed-line: #ffa657; --changed: #3d3100; --changed-line: #e3b341; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; padding: 1.5rem; max-width: 100rem; background: var(--back);
      color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
    h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
    h3 { font-size: 1.05rem; margin: 1.2rem 0 0.2rem; }
    code { background: var(--code); padding: 0 0.25em; border-radius: 3px; font-size: 0.92em;
      overflow-wrap: anywhere; }
    small, .effect, .key { color: var(--quiet); }
    small { font-size: 0.9em; } .effect { margin: 0.2rem 0; }
    ul { padding-left: 1.3rem; margin: 0.3rem 0; }
    li { margin: 0.15rem 0; }
    li.notHandled::marker, li.unknown::marker { color: var(--removed-line); }
    .verdict { border-left: 4px solid var(--added-line); padding: 0.5rem 1rem;
      background: var(--added); }
    .verdict.notHandled, .verdict.unknown { border-color: var(--removed-line);
      background: var(--removed); }
    .verdict.handledIfDataAllows { border-color: var(--changed-line); background: var(--changed); }
    .chip { color: var(--text); border: 1px solid; border-radius: 4px; padding: 0 0.4em; }
    .chip.same { background: var(--same); border-color: var(--same-line); }
    .chip.added { background: var(--added); border-color: var(--added-line); }
    .chip.removed { background: var(--removed); border: 1px dashed var(--removed-line); }
    .chip.changed { background: var(--changed); border-color: var(--changed-line); }
    .diagram { overflow: auto; border: 1px solid var(--rule); border-radius: 6px; }
    svg { display: block; font: 12px system-ui, sans-serif; }
    svg text { fill: var(--text); }
    .name { font-weight: 600; font-size: 13px; }
    .row { font-size: 12px; } .rest { fill: var(--quiet); font-size: 11px; }
    .row.added { fill: var(--added-line); } .row.removed { fill: var(--removed-line); }
    .row.changed { fill: var(--changed-line); }
    .box rect { fill: var(--same); stroke: var(--same-line); }
    .box.added rect { fill: var(--added); stroke: var(--added-line); stroke-width: 2; }
    .box.removed rect { fill: var(--removed); stroke: var(--removed-line); stroke-width: 2;
      stroke-dasharray: 6 4; }
    .box.changed rect { fill: var(--changed); stroke: var(--changed-line); stroke-width: 2; }
    .box.added .row.added, .box.changed .row { fill: var(--text); }
    .line path { fill: none; stroke: var(--same-line); stroke-width: 1.2; }
    .line.added path { stroke: var(--added-line); stroke-width: 2; }
    .line.removed path { stroke: var(--removed-line); stroke-width: 2; stroke-dasharray: 6 4; }
    .line.changed path { stroke: var(--changed-line); stroke-width: 2; }
    .line text { text-anchor: middle; font-size: 11px; stroke: var(--back); stroke-width: 4px;
      paint-order: stroke; }
    .head { fill: none; stroke: context-stroke; stroke-width: 1.6; }
    .hollow { fill: var(--back); stroke: context-stroke; stroke-width: 1.2; }
    @media print { body { padding: 0; max-width: none; } .diagram { overflow: visible; border: 0; }
      svg { max-width: 100%; height: auto; } h3, li { break-inside: avoid; } }

    """
}
