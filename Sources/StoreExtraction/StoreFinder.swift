import CLibrary
import StoreFiles
import SafeFiles
package import ObjectModel
import SQLiteFile
import SQLiteForensics
import SafeText

/// Finds stores at a path: a single file, or all stores in a folder and its subfolders.
package enum StoreFinder {
  /// The maximum depth of subfolders that are searched.
  package static let deepest = 16
  /// The maximum number of folder entries that are examined. Stores in further entries are not found.
  package static let entryLimit = 100_000

  package struct Found: Sendable {
    /// The paths of files that begin with SQLite's header string and do not look encrypted. If the caller gave the path
    /// of a file, the file is listed without these checks.
    package var stores: [String] = []
    /// The files, folders and links that may be parts or remains of stores and are not in ``stores``, sorted by path.
    package var passedOver: [PassedOver] = []
    /// Paths of the files and folders that the caller wants in addition to stores; see ``Wanted``.
    package var taken: [String] = []

    package init(stores: [String] = []) { self.stores = stores }
  }

  /// Files and folders that a search returns in addition to stores: files of a certain content, for example archives,
  /// and folders that contain a certain file.
  package struct Wanted: Sendable {
    /// Returns whether a file is wanted. The argument is the file's first ``leadBytes`` bytes, or the whole file if it
    /// is shorter.
    let file: @Sendable ([UInt8]) -> Bool
    /// The name of a file by which a wanted folder is recognized. A folder with such a file is listed in the result,
    /// and its contents are not searched. Nil if the caller wants no folders.
    let folderWith: [UInt8]?

    /// The number of bytes at the start of a file that are passed to the closure ``file``. They suffice for every
    /// format that a caller recognizes: an armored age file may begin with more than a thousand blank bytes.
    package static let leadBytes = 2_048

    /// Describes the files and folders that a search lists in addition to stores. `file` gets the first bytes of a
    /// file, and returns whether the file is listed. A folder is listed if it contains a file named `folderWith`; if
    /// `folderWith` is nil, no folder is listed.
    package init(folderWith: String? = nil, file: @escaping @Sendable ([UInt8]) -> Bool) {
      self.file = file
      self.folderWith = folderWith.map { Array($0.utf8) }
    }
  }

  /// A file, folder or link that the search reports with a reason instead of listing it as a store.
  package struct PassedOver: Sendable, Codable, Equatable {
    /// The path. A byte that is not part of valid UTF-8 is written in the form `\xE9`.
    package let path: String
    /// A stable identifier for the reason, such as `file.empty`.
    package let code: String
    /// The reason why the file or folder is listed, in a sentence without a full stop. Output shows the sentence after
    /// the path.
    package let message: String

    package init(path: String, code: String, message: String) {
      self.path = path
      self.code = code
      self.message = message
    }

    /// Returns this value with another path, for example with a path in an archive instead of the path of the unpacked
    /// file.
    package func at(_ path: String) -> Self { .init(path: path, code: code, message: message) }

    /// Creates an entry for a file or folder that a search for models passed over because of `error`.
    package init(_ error: ModelError) {
      let message = PathText.dropping(suffix: ".", from: error.message) ?? error.message
      self.init(path: error.path ?? "", code: error.code.rawValue, message: message)
    }
  }

  /// Finds the stores at `path`. In a folder, also reports other remains of stores: files whose header is lost, empty
  /// files with a log beside them, and logs without their main file. Reports files and folders that could not be
  /// examined, too.
  ///
  /// - Parameters:
  ///   - path: a file or a folder.
  ///   - wanted: the files and folders that are wanted in addition to stores; nil for none.
  /// - Returns: the path, if it is that of a file; otherwise, what was found in the folder and its subfolders.
  /// - Throws: ``ExtractionError`` with ``ExtractionError/Code/noStores`` when a folder holds nothing to report; an
  ///   error of the file system when the folder itself cannot be read.
  package static func find(at path: String, taking wanted: Wanted? = nil) throws -> Found {
    guard FileStatus.following(path)?.kind == .folder else {
      return Found(stores: [path])
    }
    var search = StoreSearch(wanted: wanted)
    try search.look(into: OpenFolder(path), path, isText: true, depth: 0)
    let found = search.result
    guard !found.stores.isEmpty || !found.passedOver.isEmpty || !found.taken.isEmpty else {
      throw ExtractionError(.noStores, "there is no SQLite file in the folder", path: path)
    }
    return found
  }

  /// Whether the file name has an extension that apps give to stores: sqlite, sqlite3, sqlitedb, storedata, db or
  /// store.
  package static func isNamedAsStore(_ name: String) -> Bool {
    let ending = PathText.ending(of: name).lowercased()
    return (storeEndings + otherEndings).contains { PathText.isSame($0, ending) }
  }

  /// The extensions that are used for stores and for hardly any other files.
  private static let storeEndings = ["sqlite", "sqlite3", "sqlitedb", "storedata"]
  /// The extensions that are used for stores and also for many other files.
  private static let otherEndings = ["db", "store"]

  fileprivate static func isStoreName(_ name: String) -> Bool {
    let ending = PathText.ending(of: name).lowercased()
    return storeEndings.contains { PathText.isSame($0, ending) }
  }
}

/// A single search through a folder and its subfolders. Symbolic links are not followed.
private struct StoreSearch {
  private let wanted: StoreFinder.Wanted?
  private var found = StoreFinder.Found()
  private var left = StoreFinder.entryLimit
  /// Symbolic links to stores, each with the status of the store. If the search finds the store itself, the link is not
  /// reported.
  private var links: [(path: String, target: FileStatus)] = []
  private var files: [FileStatus] = []
  private var proofsLeft = Self.maxProofs

  /// The maximum number of files that are examined page by page. Each such examination reads hundreds of pages.
  private static let maxProofs = 1000

  init(wanted: StoreFinder.Wanted?) { self.wanted = wanted }

  /// A folder that is being examined.
  private struct Place {
    let folder: OpenFolder
    let path: String
    /// Whether all names in the path are valid UTF-8. If not, files in the folder cannot be opened by their path.
    let isText: Bool
    let entries: [[UInt8]: FileStatus]

    /// Returns the size in bytes of the regular file with this name; 0 for a missing file.
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
          message: "it is a symbolic link to a store; links are not followed"))
    }
    result.passedOver.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    return result
  }

  private mutating func tell(_ path: String, _ code: String, _ message: String) {
    found.passedOver.append(.init(path: path, code: code, message: message))
  }

  /// Examines the entries of a folder and its subfolders. `StoreFinder.deepest` limits the recursion.
  mutating func look(
    into folder: OpenFolder, _ path: String, isText: Bool, depth: Int
  ) throws(SystemCallError) {
    let (names, isCut) = try folder.names(limit: left)
    left -= names.count
    if isCut {
      tell(
        path, "input.notEntered",
        "the search stops after \(StoreFinder.entryLimit) folder entries; run the command on each subfolder by itself"
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
        "folders deeper than \(StoreFinder.deepest) levels are not searched; run the command on this folder directly"
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
      "it cannot be read: \(SystemCallError.words(error.errno))")
  }

  // MARK: - A file

  private mutating func judge(_ name: [UInt8], _ entry: FileStatus, in place: Place) {
    let path = Self.path(name, place)
    guard entry.sizeBytes > 0 else {
      // A log with the name of this file belongs to this file and to no other.
      if Self.hasCompany(name, place) || place.entries[Self.support(of: name)] != nil {
        tell(
          path, "file.empty",
          "it is empty, but other files of a store are beside it; lifeboat inspect reads their content"
        )
      } else if let text = Self.text(name), StoreFinder.isStoreName(text) {
        tell(
          path, "file.empty",
          "it has the name of a store, but is empty: no row was ever saved, or all rows were lost")
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
          "its name or the name of its folder is not UTF-8; read a copy that has another name")
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
          "it is a store, but its name or the name of its folder is not UTF-8; read a copy that has another name"
        )
      }
      return found.stores.append(path)
    }
    if let suffix = ["-wal", "-journal"].first(where: { name.ends(with: $0.utf8) }) {
      guard Self.isLog(head) else { return }
      if place.entries[Array(name.dropLast(suffix.utf8.count))] == nil {
        tell(
          path, "file.missing",
          "it is the \(suffix) file of a store, but the store is not beside it")
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
        "it has the name of a store, but nothing in it looks like a database")
    }
  }

  private static let encrypted =
    "it looks like a file that SQLCipher encrypted; to read it, give its key: --key-file FILE"

  /// Whether a file looks like one that SQLCipher wrote: whole pages of random bytes.
  private func isEncrypted(_ path: String, _ entry: FileStatus) -> Bool {
    guard entry.sizeBytes % 512 == 0, let file = try? ByteFile(path) else { return false }
    return (try? Entropy.looksEncrypted(file)) ?? false
  }

  /// Whether the pages of a file prove that it is a database. Also true for a file that is not examined, because its
  /// path is not valid UTF-8, or because `maxProofs` files were examined already.
  private mutating func isProven(_ path: String, _ name: [UInt8], _ place: Place) -> Bool {
    guard place.isText, Self.text(name) != nil, proofsLeft > 0 else { return true }
    proofsLeft -= 1
    return SQLiteDatabase.isRuinedDatabase(path: path)
  }

  private mutating func follow(_ name: [UInt8], in place: Place) {
    let path = Self.path(name, place)
    // Opening anything except a regular file may have side effects, so the kind is checked first.
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

  /// Whether a log or journal that is not empty lies beside the file.
  private static func hasCompany(_ name: [UInt8], _ place: Place) -> Bool {
    place.size(of: name + Array("-wal".utf8)) > 0
      || place.size(of: name + Array("-journal".utf8)) > 0
  }

  /// Reports each `_SUPPORT` folder that holds external files, but whose store is not in the same folder. `stems`: the
  /// names of the stores in this folder, without extensions.
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
        "it holds the external files of a store, but the store is not beside it")
    }
  }

  private static func support(of name: [UInt8]) -> [UInt8] {
    Array(".".utf8) + stem(name) + Array("_SUPPORT".utf8)
  }

  /// Returns the file name without its extension. `StoreSet` uses the same rule.
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
      // Takes the shortest prefix that is valid UTF-8. The UTF-8 of a scalar has at most four bytes.
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

/// Reads samples of a file to find out whether the file may be a database that has lost its header.
private final class FileSample {
  private let descriptor: Int32
  private let path: String
  private let size: Int64
  /// The first bytes of the file; at most ``StoreFinder/Wanted/leadBytes`` bytes.
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

  /// Whether a sampled part of the file contains a b-tree page, or the first 64 KiB contain a CREATE TABLE statement.
  func hasPages() throws(SystemCallError) -> Bool {
    let start = try FileBytes.read(descriptor, path, at: 0, Self.headBytes)
    if Self.hasPage(start) || Self.hasDefinition(start) { return true }
    // Each window begins at a multiple of 65,536, the maximum page size. So a page begins there, whatever the page size
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

  /// Whether the bytes contain the header of a b-tree page with its cell pointers. In such a header, the lowest cell
  /// pointer equals the start of the cell content area (file format, section 1.6). If there are fewer than three cells,
  /// the two numbers may be equal by chance, so the header counts only at an offset where a page can begin.
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
