import CLibrary
import StoreFiles
import Foundation
import SafeFiles
import SafeText

/// A marker that shows which version of the app last opened a store. The marker is an empty file beside the store with
/// the version in its name, for example `.Done.sqlite.opened-by-2.1+42`. A launch of the same version looks up one name
/// and writes nothing.
///
/// Version hashes alone do not say which of two models is newer. The marker does, and therefore distinguishes a
/// downgrade of the app from a store that no build can open.
struct OpenedBy {
  private let folder: String
  private let prefix: String
  private let app: Recovery.App

  init(_ path: String, _ app: Recovery.App) {
    folder = PathText.folder(of: path)
    prefix = "." + PathText.lastComponent(of: path) + ".opened-by-"
    self.app = app
  }

  private var name: String? {
    guard let version = Self.encoded(app.version) else { return nil }
    guard let build = app.build else { return prefix + version }
    return Self.encoded(build).map { prefix + version + "+" + $0 }
  }

  /// Makes the marker file for this version of the app, and removes the marker files of other versions. Failures are
  /// ignored.
  ///
  /// `between` is for tests: it is called just before a marker is removed, after the check that it may be removed.
  func note(between: ((_ marker: String) -> Void)? = nil) {
    guard let name else { return }
    let path = folder + "/" + name
    if FileStatus.found(path) != nil { return }
    let earlier = markers()
    let home = SystemCalls.openFolder(following: folder)
    guard home >= 0 else { return }
    defer { close(home) }
    let descriptor = SystemCalls.create(name, in: home)
    guard descriptor >= 0 else { return }
    close(descriptor)
    for (other, status) in earlier {
      _ = SafeRemoval.remove(other, in: home) { name in
        guard let now = FileStatus.found(name, in: home), now.isSameFile(as: status) else {
          return false
        }
        if PathText.isSame(name, other) { between?(other) }
        return now.sizeBytes == 0
      }
    }
  }

  /// Whether a newer version of the app has opened the store; nil when unknown.
  var isNewer: Bool? {
    let answers = markers().compactMap { marker, _ -> Bool? in
      let parts = marker.utf8.dropFirst(prefix.utf8.count)
        .split(separator: UInt8(ascii: "+"), maxSplits: 1).map { String(Substring($0)) }
      guard let version = parts.first else { return nil }
      if let order = Self.order(version, app.version), order != 0 { return order > 0 }
      guard parts.count == 2, let build = app.build else { return nil }
      return Self.order(parts[1], build).map { $0 > 0 }
    }
    return answers.isEmpty ? nil : answers.contains(true)
  }

  /// Returns all marker files of app versions beside the store, each with its status. Marker files are empty, so a file
  /// with content is left out.
  private func markers() -> [(name: String, status: FileStatus)] {
    let names = (try? FolderEntries.read(folder, limit: FileSystem.entryLimit).names) ?? []
    return names.compactMap { name in
      guard PathText.starts(name, with: prefix),
        let status = FileStatus.found(folder + "/" + name), status.kind == .file,
        status.sizeBytes == 0
      else { return nil }
      return (name, status)
    }
  }

  /// `text` if it can be a part of a file name: 1 to 48 ASCII letters, digits, `.`, `-` and `_`; otherwise nil.
  private static func encoded(_ text: String) -> String? {
    let isPlain = text.utf8.allSatisfy { byte in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
    }
    return isPlain && (1...48).contains(text.utf8.count) ? text : nil
  }

  /// Compares versions such as `2.10`: -1 when `left` is lower, 1 when higher, 0 when equal; nil for other forms.
  static func order(_ left: String, _ right: String) -> Int? {
    func numbers(_ text: String) -> [Int]? {
      let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        .map { Int(Substring($0)) }
      return parts.contains(nil) ? nil : parts.compactMap(\.self)
    }
    guard let left = numbers(left), let right = numbers(right) else { return nil }
    for index in 0..<max(left.count, right.count) {
      let (one, two) = (
        index < left.count ? left[index] : 0, index < right.count ? right[index] : 0
      )
      if one != two { return one < two ? -1 : 1 }
    }
    return 0
  }
}
