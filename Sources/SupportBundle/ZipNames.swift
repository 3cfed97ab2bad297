/// The rules for entry names, applied to what is written and to what is read.
///
/// A name must denote the same file below the chosen folder on every system, and no two names may denote
/// the same one: file systems that ignore case or normalise Unicode would else lose an entry silently.
struct ZipNames {
  /// The most bytes of UTF-8 in a name.
  static let maxBytes = 1024
  /// The most components in a name.
  static let maxDepth = 32

  private var files: Set<String> = []
  private var folders: Set<String> = []
  private var namedFolders: Set<String> = []

  /// Checks `bytes` and remembers the name.
  mutating func add(_ bytes: some Collection<UInt8>) throws(BundleError) -> String {
    let name = try Self.check(bytes)
    let isFolder = name.hasSuffix("/")
    let key = (isFolder ? String(name.dropLast()) : name).lowercased()

    var parent = ""
    let components = key.split(separator: "/", omittingEmptySubsequences: false)
    for component in components.dropLast() {
      parent += parent.isEmpty ? component : "/" + component
      if files.contains(parent) {
        throw Self.clash(name, "lies below an entry that is a file")
      }
      folders.insert(parent)
    }
    if isFolder {
      if files.contains(key) { throw Self.clash(name, "is a file and a folder") }
      if !namedFolders.insert(key).inserted { throw Self.clash(name, "is there twice") }
      folders.insert(key)
    } else {
      if folders.contains(key) { throw Self.clash(name, "is a file and a folder") }
      if !files.insert(key).inserted { throw Self.clash(name, "is there twice") }
    }
    return name
  }

  /// The name that `bytes` spell, when it breaks no rule.
  static func check(_ bytes: some Collection<UInt8>) throws(BundleError) -> String {
    guard !bytes.isEmpty, bytes.count <= maxBytes else {
      throw bad(bytes, "is empty or longer than \(maxBytes) bytes")
    }
    for byte in bytes {
      if byte < 0x20 || byte == 0x7F { throw bad(bytes, "holds a control character") }
      if byte == UInt8(ascii: "\\") { throw bad(bytes, "holds a backslash") }
      // A drive letter or an alternate stream on Windows.
      if byte == UInt8(ascii: ":") { throw bad(bytes, "holds a colon") }
    }
    let name = String(decoding: bytes, as: UTF8.self)
    guard name.utf8.elementsEqual(bytes) else { throw bad(bytes, "is not UTF-8") }

    var components = name.split(separator: "/", omittingEmptySubsequences: false)
    // A folder's name ends with a slash (4.3.8).
    if components.count > 1, components.last == "" { components.removeLast() }
    guard components.count <= maxDepth else { throw bad(bytes, "has too many folders") }
    for component in components {
      switch component {
      case "": throw bad(bytes, "is absolute or holds an empty component")
      case ".", "..": throw bad(bytes, "leads out of its folder")
      default: break
      }
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
