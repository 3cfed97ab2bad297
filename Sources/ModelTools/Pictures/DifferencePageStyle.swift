/// The style sheet of ``DifferencePage`` and of other pages with a ``ModelDiagram``, for light and dark screens.
/// Wherever a colour has a meaning, a sign or a word says the same.
package enum DifferencePageStyle {
  private static let light = PictureColours.light
  private static let dark = PictureColours.dark

  package static let text = """
    :root { color-scheme: light dark; --back: \(light.back); --text: \(light.text); --quiet: \(light.quiet);
      --rule: \(light.rule); --code: \(light.code);
      --same: \(light.same); --same-line: \(light.sameLine); --added: \(light.added); \
    --added-line: \(light.addedLine);
      --removed: \(light.removed); --removed-line: \(light.removedLine); \
    --changed: \(light.changed); --changed-line: \(light.changedLine); }
    @media (prefers-color-scheme: dark) {
      :root { --back: \(dark.back); --text: \(dark.text); --quiet: \(dark.quiet); \
    --rule: \(dark.rule); --code: \(dark.code);
        --same: \(dark.same); --same-line: \(dark.sameLine); --added: \(dark.added); \
    --added-line: \(dark.addedLine);
        --removed: \(dark.removed); --removed-line: \(dark.removedLine); \
    --changed: \(dark.changed); --changed-line: \(dark.changedLine); } }
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
    \(diagram(.named))@media print { body { padding: 0; max-width: none; } .diagram { overflow: visible; border: 0; }
      svg { max-width: 100%; height: auto; } h3, li { break-inside: avoid; } }

    """

  package static func diagram(_ colours: PictureColours) -> String {
    """
    svg { display: block; font: 12px system-ui, sans-serif; }
    svg text { fill: \(colours.text); }
    .name { font-weight: 600; font-size: 13px; }
    .row { font-size: 12px; } .rest { fill: \(colours.quiet); font-size: 11px; }
    .row.added { fill: \(colours.addedLine); } .row.removed { fill: \(colours.removedLine); }
    .row.changed { fill: \(colours.changedLine); }
    .box rect { fill: \(colours.same); stroke: \(colours.sameLine); }
    .box.added rect { fill: \(colours.added); stroke: \(colours.addedLine); stroke-width: 2; }
    .box.removed rect { fill: \(colours.removed); stroke: \(colours.removedLine); stroke-width: 2;
      stroke-dasharray: 6 4; }
    .box.changed rect { fill: \(colours.changed); stroke: \(colours.changedLine); stroke-width: 2; }
    .box.added .row.added, .box.changed .row { fill: \(colours.text); }
    .line path { fill: none; stroke: \(colours.sameLine); stroke-width: 1.2; }
    .line.added path { stroke: \(colours.addedLine); stroke-width: 2; }
    .line.removed path { stroke: \(colours.removedLine); stroke-width: 2; stroke-dasharray: 6 4; }
    .line.changed path { stroke: \(colours.changedLine); stroke-width: 2; }
    .line text { text-anchor: middle; font-size: 11px; stroke: \(colours.back); stroke-width: 4px;
      paint-order: stroke; }
    .head { fill: none; stroke: context-stroke; stroke-width: 1.6; }
    .hollow { fill: \(colours.back); stroke: context-stroke; stroke-width: 1.2; }

    """
  }
}
