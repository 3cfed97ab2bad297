import SafeText

/// Checks the names of entries, both when an archive is written and when one is read.
///
/// A name must denote a file within the folder into which the archive is unpacked, and the same file on every system.
/// No two names may denote the same file: otherwise, a file system that ignores case or normalises Unicode would
/// silently lose one of the two entries.
struct ZipNames {
  /// The maximum length of a name, in bytes of UTF-8.
  static let maxBytes = 1024
  static let maxDepth = 32

  /// A component of an entry name, and the number of its parent folder. Number 0 is the folder into which the archive
  /// is unpacked. Each component is stored on its own, so a name with many components needs no more memory than its
  /// bytes. The case of `name` is folded, and `String` compares names in normalised form.
  private struct Place: Hashable {
    let parent: Int
    let name: String
    /// The bytes of the component, if names are compared by their bytes. Empty if names are compared as strings.
    let bytes: [UInt8]
  }

  /// Whether names are compared by their bytes. If so, names that differ only in case or in their Unicode normal form
  /// are different names.
  var isByBytes = false

  private enum Use { case file, folder, namedFolder }

  private var places: [Place: Int] = [:]
  private var uses: [Use] = [.folder]

  /// Checks a name, remembers the name and returns it as a string. Throws `bundle.badName` for a name that
  /// ``check(_:)`` refuses, and `bundle.duplicateName` for a name that may denote the same file as an earlier name.
  mutating func add(_ bytes: some Collection<UInt8>) throws(BundleError) -> String {
    let name = try Self.check(bytes)
    let isFolder = Self.isFolder(name)
    let components = Self.components(of: name)
    var parent = 0
    for (index, component) in components.enumerated() {
      let isLast = index == components.count - 1
      let use: Use = !isLast ? .folder : isFolder ? .namedFolder : .file
      // Some file systems that ignore case treat ß and SS as the same name.
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
        throw Self.clash(name, "is the name of a file and of a folder")
      }
      parent = known
    }
    return name
  }

  /// Whether `name` is the name of a folder, which ends with a slash (APPNOTE 4.3.8).
  static func isFolder(_ name: String) -> Bool { name.utf8.last == UInt8(ascii: "/") }

  /// Returns the components of a checked name. The slash at the end of a folder's name does not add a component.
  static func components(of name: String) -> [String] {
    var components = PathText.components(of: name)
    if components.count > 1, components.last?.utf8.isEmpty == true { components.removeLast() }
    return components
  }

  /// Returns the name with escapes such as `%0D` in place of bytes that ``check(_:)`` does not allow: control
  /// characters, backslashes, colons and, if the name is not UTF-8, all bytes that are not ASCII. Other systems allow
  /// such names: on macOS, the name of a folder's icon file ends with a carriage return.
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

  /// Returns the name as a string. Throws `bundle.badName` for a name that is empty, too long, absolute or not UTF-8,
  /// that has too many components or leads out of its folder, or that contains a control character, a backslash or a
  /// colon.
  static func check(_ bytes: some Collection<UInt8>) throws(BundleError) -> String {
    guard !bytes.isEmpty, bytes.count <= maxBytes else {
      throw bad(bytes, "is empty or longer than \(maxBytes) bytes")
    }
    for byte in bytes {
      if byte < 0x20 || byte == 0x7F { throw bad(bytes, "holds a control character") }
      if byte == UInt8(ascii: "\\") { throw bad(bytes, "holds a backslash") }
      // On Windows, a colon follows a drive letter, or precedes the name of an alternate stream.
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
