import Foundation
import SafeText

/// Removes the paths of folders from strings, because such paths often contain a user's name.
struct FolderNames {
  /// The folders whose contents may be shown: a path below such a folder is shown relative to the folder. The folders
  /// are stored without a trailing slash, the longest path first.
  private var shown: [[UInt8]] = []
  /// The shown folders, the home folder, and all parents of these folders. A path in a string normally ends at a space.
  /// But the name of a folder in this list is hidden as a whole, even if the name has spaces.
  private var hidden: [[UInt8]] = []

  init() { hide(NSHomeDirectory()) }

  /// Adds a folder. A path below `folder` is shown relative to `folder`.
  mutating func add(_ folder: String) {
    var path = PathText.withoutTrailingSlashes(folder)
    guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count > 1 else { return }
    hide(path)
    shown.append(Array(path.utf8))
    // The folder of an incident is in the folder `Incompatible`, which is in the store's folder. So the parent of
    // `Incompatible` becomes a shown folder, too.
    while let inside = path.utf8.lastIndex(of: UInt8(ascii: "/")), inside != path.startIndex {
      let last = PathText.lastComponent(of: path)
      path = String(path[..<inside])
      if PathText.isSame(last, "Incompatible") { shown.append(Array(path.utf8)) }
    }
    shown.sort { $0.count > $1.count }
  }

  private mutating func hide(_ folder: String) {
    var path = PathText.withoutTrailingSlashes(folder)
    while path.utf8.count > 1, path.utf8.first == UInt8(ascii: "/") {
      hidden.append(Array(path.utf8))
      path = PathText.folder(of: path)
    }
    hidden.sort { $0.count > $1.count }
  }

  /// Returns `text` with relative paths in place of paths below a shown folder, and with `…` in place of all other
  /// absolute paths.
  func without(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard bytes.contains(UInt8(ascii: "/")) else { return text }
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "/"), isPathStart(bytes, index) else {
        result.append(bytes[index])
        index += 1
        continue
      }
      if let folder = known(shown, bytes, index) {
        index += folder.count
        if index < bytes.count, bytes[index] == UInt8(ascii: "/") {
          index += 1
        } else {
          result.append(UInt8(ascii: "."))
        }
      } else {
        index += known(hidden, bytes, index)?.count ?? 1
        while index < bytes.count, !Self.endsPath(bytes[index]) { index += 1 }
        result += Array("…".utf8)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the longest of `folders` with which the path at `index` begins; nil when the path begins with none of
  /// these folders.
  private func known(_ folders: [[UInt8]], _ bytes: [UInt8], _ index: Int) -> [UInt8]? {
    folders.first { folder in
      let end = index + folder.count
      return bytes[index...].starts(with: folder)
        && (end == bytes.count || !Self.continuesName(bytes, end))
    }
  }

  /// Whether the byte at `end` continues the file name that the byte before it belongs to. A dot before a space, or at
  /// the end of the string, ends a sentence and does not belong to a name.
  private static func continuesName(_ bytes: [UInt8], _ end: Int) -> Bool {
    let byte = bytes[end]
    if byte == UInt8(ascii: ".") {
      return end + 1 < bytes.count && !endsPath(bytes[end + 1])
    }
    return byte >= 0x80 || isWord(byte) || byte == UInt8(ascii: "-")
  }

  private func isPathStart(_ bytes: [UInt8], _ index: Int) -> Bool {
    guard index + 1 < bytes.count, !Self.endsPath(bytes[index + 1]) else { return false }
    guard index > 0 else { return true }
    let before = bytes[index - 1]
    // A string from the host app may contain a URL. The slashes of a URL do not begin a path.
    let lead = bytes[..<index]
    if lead.suffix(5).elementsEqual("http:".utf8) || lead.suffix(6).elementsEqual("https:".utf8) {
      return false
    }
    return !Self.isWord(before) && before != UInt8(ascii: ".") && before != UInt8(ascii: "/")
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    NameForm.isWord(byte) || byte == UInt8(ascii: "_")
  }

  private static func endsPath(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == 0x22 || byte == 0x27 || byte == 0x3c || byte == 0x3e
  }
}
