/// A picture as a file of its own: XML that loads nothing, with colours for light and dark.
package enum SVGFile {
  /// Makes the file.
  ///
  /// - Parameters:
  ///   - width: the width of the picture.
  ///   - height: its height.
  ///   - title: what it shows, for readers who do not see it.
  ///   - body: its elements.
  ///   - rules: the style of the elements, in the colours given. The colours themselves are written, not names of
  ///     them: many programs that draw SVG do not know those.
  /// - Returns: the file.
  package static func text(
    width: Int, height: Int, title: String, body: String, rules: (PictureColours) -> String
  ) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" \
    height="\(height)" role="img" aria-labelledby="picture">
    <title id="picture">\(PictureText.html(title))</title>
    <style>
    \(sheet(.light, rules))@media (prefers-color-scheme: dark) {
    \(sheet(.dark, rules))}
    </style>
    <rect class="ground" width="\(width)" height="\(height)"/>
    \(body)</svg>

    """
  }

  private static func sheet(
    _ colours: PictureColours, _ rules: (PictureColours) -> String
  ) -> String {
    ".ground { fill: \(colours.back); }\n" + rules(colours)
  }
}
