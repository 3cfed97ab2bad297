import CLibrary
import StoreFiles
import SafeFiles
package import ObjectModel
import SQLiteFile
import SQLiteForensics
import SafeText

/// Finds the stores at a path: the file itself, or those in a folder.
package enum StoreFinder {
  /// Folders deeper than this are not searched.
  package static let deepest = 16
  /// At most this many folder entries are examined; stores after them are not found.
  package static let entryLimit = 100_000

  /// The result of a search for stores.
  package struct Found: Sendable {
    /// Paths of the files that begin with SQLite's header string and do not look encrypted. A file that was given
    /// itself is listed without these checks.
    package var stores: [String] = []
    /// Files, folders and links that are, were or may be part of a store but are not in ``stores``; sorted by path.
    package var passedOver: [PassedOver] = []
    /// Paths of the files and folders that the caller wants in addition to stores; see ``Wanted``.
    package var taken: [String] = []

    /// Creates a result without any file.
    package init() {}

    init(stores: [String]) { self.stores = stores }
  }

  /// What a caller takes in addition to stores, such as archives.
  package struct Wanted: Sendable {
    /// Whether to take a file. The closure gets the file's first ``leadBytes`` bytes, or all of a shorter file.
    let file: @Sendable ([UInt8]) -> Bool
    /// A folder that contains a file of this name is taken and not searched. Nil when no folder is taken.
    let folderWith: [UInt8]?

    /// How many bytes from the start of a file are read for ``file``.
    package static let leadBytes = 512

    /// Takes the files whose first bytes `file` accepts, and the folders that contain a file named `folderWith`. With
    /// nil, no folder is taken.
    package init(folderWith: String? = nil, file: @escaping @Sendable ([UInt8]) -> Bool) {
      self.file = file
      self.folderWith = folderWith.map { Array($0.utf8) }
    }
  }

  /// A file or folder that is not among the stores found but must be reported.
  package struct PassedOver: Sendable, Codable, Equatable {
    /// The path; bytes that are not UTF-8 are written as `\xE9`.
    package let path: String
    /// A stable identifier, such as `file.empty`.
    package let code: String
    /// Why the file or folder is listed, in a sentence without a full stop. The sentence continues the path.
    package let message: String

    /// Creates an entry from its parts.
    package init(path: String, code: String, message: String) {
      self.path = path
      self.code = code
      self.message = message
    }

    /// Returns a copy with another path, for output that names the file differently than the search did.
    package func at(_ path: String) -> Self { .init(path: path, code: code, message: message) }

    /// Describes a file or folder that a search for models did not examine.
    package init(_ error: ModelError) {
      let message = PathText.dropping(suffix: ".", from: error.message) ?? error.message
      self.init(path: error.path ?? "", code: error.code.rawValue, message: message)
    }
  }

  /// Finds the stores at `path`. In a folder, also reports what else is or was a store: files whose header is lost,
  /// empty files with a log beside them, logs without their main file, and what could not be examined.
  ///
  /// - Parameters:
  ///   - path: a file or a folder.
  ///   - wanted: what to take in addition to stores; nil for nothing.
  /// - Returns: for a file, its path; for a folder, what the folder and its subfolders contain.
  /// - Throws: ``ExtractionError`` with ``ExtractionError/Code/noStores`` when a folder holds nothing to report;
  ///   an error of the file system when the folder itself cannot be read.
  package static func find(at path: String, taking wanted: Wanted? = nil) throws -> Found {
    guard FileStatus.following(path)?.kind == .folder else {
      return Found(stores: [path])
    }
    var search = StoreSearch(wanted: wanted)
    try search.run(OpenFolder(path), path)
    let found = search.result
    guard !found.stores.isEmpty || !found.passedOver.isEmpty || !found.taken.isEmpty else {
      throw none(path)
    }
    return found
  }

  /// Whether the file name has an extension that apps give to stores: sqlite, sqlite3, sqlitedb, storedata, db or
  /// store.
  package static func isNamedAsStore(_ name: String) -> Bool {
    let ending = PathText.ending(of: name).lowercased()
    return (storeEndings + otherEndings).contains { PathText.isSame($0, ending) }
  }

  /// Extensions of stores that hardly any other files have.
  private static let storeEndings = ["sqlite", "sqlite3", "sqlitedb", "storedata"]
  /// Extensions of stores that many other files have, too.
  private static let otherEndings = ["db", "store"]

  /// Whether the file name has an extension that hardly any files except stores have.
  fileprivate static func isStoreName(_ name: String) -> Bool {
    let ending = PathText.ending(of: name).lowercased()
    return storeEndings.contains { PathText.isSame($0, ending) }
  }

  private static func none(_ path: String) -> ExtractionError {
    ExtractionError(.noStores, "there is no SQLite file in the folder", path: path)
  }
}

/// One walk through a folder and its subfolders. Symbolic links are not followed.
private struct StoreSearch {
  private let wanted: StoreFinder.Wanted?
  private var found = StoreFinder.Found()
  private var left = StoreFinder.entryLimit
  /// Links to stores. A link is reported only if the walk does not reach the store itself.
  private var links: [(path: String, target: FileStatus)] = []
  private var files: [FileStatus] = []
  private var proofsLeft = Self.maxProofs

  /// At most this many files are examined page by page: each such examination reads hundreds of pages.
  private static let maxProofs = 1000

  init(wanted: StoreFinder.Wanted?) { self.wanted = wanted }

  /// A folder that is being examined.
  private struct Place {
    let folder: OpenFolder
    let path: String
    /// False when a name in the path is not UTF-8, so that nothing in the folder can be opened by its path.
    let isText: Bool
    let entries: [[UInt8]: FileStatus]

    /// The size in bytes of the ordinary file with this name; 0 for anything else.
    func size(of name: [UInt8]) -> Int64 {
      guard let entry = entries[name], entry.kind == .file else { return 0 }
      return entry.sizeBytes
    }
  }

  var result: StoreFinder.Found {
    var result = found
    for link in links where !files.contains(where: { $0.isSameFile(as: link.target) }) {
      result.passedOver.append(
        .init(
          path: link.path, code: "file.notRegular",
          message: "a symbolic link to a store, which is not followed"))
    }
    result.passedOver.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    return result
  }

  mutating func run(_ folder: OpenFolder, _ path: String) throws {
    try look(into: folder, path, isText: true, depth: 0)
  }

  private mutating func tell(_ path: String, _ code: String, _ message: String) {
    found.passedOver.append(.init(path: path, code: code, message: message))
  }

  /// The recursion is bounded by `StoreFinder.deepest`.
  private mutating func look(
    into folder: OpenFolder, _ path: String, isText: Bool, depth: Int
  ) throws(SystemCallError) {
    let (names, isCut) = try folder.names(limit: left)
    left -= names.count
    if isCut {
      tell(
        path, "input.notEntered",
        "only \(StoreFinder.entryLimit) folder entries are searched; name its subfolders one by one"
      )
    }
    var entries: [[UInt8]: FileStatus] = [:]
    for name in names { entries[name] = (try? folder.status(named: name)) ?? nil }
    if isText, let name = wanted?.folderWith, entries[name]?.kind == .file {
      return found.taken.append(path)
    }
    let place = Place(folder: folder, path: path, isText: isText, entries: entries)
    var stems: Set<[UInt8]> = []
    for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      guard let entry = entries[name] else { continue }
      let told = found.stores.count + found.passedOver.count
      switch entry.kind {
      case .folder: enter(name, in: place, depth: depth)
      case .file: judge(name, entry, in: place)
      case .symbolicLink: follow(name, in: place)
      case .other:
        if Self.hasCompany(name, place) {
          tell(
            Self.path(name, place), "file.notRegular",
            "it is not an ordinary file, although a log is beside it")
        }
      }
      if entry.kind == .file, found.stores.count + found.passedOver.count > told {
        stems.insert(Self.stem(name))
      }
    }
    tellOfSupport(place, stems)
  }

  private mutating func enter(_ name: [UInt8], in place: Place, depth: Int) {
    let path = Self.path(name, place)
    guard depth < StoreFinder.deepest else {
      return tell(
        path, "input.notEntered",
        "folders deeper than \(StoreFinder.deepest) levels are not searched; name this one directly"
      )
    }
    do {
      let inner = try place.folder.folder(named: name)
      let isText = place.isText && Self.text(name) != nil
      try look(into: inner, path, isText: isText, depth: depth + 1)
    } catch { tell(path, unreadable: error) }
  }

  private mutating func tell(_ path: String, unreadable error: SystemCallError) {
    let isRefused = error.errno == EACCES || error.errno == EPERM
    tell(
      path, isRefused ? "file.permission" : "file.io",
      "it cannot be read: \(unsafe String(cString: strerror(error.errno)))")
  }

  // MARK: - A file

  private mutating func judge(_ name: [UInt8], _ entry: FileStatus, in place: Place) {
    let path = Self.path(name, place)
    guard entry.sizeBytes > 0 else {
      // A log with this file's name belongs to this file and to no other.
      if Self.hasCompany(name, place) || place.entries[Self.support(of: name)] != nil {
        tell(
          path, "file.empty",
          "it is empty, but other files of a store are beside it; lifeboat inspect reads their content"
        )
      } else if let text = Self.text(name), StoreFinder.isStoreName(text) {
        tell(
          path, "file.empty",
          "it has a store's name, and is empty: no row was ever saved, or all were lost")
      }
      return
    }
    let head: [UInt8]
    let isCandidate: Bool
    do {
      let sample = try FileSample(name, in: place.folder, entry.sizeBytes)
      head = sample.head
      isCandidate = head.starts(with: DatabaseHeader.magic) ? false : try sample.hasPages()
    } catch { return tell(path, unreadable: error) }
    if let wanted, wanted.file(head) {
      guard place.isText, Self.text(name) != nil else {
        return tell(
          path, "input.nameNotText",
          "its name or that of its folder is not UTF-8; read a copy with another name")
      }
      return found.taken.append(path)
    }
    if head.starts(with: DatabaseHeader.magic) {
      files.append(entry)
      // An encrypted file may begin with SQLite's header string.
      if place.isText, isEncrypted(path, entry) {
        return tell(path, "file.looksEncrypted", Self.encrypted)
      }
      guard place.isText, Self.text(name) != nil else {
        return tell(
          path, "input.nameNotText",
          "it is a store, but its name or that of its folder is not UTF-8; read a copy with another name"
        )
      }
      return found.stores.append(path)
    }
    if let suffix = ["-wal", "-journal"].first(where: { name.ends(with: $0.utf8) }) {
      guard Self.isLog(head) else { return }
      if place.entries[Array(name.dropLast(suffix.utf8.count))] == nil {
        tell(path, "file.missing", "it is the \(suffix) of a store that is not beside it")
      }
      return
    }
    if Self.isLog(head) {
      return tell(
        path, "file.isLog",
        "it is a log or a rollback journal, although its name does not end in -wal or -journal")
    }
    if isCandidate, isProven(path, name, place) {
      return tell(
        path, "file.notADatabase",
        "its header is lost, but it contains database pages; lifeboat inspect reads it")
    }
    let hasCompany = Self.hasCompany(name, place)
    let text = place.isText ? Self.text(name) : nil
    if let text, hasCompany || StoreFinder.isNamedAsStore(text), isEncrypted(path, entry) {
      return tell(path, "file.looksEncrypted", Self.encrypted)
    }
    if hasCompany {
      tell(
        path, "file.notADatabase",
        "it does not start like a database, although a log is beside it; it may be damaged")
    } else if let text, StoreFinder.isStoreName(text) {
      tell(
        path, "file.notADatabase",
        "it has a store's name, and nothing in it looks like a database")
    }
  }

  private static let encrypted =
    "it looks encrypted, in whole pages as SQLCipher writes them; read it with its key: --key-file FILE"

  /// Whether a file has the shape of what SQLCipher writes: whole pages of random bytes.
  private func isEncrypted(_ path: String, _ entry: FileStatus) -> Bool {
    guard entry.sizeBytes % 512 == 0, let file = try? ByteFile(path) else { return false }
    return (try? Entropy.looksEncrypted(file)) ?? false
  }

  /// Whether a file's pages prove that it is a database. Also true when the file cannot be opened by its path, and for
  /// every file after `maxProofs` examinations.
  private mutating func isProven(_ path: String, _ name: [UInt8], _ place: Place) -> Bool {
    guard place.isText, Self.text(name) != nil, proofsLeft > 0 else { return true }
    proofsLeft -= 1
    return SQLiteDatabase.isRuinedDatabase(path: path)
  }

  private mutating func follow(_ name: [UInt8], in place: Place) {
    let path = Self.path(name, place)
    // Opening something other than an ordinary file may have side effects, so the kind is checked first.
    guard place.isText, Self.text(name) != nil, let target = FileStatus.following(path),
      target.kind == .file
    else { return }
    let descriptor = SystemCalls.open(path, O_RDONLY | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard FileStatus.found(descriptor)?.isSameFile(as: target) == true,
      let head = try? FileBytes.read(descriptor, path, at: 0, DatabaseHeader.magic.count),
      head.starts(with: DatabaseHeader.magic)
    else { return }
    links.append((path, target))
  }

  private static func isLog(_ head: [UInt8]) -> Bool {
    head.starts(with: [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
      || (head.count >= 8 && head.starts(with: [0x37, 0x7f, 0x06]) && head[3] & 0xfe == 0x82
        && head[4..<8].elementsEqual([0x00, 0x2d, 0xe2, 0x18]))
  }

  // MARK: - What lies beside a file

  /// Whether a log or journal with content lies beside the file.
  private static func hasCompany(_ name: [UInt8], _ place: Place) -> Bool {
    place.size(of: name + Array("-wal".utf8)) > 0
      || place.size(of: name + Array("-journal".utf8)) > 0
  }

  /// Reports the folders of external files whose store was neither found nor reported.
  private mutating func tellOfSupport(_ place: Place, _ stems: Set<[UInt8]>) {
    let suffix = Array("_SUPPORT".utf8)
    let supports = place.entries.filter {
      $0.value.kind == .folder && $0.key.first == UInt8(ascii: ".") && $0.key.ends(with: suffix)
    }
    for name in supports.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      let stem = Array(name.dropFirst().dropLast(suffix.count))
      guard !stems.contains(stem),
        let inner = try? place.folder.folder(named: name)
          .folder(ExternalFiles.folderName).names(limit: 1).names, !inner.isEmpty
      else { continue }
      tell(
        Self.path(name, place), "file.missing",
        "it holds the external files of a store that is not beside it")
    }
  }

  private static func support(of name: [UInt8]) -> [UInt8] {
    Array(".".utf8) + stem(name) + Array("_SUPPORT".utf8)
  }

  /// The file name without its extension, as `StoreSet` defines it.
  private static func stem(_ name: [UInt8]) -> [UInt8] {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return name }
    return Array(name[..<dot])
  }

  // MARK: - Names

  private static func text(_ name: some Collection<UInt8>) -> String? {
    let bytes = name.map { CChar(bitPattern: $0) } + [0]
    return unsafe bytes.withUnsafeBufferPointer { buffer in
      unsafe buffer.baseAddress.flatMap { unsafe String(validatingCString: $0) }
    }
  }

  private static func path(_ name: [UInt8], _ place: Place) -> String {
    if let text = text(name) { return PathText.joined(place.path, text) }
    var rest = name[...]
    var text = ""
    while !rest.isEmpty {
      // Takes the shortest prefix that is valid UTF-8. A character has at most four bytes.
      if let length = (1...min(4, rest.count)).first(where: {
        Self.text(rest.prefix($0)) != nil
      }) {
        text += String(decoding: rest.prefix(length), as: UTF8.self)
        rest = rest.dropFirst(length)
      } else {
        text += "\\x" + String(rest[rest.startIndex], radix: 16, uppercase: true)
        rest = rest.dropFirst()
      }
    }
    return PathText.joined(place.path, text)
  }
}

/// Reads samples of a file to find out whether it may be a database that lost its header.
private final class FileSample {
  private let descriptor: Int32
  private let path: String
  private let size: Int64
  /// The first bytes of the file, at most ``StoreFinder/Wanted/leadBytes``.
  let head: [UInt8]

  private static let headBytes = 65_536
  private static let windowBytes = 8192
  private static let windowCount: Int64 = 16

  init(_ name: [UInt8], in folder: OpenFolder, _ size: Int64) throws(SystemCallError) {
    descriptor = try folder.file(named: name)
    path = PathText.joined(folder.path, String(decoding: name, as: UTF8.self))
    self.size = size
    do {
      head = try FileBytes.read(descriptor, path, at: 0, StoreFinder.Wanted.leadBytes)
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  /// Whether a sampled part of the file looks like a b-tree page, or the first 64 KiB contain a CREATE TABLE statement.
  func hasPages() throws(SystemCallError) -> Bool {
    let start = try FileBytes.read(descriptor, path, at: 0, Self.headBytes)
    if Self.hasPage(start) || Self.hasDefinition(start) { return true }
    // Each window begins at a multiple of 65,536, the largest page size, so a page begins there whatever the page size
    // is.
    let step = max(65_536, (size / Self.windowCount) & ~65_535)
    for place in 1...Self.windowCount where place * step < size {
      let window = try FileBytes.read(descriptor, path, at: place * step, Self.windowBytes)
      if Self.hasPage(window) { return true }
    }
    return false
  }

  private static func hasDefinition(_ bytes: [UInt8]) -> Bool {
    let wanted = Array("CREATE TABLE ".utf8)
    var place = 0
    while place + wanted.count <= bytes.count {
      if bytes[place] == wanted[0], bytes[place...].starts(with: wanted) { return true }
      place += 1
    }
    return false
  }

  /// Whether the bytes contain the header of a b-tree page with its cell pointers: the lowest pointer is the start of
  /// the cell content area (file format, section 1.6). With fewer than three cells this proves little, so it counts
  /// only at the start of a page.
  private static func hasPage(_ bytes: [UInt8]) -> Bool {
    var place = 0
    while place + 16 <= bytes.count {
      defer { place += 1 }
      let type = bytes[place]
      guard type == 13 || type == 5 || type == 10 || type == 2 else { continue }
      func number(_ offset: Int) -> Int {
        Int(bytes[place + offset]) << 8 | Int(bytes[place + offset + 1])
      }
      let count = number(3)
      let content = number(5)
      let pointers = type == 13 || type == 10 ? 8 : 12
      let isStart = place % 512 == 0 || place == 100
      guard count >= (isStart ? 1 : 3), bytes[place + 7] <= 60, content >= pointers + 2 * count,
        place + pointers + 2 * count <= bytes.count
      else { continue }
      var lowest = Int.max
      for index in 0..<count { lowest = min(lowest, number(pointers + 2 * index)) }
      if lowest == content { return true }
    }
    return false
  }
}

extension [UInt8] {
  fileprivate func ends(with suffix: some Collection<UInt8>) -> Bool {
    count >= suffix.count && self.suffix(suffix.count).elementsEqual(suffix)
  }
}
