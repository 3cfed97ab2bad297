import CoreDataStore
import ObjectModel
import SQLiteFile
import SafeText

extension SearchPattern {
  /// A match in a binary value, and the part of the value that holds it; see ``SearchHit/inside``.
  struct BlobMatch {
    var inside: String?
    var excerpt: SearchExcerpt
  }

  /// Searches a binary value: its bytes as text in UTF-8 and UTF-16, and its content as a property list, keyed archive,
  /// JSON or other text, compressed or not.
  ///
  /// - Parameters:
  ///   - bytes: the value.
  ///   - depth: how many times the value was decompressed so far. From 3 on, it is not decompressed again.
  /// - Returns: the first match; nil when there is none.
  func match(inBlob bytes: [UInt8], depth: Int = 0) -> BlobMatch? {
    let content = ContiguousArray(bytes)
    let span = content.rawSpan
    let raw = isExpression ? nil : match(inBytes: span)
    if let format = Inflation.form(of: bytes), depth < 3,
      let unpacked = try? Inflation.bytes(of: bytes, format),
      var found = match(inBlob: unpacked, depth: depth + 1)
    {
      found.inside = "\(format.rawValue)" + (found.inside.map { ", " + $0 } ?? "")
      return found
    }
    // A text in a property list is also in the bytes of the list. When the bytes have no match, the list need not be
    // read.
    guard isExpression || raw != nil else { return nil }
    switch BlobContent(bytes) {
    case .propertyList(let list):
      if let found = match(in: list, "property list") { return found }
    case .keyedArchive(_, let tree):
      if let found = match(in: tree, "keyed archive") { return found }
    case .text(let text):
      if let range = match(inText: span) {
        return BlobMatch(inside: "text", excerpt: SearchExcerpt(range, of: text))
      }
    case .image, .compressed, .unknown: break
    }
    guard let raw else { return nil }
    let found = bytes[raw]
    let isText = found.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
    return BlobMatch(
      inside: "byte \(raw.lowerBound) of \(bytes.count)",
      excerpt: SearchExcerpt(
        whole: isText
          ? String(decoding: found, as: UTF8.self)
          : found.contains(0)
            ? String(decoding: found.filter { $0 != 0 }, as: UTF8.self) : "(bytes)"))
  }

  /// Returns the first match of a text in a property list, with the keys that lead to the text.
  private func match(in list: PropertyList, _ kind: String) -> BlobMatch? {
    // The property list reader limits the depth and the number of values.
    var keys: [String] = []
    func found(_ text: String) -> BlobMatch? {
      let bytes = ContiguousArray(text.utf8)
      guard let range = match(inText: bytes.rawSpan) else { return nil }
      let path = keys.map { VisibleText.visible($0, limit: 60) }.joined(separator: ".")
      return BlobMatch(
        inside: kind + (path.isEmpty ? "" : ", " + path),
        excerpt: SearchExcerpt(range, of: bytes.rawSpan))
    }
    func search(_ list: PropertyList) -> BlobMatch? {
      func within(_ key: String, _ value: PropertyList) -> BlobMatch? {
        keys.append(key)
        defer { keys.removeLast() }
        return search(value)
      }
      switch list {
      case .string(let text): return found(text)
      case .integer(let number): return matches(number) ? found(String(number)) : nil
      case .date(let seconds):
        let date = ReferenceDate(seconds: seconds)
        return matches(date)
          ? BlobMatch(inside: kind, excerpt: SearchExcerpt(whole: date.iso8601 ?? "")) : nil
      case .data(let bytes): return match(inBlob: bytes, depth: 3)
      case .array(let values), .set(let values):
        for (place, value) in values.enumerated() {
          if let match = within(String(place), value) { return match }
        }
      case .dictionary(let members):
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
          if let match = found(key) ?? within(key, value) { return match }
        }
      case .null, .bool, .real, .uid: break
      }
      return nil
    }
    return search(list)
  }
}
