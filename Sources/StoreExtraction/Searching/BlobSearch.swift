import CoreDataStore
import ObjectModel
import SQLiteFile
import SafeText

extension SearchPattern {
  /// A match in a BLOB. `inside`: the part of the BLOB that contains the match, in the form of ``SearchHit/inside``.
  struct BlobMatch {
    var inside: String?
    var excerpt: SearchExcerpt
  }

  /// The depth of nesting at which property lists are no longer read. Data in a property list may itself be a property
  /// list.
  private static let maxDepth = 8

  /// The limits of the search in one binary value, and whether a part of the value was left out because of them.
  private struct Reach {
    /// The number of bytes that may still be read from data in property lists. Nested property lists may repeat the
    /// same data any number of times.
    var dataBytes = 16 << 20
    /// Whether a part of the value is too large, or nested too deeply, to be searched.
    var isExceeded = false
  }

  /// Searches a binary value: its bytes as text in UTF-8 and UTF-16, and its content as a property list, a keyed
  /// archive, JSON or other text. The content is searched even if it is compressed.
  ///
  /// - Returns: the first match in the content if there is one, otherwise the first match in the bytes; nil if nothing
  ///   matches.
  func match(inBlob bytes: [UInt8]) -> BlobMatch? {
    var isPartial = false
    return match(inBlob: bytes, &isPartial)
  }

  /// Searches a binary value. Sets `isPartial` to true if nothing matches and a part of the value was not searched,
  /// because this part is too large or nested too deeply.
  func match(inBlob bytes: [UInt8], _ isPartial: inout Bool) -> BlobMatch? {
    var reach = Reach()
    let found = match(inBlob: bytes, depth: 0, &reach)
    if found == nil, reach.isExceeded { isPartial = true }
    return found
  }

  /// Searches a binary value that may come from within another one.
  ///
  /// `depth`: the number of times that the value was decompressed or taken out of a property list. If it is 3 or more,
  /// the value is not decompressed again.
  private func match(inBlob bytes: [UInt8], depth: Int, _ reach: inout Reach) -> BlobMatch? {
    let content = ContiguousArray(bytes)
    let span = content.rawSpan
    let raw = isExpression ? nil : match(inBytes: span)
    if let found = match(inCompressed: bytes, depth: depth, &reach) { return found }
    guard isExpression || raw != nil || mayBeWritten(in: bytes) else { return nil }
    switch depth < Self.maxDepth ? BlobContent(bytes) : .unknown {
    case .propertyList(let list):
      if let found = match(in: list, "property list", depth, &reach) { return found }
    case .keyedArchive(_, let tree):
      if let found = match(in: tree, "keyed archive", depth, &reach) { return found }
    case .text(let text):
      if let range = match(inText: span) {
        return BlobMatch(inside: "text", excerpt: SearchExcerpt(range, of: text))
      }
      if leavesOut(textOf: bytes.count) { reach.isExceeded = true }
    case .unknown:
      if BlobContent.isList(bytes) || depth >= Self.maxDepth {
        reach.isExceeded = true
      } else if isExpression, bytes.count > BlobContent.maxBytes, BlobContent.beginsAsText(bytes) {
        if let range = match(inText: span) {
          return BlobMatch(inside: "text", excerpt: SearchExcerpt(range, of: span))
        }
        reach.isExceeded = true
      }
    case .image, .compressed: break
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

  /// Decompresses a value and searches the result. Returns nil if the value is not compressed, if it cannot be
  /// decompressed, or if nothing matches.
  private func match(
    inCompressed bytes: [UInt8], depth: Int, _ reach: inout Reach
  ) -> BlobMatch? {
    guard let format = Inflation.form(of: bytes) else { return nil }
    guard depth < 3 else {
      reach.isExceeded = true
      return nil
    }
    do throws(Inflation.Failure) {
      let unpacked = try Inflation.bytes(of: bytes, format)
      guard var found = match(inBlob: unpacked, depth: depth + 1, &reach) else { return nil }
      found.inside = "\(format.rawValue)" + (found.inside.map { ", " + $0 } ?? "")
      return found
    } catch {
      if error == .tooLarge { reach.isExceeded = true }
      return nil
    }
  }

  /// Whether the searched text may occur in a property list although it does not occur in the bytes of the list. A
  /// property list stores numbers, dates and UUIDs in other forms, and XML may contain entities and data in Base64.
  private func mayBeWritten(in bytes: [UInt8]) -> Bool {
    let isXML = bytes.starts(with: "<?xml".utf8)
    guard BlobContent.isList(bytes) else { return false }
    return isNumberDateOrUUID
      || isXML
        && (bytes.contains(UInt8(ascii: "&")) || bytes.firstRange(of: "<data>".utf8) != nil)
  }

  /// Returns the first match in a property list, and the keys that lead to the value with the match.
  private func match(
    in list: PropertyList, _ kind: String, _ depth: Int, _ reach: inout Reach
  ) -> BlobMatch? {
    // The property list reader limits the depth and the number of values.
    var keys: [String] = []
    func hit(_ excerpt: SearchExcerpt) -> BlobMatch {
      let path = keys.map { VisibleText.visible($0, limit: 60) }.joined(separator: ".")
      return BlobMatch(inside: kind + (path.isEmpty ? "" : ", " + path), excerpt: excerpt)
    }
    func found(_ text: String) -> BlobMatch? {
      let bytes = ContiguousArray(text.utf8)
      if let range = self.match(inText: bytes.rawSpan) {
        return hit(SearchExcerpt(range, of: bytes.rawSpan))
      }
      if leavesOut(textOf: bytes.count) { reach.isExceeded = true }
      return nil
    }
    func search(_ list: PropertyList) -> BlobMatch? {
      func within(_ key: String, _ value: PropertyList) -> BlobMatch? {
        keys.append(key)
        defer { keys.removeLast() }
        return search(value)
      }
      switch list {
      case .string(let text): return found(text)
      case .integer(let number):
        return matches(number) ? hit(SearchExcerpt(whole: String(number))) : nil
      case .real(let number):
        return matches(number) ? hit(SearchExcerpt(whole: number.description)) : nil
      case .date(let seconds):
        let date = ReferenceDate(seconds: seconds)
        return matches(date) ? hit(SearchExcerpt(whole: date.iso8601 ?? "")) : nil
      case .data(let bytes):
        reach.dataBytes -= bytes.count
        guard reach.dataBytes >= 0 else {
          reach.isExceeded = true
          return nil
        }
        return self.match(inBlob: bytes, depth: max(3, depth) + 1, &reach)
      case .array(let values), .set(let values):
        for (place, value) in values.enumerated() {
          if let match = within(String(place), value) { return match }
        }
      case .dictionary(let members):
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
          if let match = found(key) ?? within(key, value) { return match }
        }
      case .null, .bool, .uid: break
      }
      return nil
    }
    return search(list)
  }
}
