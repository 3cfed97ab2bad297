import ObjectModel
import Quoting
import SafeText

/// Makes text from a model safe for use in a picture: characters that control, hide or reorder text become visible,
/// and characters with a meaning in the picture's format are escaped.
package enum PictureText {
  /// Returns the text, escaped for element content and attribute values of HTML and SVG, and cut after `limit` Unicode
  /// scalars.
  package static func html(_ text: String, limit: Int = 300) -> String {
    MarkupText.html(VisibleText.visible(text, limit: limit))
  }

  /// Returns the text, escaped for a quoted string of the DOT language, and cut after 300 Unicode scalars.
  static func dot(_ text: String) -> String {
    MarkupText.dot(VisibleText.visible(text, limit: 300))
  }

  /// Returns the text, escaped for labels and members in Mermaid, and cut after 300 Unicode scalars.
  static func mermaid(_ text: String) -> String {
    MarkupText.mermaid(VisibleText.visible(text, limit: 300))
  }

  /// Returns the text with at most `count` characters. A longer text is cut and ends with an ellipsis. Nothing is
  /// escaped.
  package static func clipped(_ text: String, to count: Int) -> String {
    let shown = VisibleText.visible(text, limit: 300)
    return shown.count <= count ? shown : String(shown.prefix(max(1, count - 1))) + "…"
  }
}
