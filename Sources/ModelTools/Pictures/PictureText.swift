import ObjectModel
import Quoting
import SafeText

/// Text from a model, made safe for a picture: characters that control, hide or reorder text are made
/// visible, and characters with a meaning in the format are escaped.
package enum PictureText {
  /// For element content and for attribute values of HTML and SVG, cut after `limit` scalars.
  package static func html(_ text: String, limit: Int = 300) -> String {
    MarkupText.html(VisibleText.visible(text, limit: limit))
  }

  /// For a quoted string of the DOT language.
  static func dot(_ text: String) -> String {
    MarkupText.dot(VisibleText.visible(text, limit: 300))
  }

  /// For labels and members in Mermaid.
  static func mermaid(_ text: String) -> String {
    MarkupText.mermaid(VisibleText.visible(text, limit: 300))
  }

  /// Text cut to a number of characters, with an ellipsis if it is longer.
  package static func clipped(_ text: String, to count: Int) -> String {
    let shown = VisibleText.visible(text, limit: 300)
    return shown.count <= count ? shown : String(shown.prefix(max(1, count - 1))) + "…"
  }
}
