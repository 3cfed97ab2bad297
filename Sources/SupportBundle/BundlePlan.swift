internal import Crypto
import SafeText

/// What a bundle will hold. Sources are read when the plan is measured. The bundle is written after that.
///
/// A bundle is written in two passes, because its first entry lists the size and SHA-256 of all others: the first pass
/// hashes every source, and the second packs it. A source with different bytes in the second pass ends the work with
/// `bundle.changedWhileReading`.
public struct BundlePlan: Sendable {
  /// Where an entry's bytes come from.
  package enum Source: Sendable, Equatable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// A regular file; a symbolic link is refused.
    case file(path: String)
  }

  /// Where the bytes of a planned entry are.
  enum Place: Sendable {
    /// Bytes in memory, or a file by its path.
    case source(Source)
    /// A name below a folder that is open already.
    case member(name: String, SourceFolder)
    /// An open file that has no name.
    case opened(InputFile)

    func open() throws(BundleError) -> EntrySource {
      switch self {
      case .source(.bytes(let bytes)): .bytes(bytes)
      case .source(.file(let path)): .file(try InputFile(path: path, followsLink: false))
      case .member(let name, let folder): .file(try folder.file(name))
      case .opened(let file): .file(file)
      }
    }

    /// The path that the bytes come from; nil for bytes in memory and for a file without a name.
    var path: String? {
      switch self {
      case .source(.bytes), .opened: nil
      case .source(.file(let path)): path
      case .member(let name, let folder): PathText.joined(folder.path, name)
      }
    }
  }

  struct Entry: Sendable {
    var name: String
    var source: Place
    var origin: String
    var why: String
  }

  private let tool: BundleManifest.Tool
  private let created: BundleDate
  private let contents: BundleManifest.Contents
  private var withheld: [String] = []
  private var entries: [Entry] = []
  private var names = ZipNames()

  /// Makes an empty plan. The same plan with the same `created` produces the same bytes.
  package init(
    tool: BundleManifest.Tool, created: BundleDate, contents: BundleManifest.Contents
  ) throws(BundleError) {
    self.tool = tool
    self.created = created
    self.contents = contents
    _ = try names.add(Array(BundleManifest.entryName.utf8))
  }

  /// Plans an entry; entries keep their order.
  ///
  /// - Parameters:
  ///   - name: the name within the archive, relative, with `/` between folders.
  ///   - source: where the bytes come from.
  ///   - origin: the manifest's `source`: where the bytes come from, in words that may be passed on.
  ///   - why: why the entry is in the bundle.
  /// - Throws: `bundle.badName`, `bundle.duplicateName`.
  package mutating func add(
    name: String, source: Source, origin: String, why: String
  ) throws(BundleError) {
    try add(Entry(name: name, source: .source(source), origin: origin, why: why))
  }

  /// Plans an entry for the regular file `member` below `folder`.
  mutating func add(
    name: String, member: String, of folder: SourceFolder, why: String
  ) throws(BundleError) {
    try add(Entry(name: name, source: .member(name: member, folder), origin: member, why: why))
  }

  /// Plans an entry for a file that is open already.
  mutating func add(
    name: String, file: InputFile, origin: String, why: String
  ) throws(BundleError) {
    try add(Entry(name: name, source: .opened(file), origin: origin, why: why))
  }

  private mutating func add(_ entry: Entry) throws(BundleError) {
    guard !ZipNames.isFolder(entry.name) else {
      throw BundleError(.badName, "the entry name denotes a folder", entry: entry.name)
    }
    _ = try names.add(Array(entry.name.utf8))
    entries.append(entry)
  }

  /// Adds a sentence to the manifest about something that was left out on purpose.
  package mutating func withhold(_ sentence: String) {
    withheld.append(sentence)
  }

  /// The file with the planned rows, as JSON lines; nil when the bundle has no rows.
  var rows: InputFile? {
    get throws(BundleError) {
      guard let entry = entries.first(where: { $0.name == StoreBundle.rowsName }),
        case .file(let file) = try entry.source.open()
      else { return nil }
      return file
    }
  }

  /// A copy of the plan without the entries in `names`. If `rows` is given, it becomes the source of the entry with the
  /// rows.
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

  /// Reads and hashes every source: the first pass.
  ///
  /// - Parameters:
  ///   - progress: called with the bytes that are hashed, and the bytes of all sources.
  ///   - isCancelled: asked about once per 256 KiB; true ends the work with `bundle.cancelled`.
  /// - Returns: the finished manifest and its sources, ready to be packed.
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
