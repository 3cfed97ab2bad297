import CoreDataStore
package import ObjectModel
import SafeText

/// The content of a binary value, recognized by its bytes. No code from the value is run, and no object is created from
/// it.
package enum BlobContent: Equatable {
  /// A property list, binary or XML, that is not a keyed archive.
  case propertyList(PropertyList)
  /// A keyed archive: the names of its classes in the order of the archive, and the tree of its values.
  case keyedArchive(classes: [String], tree: PropertyList)
  /// An image, with its media type and its size in pixels.
  case image(type: String, width: Int, height: Int)
  /// A value compressed by gzip or zlib: the format and the content. The content is nil if it is damaged, is larger
  /// than 16 MiB, or was compressed too many times.
  indirect case compressed(String, BlobContent?)
  /// JSON, or other text in UTF-8.
  case text(String)
  case unknown

  /// The maximum size in bytes of an external file that is decoded.
  package static let maxFileBytes: Int64 = 16 << 20
  /// The maximum size in bytes of a property list or text that is read.
  static let maxBytes = 1 << 20
  /// The maximum total size in bytes of the texts and data in a property list. A value counts each time it occurs,
  /// because a small list may refer to the same long text a hundred thousand times.
  private static let maxValueBytes = 4 << 20

  package init(_ bytes: [UInt8]) { self.init(bytes, depth: 0) }

  private init(_ bytes: [UInt8], depth: Int) {
    if let image = Self.image(bytes) {
      self = image
    } else if let form = Inflation.form(of: bytes) {
      let content = depth < 3 ? try? Inflation.bytes(of: bytes, form) : nil
      self = .compressed(form.rawValue, content.map { BlobContent($0, depth: depth + 1) })
    } else if Self.isList(bytes), bytes.count <= Self.maxBytes,
      let list = try? PropertyList(bytes: bytes), Self.valueBytes(list) <= Self.maxValueBytes
    {
      self = Self.archive(list) ?? .propertyList(list)
    } else if bytes.count <= Self.maxBytes, let text = Self.text(bytes) {
      self = .text(text)
    } else {
      self = .unknown
    }
  }

  /// Returns a short description of the content with its size. The description quotes at most `limit` characters of the
  /// content.
  package func summary(sizeBytes: Int, limit: Int = 200) -> String {
    let size = "\(sizeBytes) \(sizeBytes == 1 ? "byte" : "bytes")"
    switch self {
    case .propertyList(let list):
      var text = ""
      Self.describe(list, depth: 0, limit, &text)
      return "property list: \(text) (\(size))"
    case .keyedArchive(let classes, let tree):
      let names =
        classes.prefix(8).map { Self.cut($0, limit) }.joined(separator: ", ")
        + (classes.count > 8 ? ", …" : "")
      var text = ""
      Self.describe(tree, depth: 0, limit, &text)
      return "keyed archive of \(names.isEmpty ? "no class" : names): \(text) (\(size))"
    case .image(let type, let width, let height):
      return "\(type), \(width) by \(height) pixels (\(size))"
    case .compressed(let format, nil): return "compressed by \(format) (\(size))"
    case .compressed(let format, let content?):
      return content.summary(sizeBytes: sizeBytes, limit: limit) + ", compressed by \(format)"
    case .text(let text):
      let scalars = text.unicodeScalars
      return "text: \(String(scalars.prefix(limit)))\(scalars.count > limit ? "…" : "") (\(size))"
    case .unknown: return size
    }
  }

  // MARK: - Property lists

  /// Whether a value begins as a property list in the binary or the XML form.
  static func isList(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: "bplist0".utf8) || bytes.starts(with: "<?xml".utf8)
  }

  private static func archive(_ list: PropertyList) -> BlobContent? {
    guard case .dictionary(let top) = list, case .string("NSKeyedArchiver")? = top["$archiver"],
      case .array(let objects)? = top["$objects"]
    else { return nil }
    var classes: [String] = []
    var met = ExactTexts()
    for case .dictionary(let object) in objects {
      if case .string(let name)? = object["$classname"], met.insert(name) { classes.append(name) }
    }
    guard let tree = ArchiveTree.tree(of: list), valueBytes(tree) <= maxValueBytes else {
      return nil
    }
    return .keyedArchive(classes: classes, tree: tree)
  }

  private static func valueBytes(_ list: PropertyList) -> Int {
    switch list {
    case .string(let text): text.utf8.count
    case .data(let bytes): bytes.count
    case .array(let values), .set(let values): values.reduce(0) { $0 + valueBytes($1) }
    case .dictionary(let members):
      members.reduce(0) { $0 + $1.key.utf8.count + valueBytes($1.value) }
    case .null, .bool, .integer, .real, .date, .uid: 0
    }
  }

  private static func cut(_ text: String, _ limit: Int) -> String {
    String(text.unicodeScalars.prefix(limit))
  }

  /// Appends a value as text. Stops when the text has about `limit` bytes.
  private static func describe(
    _ list: PropertyList, depth: Int, _ limit: Int, _ text: inout String
  ) {
    guard text.utf8.count < limit, depth < 6 else {
      text += "…"
      return
    }
    func items(_ values: some Sequence<(String, PropertyList)>) {
      for (place, (lead, value)) in values.enumerated() {
        guard text.utf8.count < limit else {
          text += "…"
          return
        }
        text += (place == 0 ? "" : ", ") + lead
        describe(value, depth: depth + 1, limit, &text)
      }
    }
    switch list {
    case .null: text += "null"
    case .bool(let flag): text += flag ? "true" : "false"
    case .integer(let number): text += String(number)
    case .real(let number): text += number.description
    case .date(let seconds):
      text += ReferenceDate(seconds: seconds).iso8601 ?? "\(seconds) seconds since 2001"
    case .data(let bytes): text += "\(bytes.count) bytes"
    case .string(let string): text += "\"\(cut(string, limit))\""
    case .uid(let number): text += "object \(number)"
    case .array(let values), .set(let values):
      text += "["
      items(values.lazy.map { ("", $0) })
      text += "]"
    case .dictionary(let members):
      text += "{"
      items(
        members.sorted { $0.key < $1.key }.lazy.map {
          ("\(cut($0.key, limit)): ", $0.value)
        })
      text += "}"
    }
  }

  private static func text(_ bytes: [UInt8]) -> String? {
    guard !bytes.isEmpty,
      bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 || $0 == 0x0a || $0 == 0x0d })
    else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Whether the first 4 KiB of a value are text in UTF-8.
  static func beginsAsText(_ bytes: [UInt8]) -> Bool {
    var lead = bytes.prefix(1 << 12)
    // The last letter may be cut.
    while let last = lead.last, last & 0xc0 == 0x80 { lead.removeLast() }
    if let last = lead.last, last >= 0xc0 { lead.removeLast() }
    return text(Array(lead)) != nil
  }

  // MARK: - Images

  private static func image(_ bytes: [UInt8]) -> BlobContent? {
    func big(_ place: Int, _ count: Int) -> Int {
      bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
    }
    func little(_ place: Int) -> Int { Int(bytes[place]) | Int(bytes[place + 1]) << 8 }
    // PNG, 11.2.2: IHDR is the first chunk.
    if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), bytes.count >= 24 {
      return .image(type: "image/png", width: big(16, 4), height: big(20, 4))
    }
    // GIF89a: the logical screen follows the signature.
    if bytes.starts(with: "GIF8".utf8), bytes.count >= 10 {
      return .image(type: "image/gif", width: little(6), height: little(8))
    }
    // JPEG, ITU-T T.81, B.2.2: the frame header has the size.
    if bytes.starts(with: [0xff, 0xd8, 0xff]) {
      var place = 2
      while place + 9 < bytes.count, bytes[place] == 0xff {
        let marker = bytes[place + 1]
        if (0xc0...0xcf).contains(marker), ![0xc4, 0xc8, 0xcc].contains(marker) {
          return .image(type: "image/jpeg", width: big(place + 7, 2), height: big(place + 5, 2))
        }
        // The segment length includes its own two bytes, so the position always grows.
        place += 2 + max(2, big(place + 2, 2))
      }
    }
    return nil
  }
}
