/// The colours of pages and pictures, chosen so that people with red-green colour blindness can distinguish them. The
/// contrast of text to its background is at least 4.5 to 1.
package struct PictureColours: Sendable {
  /// The colours of the background, of text, of less important text, and of the lines between parts of a page.
  package let back, text, quiet, rule: String
  /// The background colour of code.
  package let code: String
  /// The background and line colours of parts of a model that are unchanged, added, removed or changed.
  package let same, sameLine, added, addedLine, removed, removedLine, changed, changedLine: String
  /// The colours for the kinds of pages in a store: tables, indexes, overflow pages, free pages, damaged pages, orphan
  /// pages and all others. Other pictures use these colours too.
  package let rows, entries, long, free, lost, alone, rest: String

  /// The colours for a white background.
  package static let light = PictureColours(
    back: "#ffffff", text: "#1f2328", quiet: "#59636e", rule: "#d1d9e0", code: "#eef1f4",
    same: "#f6f8fa", sameLine: "#6e7781", added: "#d3ecff", addedLine: "#0550ae",
    removed: "#ffe2cc", removedLine: "#953800", changed: "#fff5b1", changedLine: "#7d5a00",
    rows: "#2f6fb7", entries: "#7a5ea8", long: "#2b8a7a", free: "#c9d1d9", lost: "#b3261e",
    alone: "#b26a00", rest: "#8a949e")

  /// The colours for a black background.
  package static let dark = PictureColours(
    back: "#0d1117", text: "#e6edf3", quiet: "#9da7b1", rule: "#3d444d", code: "#212830",
    same: "#1c2128", sameLine: "#8b949e", added: "#0c2d57", addedLine: "#79b8ff",
    removed: "#4a2409", removedLine: "#ffa657", changed: "#3d3100", changedLine: "#e3b341",
    rows: "#5b9ae0", entries: "#a78bd6", long: "#45b3a0", free: "#3d444d", lost: "#ff7b72",
    alone: "#e3a341", rest: "#6e7681")

  /// References to the CSS variables that hold the colours in a page's style sheet.
  package static let named = PictureColours(
    back: "var(--back)", text: "var(--text)", quiet: "var(--quiet)", rule: "var(--rule)",
    code: "var(--code)", same: "var(--same)", sameLine: "var(--same-line)", added: "var(--added)",
    addedLine: "var(--added-line)", removed: "var(--removed)", removedLine: "var(--removed-line)",
    changed: "var(--changed)", changedLine: "var(--changed-line)", rows: "var(--rows)",
    entries: "var(--entries)", long: "var(--long)", free: "var(--free)", lost: "var(--lost)",
    alone: "var(--alone)", rest: "var(--rest)")
}
