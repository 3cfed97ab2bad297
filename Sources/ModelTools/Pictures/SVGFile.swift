/// Makes SVG files that load no other files and have colours for light and dark screens.
package enum SVGFile {
  /// Makes the text of an SVG file. `title` says what the picture shows, for readers who cannot see it. `rules` returns
  /// the CSS rules for the given colours. The file contains the colours themselves instead of CSS variables, because
  /// many programs that draw SVG do not support variables.
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
