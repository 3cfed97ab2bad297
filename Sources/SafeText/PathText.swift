/// Splits and compares paths and file names by their UTF-8 bytes.
///
/// A file system compares names byte by byte. Swift's `Character` joins a `/` and a combining mark after it into one
/// character that is not `/`, and `==` treats some names of different files as equal.
package enum PathText {
  private static let slash = UInt8(ascii: "/")

  /// Returns the parts of `path` between its slashes, empty parts included: `/a//b` has `""`, `a`, `""` and `b`.
  package static func components(of path: String) -> [String] {
    path.utf8.split(separator: slash, omittingEmptySubsequences: false).map {
      String(Substring($0))
    }
  }

  /// Returns the folder part of `path`: "." when `path` has no slash, "/" for an entry of the root folder.
  package static func folder(of path: String) -> String {
    guard let place = lastSlash(of: path) else { return "." }
    return place == path.startIndex ? "/" : String(path[..<place])
  }

  /// Returns the part of `path` after its last slash; empty when `path` ends with a slash.
  package static func lastComponent(of path: String) -> String {
    guard let place = lastSlash(of: path) else { return path }
    return String(path[path.utf8.index(after: place)...])
  }

  /// `path` without the slashes at its end. The path "/" is returned unchanged.
  package static func withoutTrailingSlashes(_ path: String) -> String {
    var bytes = path.utf8[...]
    while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
    return String(Substring(bytes))
  }

  /// Returns the path of `name` in `folder`, with exactly one slash between the two.
  package static func joined(_ folder: String, _ name: String) -> String {
    folder.utf8.last == slash ? folder + name : folder + "/" + name
  }

  /// Whether `path` is `folder` or lies below it. Compares bytes only; the file system is not asked.
  package static func isInside(_ path: String, _ folder: String) -> Bool {
    if isSame(path, folder) { return true }
    return starts(path, with: folder.utf8.last == slash ? folder : folder + "/")
  }

  /// Whether `name` is a single path component: not empty, not "." or "..", without a slash or a zero byte.
  package static func isPlainName(_ name: some StringProtocol) -> Bool {
    let bytes = name.utf8
    return !bytes.isEmpty && !bytes.elementsEqual(".".utf8) && !bytes.elementsEqual("..".utf8)
      && !bytes.contains(slash) && !bytes.contains(0)
  }

  /// Returns the extension of a file's name, without its dot; empty for a name without a dot. A dot at the start of the
  /// name starts no extension.
  package static func ending(of name: String) -> String {
    guard let dot = lastDot(of: name) else { return "" }
    return String(name[name.utf8.index(after: dot)...])
  }

  /// Returns a file name without its extension and the dot before the extension; the whole name when it has no
  /// extension.
  package static func stem(of name: String) -> String {
    guard let dot = lastDot(of: name) else { return name }
    return String(name[..<dot])
  }

  // MARK: - Bytes of names

  package static func isSame(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    one.utf8.elementsEqual(other.utf8)
  }

  package static func starts(_ text: some StringProtocol, with prefix: some StringProtocol) -> Bool
  {
    text.utf8.starts(with: prefix.utf8)
  }

  package static func ends(_ text: some StringProtocol, with suffix: some StringProtocol) -> Bool {
    let count = suffix.utf8.count
    return text.utf8.count >= count && text.utf8.suffix(count).elementsEqual(suffix.utf8)
  }

  /// `text` without `suffix` at its end; nil when `text` does not end with the bytes of `suffix`.
  package static func dropping(suffix: String, from text: String) -> String? {
    guard ends(text, with: suffix) else { return nil }
    return String(Substring(text.utf8.dropLast(suffix.utf8.count)))
  }

  /// `text` without `prefix` at its start; nil when `text` does not begin with the bytes of `prefix`.
  package static func dropping(prefix: String, from text: String) -> String? {
    guard starts(text, with: prefix) else { return nil }
    return String(Substring(text.utf8.dropFirst(prefix.utf8.count)))
  }

  private static func lastDot(of name: String) -> String.Index? {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
      return nil
    }
    return dot
  }

  /// Returns the index of the last slash in `path`; nil without a slash. The string's contiguous bytes are searched
  /// where possible, because the string's own views are ten times slower and each launch of an app calls this several
  /// times.
  private static func lastSlash(of path: String) -> String.Index? {
    let bytes = path.utf8
    let offset = unsafe bytes.withContiguousStorageIfAvailable { unsafe $0.lastIndex(of: slash) }
    guard let offset else { return bytes.lastIndex(of: slash) }
    return offset.map { bytes.index(bytes.startIndex, offsetBy: $0) }
  }
}
