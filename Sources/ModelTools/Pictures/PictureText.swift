import ObjectModel
import Quoting
import SafeText

/// Makes text from a model safe for a picture. Characters that control, hide or reorder text are made visible.
/// Characters with a meaning in the format are escaped.
package enum PictureText {
  /// The text for element content and attribute values of HTML and SVG, cut after `limit` Unicode scalars.
  package static func html(_ text: String, limit: Int = 300) -> String {
    MarkupText.html(VisibleText.visible(text, limit: limit))
  }

  /// The text for a quoted string of the DOT language, cut after 300 Unicode scalars.
  static func dot(_ text: String) -> String {
    MarkupText.dot(VisibleText.visible(text, limit: 300))
  }

  /// The text for labels and members in Mermaid, cut after 300 Unicode scalars.
  static func mermaid(_ text: String) -> String {
    MarkupText.mermaid(VisibleText.visible(text, limit: 300))
  }

  /// The text with at most `count` characters. A longer text is cut and ends with an ellipsis. It is not escaped.
  package static func clipped(_ text: String, to count: Int) -> String {
    let shown = VisibleText.visible(text, limit: 300)
    return shown.count <= count ? shown : String(shown.prefix(max(1, count - 1))) + "…"
  }
}
