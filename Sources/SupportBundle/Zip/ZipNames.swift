import SafeText

/// The rules for the names of entries, both for writing and for reading.
///
/// A name must denote the same file below the chosen folder on every system. No two names may denote the same file:
/// otherwise file systems that ignore case or normalise Unicode would lose an entry silently.
struct ZipNames {
  /// The most bytes of UTF-8 in a name.
  static let maxBytes = 1024
  /// The most components in a name.
  static let maxDepth = 32

  /// A component of a name, below its parent; parent 0 is the chosen folder. Each component is stored once, so that
  /// deep names cost no more than their bytes. Case is ignored, and `String` compares names by their normalised form.
  private struct Place: Hashable {
    let parent: Int
    let name: String
    /// The bytes of the component if names are compared by bytes; else empty.
    let bytes: [UInt8]
  }

  /// Whether names that differ only in case or in their normal form count as different names, as on a case-sensitive
  /// file system.
  var isByBytes = false

  private enum Use { case file, folder, namedFolder }

  private var places: [Place: Int] = [:]
  private var uses: [Use] = [.folder]

  /// Checks a name, remembers it and returns it as text. Throws `bundle.badName` for a name that breaks a rule, and
  /// `bundle.duplicateName` for one that clashes with an earlier name.
  mutating func add(_ bytes: some Collection<UInt8>) throws(BundleError) -> String {
    let name = try Self.check(bytes)
    let isFolder = Self.isFolder(name)
    let components = Self.components(of: name)
    var parent = 0
    for (index, component) in components.enumerated() {
      let isLast = index == components.count - 1
      let use: Use = !isLast ? .folder : isFolder ? .namedFolder : .file
      // ß and SS are one name where case is folded.
      let place = Place(
        parent: parent, name: component.uppercased().lowercased(),
        bytes: isByBytes ? Array(component.utf8) : [])
      guard let known = places[place] else {
        parent = uses.count
        places[place] = parent
        uses.append(use)
        continue
      }
      switch (uses[known], use) {
      case (.folder, .folder), (.namedFolder, .folder): break
      case (.folder, .namedFolder): uses[known] = .namedFolder
      case (.file, .folder): throw Self.clash(name, "lies below an entry that is a file")
      case (.file, .file), (.namedFolder, .namedFolder): throw Self.clash(name, "appears twice")
      case (.file, .namedFolder), (.folder, .file), (.namedFolder, .file):
        throw Self.clash(name, "is a file and a folder")
      }
      parent = known
    }
    return name
  }

  /// Whether a name is that of a folder: it ends with a slash (APPNOTE 4.3.8).
  static func isFolder(_ name: String) -> Bool { name.utf8.last == UInt8(ascii: "/") }

  /// The components of a checked name; the slash at the end of a folder adds none.
  static func components(of name: String) -> [String] {
    var components = PathText.components(of: name)
    if components.count > 1, components.last?.utf8.isEmpty == true { components.removeLast() }
    return components
  }

  /// Returns a name in which bytes that no name may hold are written like `%0D`: control characters, backslashes,
  /// colons and bytes that are not UTF-8. Names of other systems have these bytes, such as the name of a folder's icon
  /// on macOS.
  static func escaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    func isPlain(_ byte: UInt8) -> Bool {
      byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: ":")
    }
    let isText = String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
    for byte in bytes {
      if isPlain(byte), isText || byte < 0x80 {
        result.append(byte)
      } else {
        result += Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8)
      }
    }
    return result
  }

  /// Returns the name in `bytes` as text. Throws `bundle.badName` when the name breaks a rule.
  static func check(_ bytes: some Collection<UInt8>) throws(BundleError) -> String {
    guard !bytes.isEmpty, bytes.count <= maxBytes else {
      throw bad(bytes, "is empty or longer than \(maxBytes) bytes")
    }
    for byte in bytes {
      if byte < 0x20 || byte == 0x7F { throw bad(bytes, "holds a control character") }
      if byte == UInt8(ascii: "\\") { throw bad(bytes, "holds a backslash") }
      // A colon marks a drive letter or an alternate stream on Windows.
      if byte == UInt8(ascii: ":") { throw bad(bytes, "holds a colon") }
    }
    let name = String(decoding: bytes, as: UTF8.self)
    guard name.utf8.elementsEqual(bytes) else { throw bad(bytes, "is not UTF-8") }

    let components = components(of: name)
    guard components.count <= maxDepth else { throw bad(bytes, "has too many folders") }
    for component in components {
      if component.utf8.isEmpty { throw bad(bytes, "is absolute or holds an empty component") }
      guard PathText.isPlainName(component) else { throw bad(bytes, "leads out of its folder") }
    }
    return name
  }

  private static func bad(_ bytes: some Collection<UInt8>, _ what: String) -> BundleError {
    BundleError(.badName, "the entry name \(Quoted.bytes(bytes)) \(what)")
  }

  private static func clash(_ name: String, _ what: String) -> BundleError {
    BundleError(.duplicateName, "the entry name \(Quoted.text(name)) \(what)", entry: name)
  }
}
