internal import Crypto
import SafeText

/// The planned content of a bundle.
///
/// A bundle is made in two passes, because its first entry lists the size and SHA-256 of all other entries. The first
/// pass reads and hashes the source of every entry. The second pass reads the sources again and packs them. If the
/// bytes of a source differ in the second pass, the work ends with `bundle.changedWhileReading`.
public struct BundlePlan: Sendable {
  /// The source from which the bytes of an entry are read.
  enum Source: Sendable {
    case bytes([UInt8])
    /// A regular file; a symbolic link is refused.
    case file(path: String)
    /// The file `name` in an open folder.
    case member(name: String, SourceFolder)
    /// An open temporary file that has no name.
    case opened(InputFile)

    func open() throws(BundleError) -> EntrySource {
      switch self {
      case .bytes(let bytes): .bytes(bytes)
      case .file(let path): .file(try InputFile(path: path, followsLink: false))
      case .member(let name, let folder): .file(try folder.file(name))
      case .opened(let file): .file(file)
      }
    }

    /// The path of the source file; nil for bytes in memory and for a file without a name.
    var path: String? {
      switch self {
      case .bytes, .opened: nil
      case .file(let path): path
      case .member(let name, let folder): PathText.joined(folder.path, name)
      }
    }
  }

  struct Entry: Sendable {
    var name: String
    var source: Source
    var origin: String
    var why: String
  }

  private let tool: BundleManifest.Tool
  private let created: BundleDate
  private let contents: BundleManifest.Contents
  private var withheld: [String] = []
  private var entries: [Entry] = []
  private var names = ZipNames()

  /// Makes an empty plan. Two plans with equal arguments and equal entries give the same bundle, byte for byte.
  package init(
    tool: BundleManifest.Tool, created: BundleDate, contents: BundleManifest.Contents
  ) throws(BundleError) {
    self.tool = tool
    self.created = created
    self.contents = contents
    _ = try names.add(Array(BundleManifest.entryName.utf8))
  }

  /// Plans an entry. Entries are packed in the order in which they are planned.
  ///
  /// - Parameters:
  ///   - name: the name within the archive, relative, with `/` between folders.
  ///   - source: the source from which the bytes are read.
  ///   - origin: the value of `source` in the manifest: where the bytes come from, without a path that reveals the
  ///     user's name.
  ///   - why: why the entry is in the bundle.
  /// - Throws: `bundle.badName`, `bundle.duplicateName`.
  mutating func add(
    name: String, source: Source, origin: String, why: String
  ) throws(BundleError) {
    guard !ZipNames.isFolder(name) else {
      throw BundleError(.badName, "the entry name denotes a folder", entry: name)
    }
    _ = try names.add(Array(name.utf8))
    entries.append(Entry(name: name, source: source, origin: origin, why: why))
  }

  /// Adds a sentence to the manifest's list of what was left out on purpose.
  package mutating func withhold(_ sentence: String) {
    withheld.append(sentence)
  }

  /// The file with the rows that the bundle will contain, as JSON lines; nil when the bundle will contain no rows.
  var rows: InputFile? {
    get throws(BundleError) {
      guard let entry = entries.first(where: { $0.name == StoreBundle.rowsName }),
        case .file(let file) = try entry.source.open()
      else { return nil }
      return file
    }
  }

  /// Returns a copy of the plan without the entries whose names are in `names`. If `rows` is not nil, the copy packs
  /// this file in place of the planned rows.
  func with(rows: InputFile?, without names: Set<String>) -> BundlePlan {
    var plan = self
    plan.entries.removeAll { names.contains($0.name) }
    guard let rows else { return plan }
    for place in plan.entries.indices where plan.entries[place].name == StoreBundle.rowsName {
      plan.entries[place].source = .opened(rows)
    }
    return plan
  }

  // MARK: - First pass

  /// Runs the first pass: reads and hashes the source of every entry.
  ///
  /// - Parameters:
  ///   - progress: called with the number of bytes hashed so far, and the total number of bytes.
  ///   - isCancelled: called about once per 256 KiB. If it returns true, the work ends with `bundle.cancelled`.
  /// - Returns: the manifest, and the sources of its entries for the second pass.
  /// - Throws: the errors of reading, `bundle.changedWhileReading`, `bundle.cancelled`.
  public func measured(
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false }
  ) throws(BundleError) -> MeasuredBundle {
    var total: UInt64 = 0
    for entry in entries {
      let (sum, overflow) = total.addingReportingOverflow(try entry.source.open().size)
      guard !overflow else {
        throw BundleError(
          .tooLarge, "the sources together have more bytes than a 64-bit number can count")
      }
      total = sum
    }
    var done: UInt64 = 0
    var listed: [BundleManifest.Entry] = []
    for entry in entries {
      let source = try entry.source.open()
      var pieces = EntryPieces(source)
      var hash = SHA256()
      while let piece = try pieces.next() {
        if isCancelled() { throw MeasuredBundle.cancelled }
        hash.update(data: piece)
        done += UInt64(piece.count)
        progress(done, max(done, total))
      }
      try pieces.expectEnd()
      listed.append(
        BundleManifest.Entry(
          name: entry.name, sizeBytes: source.size, sha256: hash.finalize().hex,
          source: entry.origin, why: entry.why))
    }
    let manifest = try BundleManifest(
      tool: tool, created: created, contents: contents, withheld: withheld, entries: listed)
    let size = try manifest.json().count
    guard size <= BundleManifest.maxBytes else {
      throw BundleError(
        .tooLarge,
        "the manifest would have \(size) bytes for \(listed.count) entries, and the limit is \(BundleManifest.maxBytes) bytes; pack the bundle without the files of the store"
      )
    }
    return MeasuredBundle(manifest: manifest, sources: entries.map(\.source), totalBytes: done)
  }
}
