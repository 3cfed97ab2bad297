package import ObjectModel

/// An HTML page about the difference of two models: the consequences for stores, a diagram, and every change in words.
///
/// The page is self-contained and runs no script; its content security policy enforces both. All text from the models
/// is escaped.
package struct DifferencePage {
  private let oldName: String
  private let newName: String
  private let difference: ModelDifference
  private let diagram: ModelDiagram

  static let maximumChangeCount = 5_000

  /// `oldName` and `newName` are the names by which people know the two models.
  package init(
    oldName: String, newName: String, from old: ManagedObjectModel, to new: ManagedObjectModel,
    _ difference: ModelDifference
  ) {
    self.oldName = oldName
    self.newName = newName
    self.difference = difference
    diagram = ModelDiagram(from: old, to: new, difference)
  }

  package var html: String {
    let names = "\(PictureText.html(oldName)) to \(PictureText.html(newName))"
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" \
      content="default-src 'none'; style-src 'unsafe-inline'">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>What changed from \(names)</title>
      <style>
      \(DifferencePageStyle.text)</style>
      </head>
      <body>
      <header><h1>What changed from \(names)</h1>
      \(overview)</header>
      <main>
      \(picture)\(list)\(guesses)</main>
      </body>
      </html>

      """
  }

  // MARK: Parts

  private var overview: String {
    if difference.isEmpty { return "<p>Nothing: the two models are equal.</p>\n" }
    var text = "<p class=\"verdict \(difference.verdict.name)\">\(marked(difference.outcome))</p>\n"
    text += "<p>\(marked(difference.countText))</p>\n"
    return text
  }

  private var picture: String {
    guard !diagram.boxes.isEmpty else { return "" }
    var text = "<section aria-labelledby=\"picture\"><h2 id=\"picture\">The model</h2>\n"
    text += "<p class=\"key\">"
    for (status, words) in [
      (ModelDiagram.Status.added, "new"), (.removed, "gone"), (.changed, "changed"),
      (.same, "as before"),
    ] {
      text += "<span class=\"chip \(status.rawValue)\">\(status.signed(words))</span> "
    }
    text += "An arrow leads to one object, a fork to many; a hollow triangle points to the parent."
    if diagram.leftOutCount > 0 { text += " \(PictureText.html(diagram.leftOutText))." }
    text += "</p>\n<div class=\"diagram\" tabindex=\"0\">\(DiagramSVG(diagram).text)</div>\n"
    return text + "</section>\n"
  }

  private var list: String {
    guard !difference.isEmpty else { return "" }
    var text = "<section aria-labelledby=\"changes\"><h2 id=\"changes\">Every change</h2>\n"
    let shown = difference.changes.prefix(Self.maximumChangeCount)
    text += Self.limit(difference.changes.count)
    let effects = Dictionary(
      difference.hashEffects.map { ($0.entityName, $0.sentence) }
    ) { first, _ in first }
    var entity: String??
    for change in shown {
      if entity != .some(change.entityName) {
        if entity != nil { text += "</ul>\n" }
        let heading = change.entityName.map { PictureText.html($0) } ?? "The model as a whole"
        text += "<h3>\(heading)</h3>\n"
        if let effect = change.entityName.flatMap({ effects[$0] }) {
          text += "<p class=\"effect\">\(marked(effect))</p>\n"
        }
        text += "<ul>\n"
        entity = .some(change.entityName)
      }
      text += "<li class=\"\(change.verdict.name)\">\(marked(change.sentence))"
      if let remark = change.remark { text += " <small>\(marked(remark))</small>" }
      text += "</li>\n"
    }
    text += "</ul>\n"
    let indirect = difference.indirectEffects
    if !indirect.isEmpty {
      text += "<h3>Affected by changes of other entities</h3>\n"
      text += Self.limit(indirect.count) + "<ul>\n"
      for effect in indirect.prefix(Self.maximumChangeCount) {
        text += "<li>\(marked(effect.sentence))</li>\n"
      }
      text += "</ul>\n"
    }
    return text + "</section>\n"
  }

  private var guesses: String {
    guard !difference.guesses.isEmpty else { return "" }
    var text = "<section aria-labelledby=\"guesses\"><h2 id=\"guesses\">Guesses</h2>\n"
    text += Self.limit(difference.guesses.count) + "<ul>\n"
    for guess in difference.guesses.prefix(Self.maximumChangeCount) {
      text += "<li>\(marked(guess.sentence))</li>\n"
    }
    return text + "</ul></section>\n"
  }

  private static func limit(_ count: Int) -> String {
    count > maximumChangeCount ? "<p>\(maximumChangeCount) of \(count) are shown.</p>\n" : ""
  }

  /// Converts a sentence to HTML. Names in backticks become `<code>` elements.
  private func marked(_ sentence: String) -> String {
    var text = ""
    for (index, part) in sentence.utf8
      .split(separator: UInt8(ascii: "`"), omittingEmptySubsequences: false).enumerated()
    {
      let escaped = PictureText.html(String(Substring(part)), limit: 2_000)
      text += index % 2 == 1 ? "<code>\(escaped)</code>" : escaped
    }
    return text
  }
}
