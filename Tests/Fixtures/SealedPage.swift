import Crypto
import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// The rules that HTML pages and SVG pictures must follow, whatever is in the store.
public enum SealedPage {
  /// The rules that an HTML page breaks. A page must run only its own script, load nothing, and be readable by
  /// everybody.
  public static func faults(in html: String, maxBytes: Int = 2_000_000) -> [String] {
    var faults: [String] = []
    let bytes = Data(html.utf8)
    let policy = part(html, "Content-Security-Policy\" content=\"", "\">") ?? ""
    if !policy.hasPrefix("default-src 'none'; base-uri 'none'; form-action 'none';") {
      faults.append("the policy is \(policy)")
    }
    for (tag, source) in [("style", "style-src"), ("script", "script-src")] {
      guard let text = part(html, "<\(tag)>", "</\(tag)>") else {
        faults.append("not one <\(tag)>")
        continue
      }
      let hash = Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
      if !policy.contains("\(source) 'sha256-\(hash)'") {
        faults.append("the policy does not name the \(tag)")
      }
    }
    for word in [
      " src=", "href=\"h", "href=\"j", "href=\"/", "http-equiv=\"refresh", " style=", " onclick=",
      "<iframe", "<img", "@import", "url(h",
    ] where holds(bytes, word) {
      faults.append("it has \(word)")
    }
    if bytes.count > maxBytes { faults.append("it has \(bytes.count) bytes") }
    faults += unreadable(html)
    let ids = html.matches(of: #/ id="([^"]+)"/#).map { String($0.1) }
    if Set(ids).count != ids.count { faults.append("an id is there twice") }
    for match in html.matches(of: #/(?:aria-labelledby="|href="#)([^"]+)"/#)
    where !ids.contains(String(match.1)) {
      faults.append("nothing has the id \(match.1)")
    }
    if holds(bytes, "<th>") { faults.append("a heading of a table has no scope") }
    if html.matches(of: #/<h1>/#).count != 1 { faults.append("not one <h1>") }
    for match in html.matches(of: #/<svg [^>]*>/#)
    where !match.0.contains("role=\"img\"")
      || !match.0.contains("aria-labelledby=") && !match.0.contains("aria-label=")
    {
      faults.append("a picture has no words")
    }
    if let problem = xmlProblem(elements(html)) { faults.append(problem) }
    return faults
  }

  /// The rules that an SVG file breaks.
  public static func faults(inSVG svg: String, maxBytes: Int = 2_000_000) -> [String] {
    var faults: [String] = []
    if let problem = xmlProblem(svg) { faults.append(problem) }
    let named = Data(
      svg.replacingOccurrences(of: "xmlns=\"http://www.w3.org/2000/svg\"", with: "").utf8)
    for word in ["http:", "https:", "href", "<script", "<image", "@import", "url(h", "var("]
    where holds(named, word) {
      faults.append("it has \(word)")
    }
    if hasEvent(named) { faults.append("it has an event") }
    if !holds(named, "prefers-color-scheme: dark") { faults.append("it has no dark colours") }
    if !holds(named, "<title id=\"picture\">") { faults.append("it has no title") }
    if svg.utf8.count > maxBytes { faults.append("it has \(svg.utf8.count) bytes") }
    return faults + unreadable(svg)
  }

  /// Whether the bytes contain a word. Bytes are searched, because a search in a text compares characters, which takes
  /// long in pages of several megabytes.
  private static func holds(_ bytes: Data, _ word: String) -> Bool { bytes.holds(word) }

  /// Whether any tag has an attribute whose name begins as the names of event handlers do.
  private static func hasEvent(_ bytes: Data) -> Bool {
    bytes.split(separator: UInt8(ascii: "<")).contains { piece in
      let tag = piece.prefix { $0 != UInt8(ascii: ">") }
      return holds(tag, " on") && String(decoding: tag, as: UTF8.self).contains(#/ on[a-z]+=/#)
    }
  }

  /// The characters in a text that hide, reorder or control other characters.
  private static func unreadable(_ text: String) -> [String] {
    let bad = text.unicodeScalars.first { scalar in
      switch scalar.value {
      case 0x0A: false
      case 0..<0x20, 0x7F..<0xA0, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF,
        0xFFFE, 0xFFFF:
        true
      default: false
      }
    }
    return bad.map { ["it has the character \($0.value)"] } ?? []
  }

  /// The reason why a text is not XML; nil when it is XML.
  private static func xmlProblem(_ text: String) -> String? {
    let parser = XMLParser(data: Data(text.utf8))
    return parser.parse()
      ? nil
      : "line \(parser.lineNumber), column \(parser.columnNumber): no XML: \(String(describing: parser.parserError))"
  }

  /// Removes the parts of an HTML page that are not XML.
  private static func elements(_ html: String) -> String {
    var text = html.replacingOccurrences(of: "<!DOCTYPE html>\n", with: "")
    for match in html.matches(of: #/<meta [^>]*>/#) {
      text = text.replacingOccurrences(of: String(match.0), with: "")
    }
    for tag in ["style", "script"] {
      if let inner = part(text, "<\(tag)>", "</\(tag)>") {
        text = text.replacingOccurrences(of: inner, with: "")
      }
    }
    return text
  }

  /// The part of a page between the texts `start` and `end`. Nil when the page does not contain `start` exactly once.
  public static func part(_ html: String, _ start: String, _ end: String) -> String? {
    let parts = html.components(separatedBy: start)
    guard parts.count == 2 else { return nil }
    return parts[1].components(separatedBy: end).first
  }

  /// The section of a page that has this id; nil when no section has it. Sections are not nested.
  public static func section(_ html: String, _ id: String) -> String? {
    part(html, "<section aria-labelledby=\"\(id)\">", "</section>")
  }

  /// The value of a fact on a page, found by the name of the fact.
  public static func fact(_ html: String, _ name: String) -> String? {
    part(html, "<dt>\(name)</dt><dd>", "</dd>")
  }

  /// Opens a page in a browser. Returns the page as the browser has changed it, and the complaints of the browser. Nil
  /// when no browser is installed.
  public static func opened(_ html: String) throws -> (dom: String, complaints: String)? {
    guard
      let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first(where: {
        FileManager.default.isExecutableFile(atPath: $0)
      })
    else { return nil }
    let folder = try TemporaryFolder()
    let page = folder.url.appendingPathComponent("page.html")
    try Data(html.utf8).write(to: page)
    let result = try run(
      browser,
      [
        "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
        "--user-data-dir=\(folder.url.path)/profile", "--dump-dom", page.absoluteString,
      ])
    let log = String(decoding: result.stderr, as: UTF8.self)
    return (
      String(decoding: result.stdout, as: UTF8.self),
      log.split(separator: "\n").filter { $0.contains("CONSOLE") }.joined(separator: "\n")
    )
  }
}
