import SafeText

/// The parts of a language tag (BCP 47) that decide which words are used.
package struct LanguageTag {
  /// The language code in lower case. All codes of Norwegian become `nb`, all of Chinese `zh`.
  let language: String
  /// The script in lower case, for example `hans`; nil when the tag neither names nor implies a script.
  let script: String?
  /// The region in upper case, for example `US`; nil when the tag names no region.
  let region: String?

  /// Parses a tag such as `de`, `de-AT` or `zh-Hans-CN`, and the system's form `de_AT.UTF-8`; nil for any other string.
  init?(_ text: String) {
    let plain = text.prefix { $0 != "." && $0 != "@" }
    let parts = plain.split(
      omittingEmptySubsequences: false, whereSeparator: { $0 == "-" || $0 == "_" })
    guard let first = parts.first, (2...8).contains(first.utf8.count), Self.isLetters(first) else {
      return nil
    }
    var script: String?
    var region: String?
    for part in parts.dropFirst() {
      // All parts after a single letter are an extension.
      if part.utf8.count < 2 { break }
      if part.utf8.count == 4, script == nil, region == nil, Self.isLetters(part) {
        script = part.lowercased()
      } else if region == nil, part.utf8.count == 2, Self.isLetters(part) {
        region = part.uppercased()
      } else if region == nil, part.utf8.count == 3,
        part.utf8.allSatisfy({ (48...57).contains($0) })
      {
        region = String(part)
      }
    }
    switch first.lowercased() {
    // Bokmål, which readers of Nynorsk understand too.
    case "no", "nor", "nob", "nn", "nno", "nb": language = "nb"
    case "zh", "zho", "chi", "cmn":
      language = "zh"
      if script == nil { script = ["TW", "HK", "MO"].contains(region) ? "hant" : "hans" }
    case let other: language = other
    }
    self.script = script
    self.region = region
  }

  private static func isLetters(_ part: Substring) -> Bool {
    part.utf8.allSatisfy { (65...90).contains($0) || (97...122).contains($0) }
  }

  /// The tags to look up, the most exact first. If a Chinese tag names a script, only tags with this script are looked
  /// up, because a reader of Traditional Chinese should not get Simplified Chinese.
  var candidates: [String] {
    var found: [String] = []
    if let script {
      if let region { found.append("\(language)-\(script)-\(region.lowercased())") }
      found.append("\(language)-\(script)")
      if language == "zh" { return found }
    }
    if let region { found.append("\(language)-\(region.lowercased())") }
    return found + [language]
  }

  /// Finds the first language in `preferred` that is in `available`. Returns the language as spelled in `available`,
  /// and the region of the tag in `preferred`. nil when no preferred language is available.
  package static func best(
    of available: some Sequence<String>, preferring preferred: [String]
  ) -> (language: String, region: String?)? {
    let byName = Dictionary(firstOf: available.map { ($0.lowercased(), $0) })
    for text in preferred.prefix(100) {
      guard let tag = LanguageTag(text) else { continue }
      for candidate in tag.candidates {
        if let name = byName[candidate] { return (name, tag.region) }
      }
    }
    return nil
  }
}
