import ArgumentParser
import Foundation
import SQLiteFile
import SQLiteForensics
import SafeFiles
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

struct Search: ParsableCommand, RecordedCommand {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, ndjson
  }

  static let configuration = CommandConfiguration(
    abstract: "Find a text in rows, deleted rows, binary values and external files.",
    usage: "lifeboat search [<options>] <text>|/<expression>/ <stores> ...",
    discussion: """
      Examples: lifeboat search Grandma Notes.sqlite
                lifeboat search '/[0-9]{16}/' Notes.sqlite --format ndjson

      A text is found in texts, in numbers and dates that are equal to it (2026-11 is any time of that month), and \
      in binary values: property lists, keyed archives, JSON, UTF-16, also compressed. Upper and lower case are told \
      apart only with --case. Only the first match in each value is shown.

      Exit status: 1 when damage was found or a file was not read (all others are searched); 75 when the store \
      changed while it was read.
      """)

  @Argument(help: "The text to find, or a regular expression between slashes.")
  var pattern: String

  @Argument(
    help: "Stores, incidents, bundles, or folders and archives that hold stores.",
    completion: .file())
  var paths: [String]

  @Flag(name: .customLong("case"), help: "Tell upper and lower case apart.")
  var isCaseSensitive = false

  @Flag(name: .long, help: "Only live rows: no deleted ones, and no older versions of rows.")
  var live = false

  @Flag(name: .long, help: "Only rows that were deleted or replaced.")
  var deleted = false

  @Option(name: .long, help: "text or ndjson; text by default.")
  var format: Format?

  @Option(name: .long, help: "The maximum number of matches in each store.")
  var limit: Int?

  @OptionGroup var likes: LikeOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { paths }

  func validate() throws {
    if let limit, limit < 0 {
      throw ValidationError("--limit takes a number of matches, 0 or more.")
    }
    guard !live || !deleted else {
      throw ValidationError("--live and --deleted cannot be used together.")
    }
  }

  func run() throws {
    let pattern = try SearchPattern(pattern, isCaseSensitive: isCaseSensitive)
    var hitCount = 0
    var hasFindings = false
    let kept = KeptArchive()
    defer { withExtendedLifetime(kept) {} }
    let stores = try paths.flatMap { path in
      try self.stores(at: path, kept) { other in
        display.note("note: \(other.path): \(other.message)")
        hasFindings = true
      }
    }
    for path in stores {
      do {
        try StoreInput.reading(
          path, bundle: secrets.bundle, key: secrets.key(), kept: kept
        ) { input in
          display.note(input.decrypted?.findings.kept ?? [])
          if input.isInDoubt { hasFindings = true }
          let (count, isDamaged) = try search(input, for: pattern, isOneOfMany: stores.count > 1)
          input.tellChanges(display)
          hitCount += count
          if isDamaged { hasFindings = true }
        }
      } catch {
        // A store that cannot be read does not end the search of the other stores.
        guard stores.count > 1, let failure = Failure(error), failure.exitCode != 74 else {
          throw error
        }
        display.note("note: \(failure.message) (\(failure.code))")
        hasFindings = true
      }
    }
    if hitCount == 0, limit != 0 { display.note("nothing found") }
    if hasFindings { try display.exitWithFindings() }
  }

  /// Returns the paths of the files that must be searched. For a folder, these are the stores in it, and the files that
  /// may be damaged or encrypted stores. `tell` is called with each file that is not searched.
  private func stores(
    at path: String, _ kept: KeptArchive, _ tell: (StoreFinder.PassedOver) -> Void
  ) throws -> [String] {
    let codes = [SQLiteFileError.Code.empty, .notADatabase, .looksEncrypted].map(\.rawValue)
    var others: [String] = []
    let stores = try StoreInput.all(at: path, secrets.bundle, kept) { other in
      let mayBeStore = codes.contains(other.code) && ByteFile.exists(other.path)
      if mayBeStore { others.append(other.path) } else { tell(other) }
    }
    return stores + others
  }

  private func search(
    _ input: StoreInput, for pattern: SearchPattern, isOneOfMany: Bool
  ) throws -> (hitCount: Int, isDamaged: Bool) {
    let path = try input.storePath()
    let name = input.shown(path)
    let watch = EvidenceWatch(path)
    let damaged = try DamagedStore(path: path, logView: store.wal, like: likes.like) {
      display.note($0)
    }
    let output = StandardStream(descriptor: 1)
    var failure: (any Error)?
    var count = 0
    let outcome = try ValueSearch(damaged, for: pattern).run(
      deleted ? .deleted : live ? .readable : .all, limit: limit
    ) { hit in
      do {
        if (format ?? (display.json ? .ndjson : .text)) == .ndjson {
          try output.write(json: JSONText.line(Line(hit, in: name)))
        } else {
          if isOneOfMany, count == 0 {
            try output.writeLine(display.style.apply(VisibleText.visible(name), .bold))
          }
          try output.writeLine(HitText(hit: hit, display: display).line)
        }
        count += 1
        // The first 100 matches are flushed one by one, so that the user sees each at once. Later matches are buffered.
        if count <= 100 { try output.flush() }
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    try output.flush()
    try watch.requireUnchanged()
    for file in outcome.unreadFiles { display.note("note: \(file) cannot be read") }
    if outcome.isCut {
      display.note("note: \(name): there may be more matches; a higher --limit shows more")
    }
    if outcome.searchedInPart > 0 {
      let values = Quantity.count(outcome.searchedInPart, "value was", "values were")
      display.note(
        "note: \(name): \(values) searched only in part: "
          + (pattern.isExpression
            ? "a regular expression is applied only to the start of a long value; a text without slashes is searched for in all of it"
            : "compressed values and property lists are read only up to a limited size"))
    }
    let findings = damaged.database.findings
    display.note(findings.kept)
    return (count, findings.damageCount > 0 || !outcome.unreadFiles.isEmpty)
  }

  struct Line: Encodable {
    let store: String
    let entity: String?
    let table: String?
    let key: Int64?
    let attribute: String?
    /// The state of the row that contains the match: `live`, or the state of a deleted or replaced row. Nil for a match
    /// outside of rows.
    let state: String?
    let member: String?
    let page: UInt32?
    let offset: Int64?
    let confidence: Int?
    let inside: String?
    let before: String
    let match: String
    let after: String

    init(_ hit: SearchHit, in store: String) {
      self.store = store
      entity = hit.isEntity ? hit.part : nil
      table = hit.isEntity ? nil : hit.part
      key = hit.key
      attribute = hit.attribute
      state = hit.origin.map { $0.state?.rawValue ?? "live" }
      member = hit.origin?.member.rawValue
      page = hit.origin?.page
      offset = hit.origin?.offset
      confidence = hit.origin?.confidence
      inside = hit.inside
      before = hit.excerpt.before
      match = hit.excerpt.match
      after = hit.excerpt.after
    }
  }
}

/// A search hit as a line of text: the place of the match, the match itself, and the text around it.
private struct HitText {
  let hit: SearchHit
  let display: DisplayOptions

  var line: String {
    let head = VisibleText.visible(place)
    // With `-v` nothing is cut, so the line may be wider than the terminal.
    let room =
      display.verbose > 0 ? Int.max : max(24, display.width - DisplayWidth.columns(of: head) - 2)
    let excerpt = hit.excerpt
    let match = DisplayText.truncated(VisibleText.visible(excerpt.match), to: room)
    let left = room - min(room, DisplayWidth.columns(of: match))
    let before = Self.fitting(
      excerpt.before, isEnd: true, isCut: excerpt.isCutBefore, columns: left / 3)
    let after = Self.fitting(
      excerpt.after, isEnd: false, isCut: excerpt.isCutAfter,
      columns: left - min(left, DisplayWidth.columns(of: before)))
    return head + ": " + before + display.style.apply(match, .bold) + after
  }

  /// Returns the longest start of `text`, or the longest end if `isEnd` is true, that fits into `columns` columns of the
  /// terminal. The result has `…` where the text is cut by this method, or has already been cut, as `isCut` says. The
  /// escape that stands for an unprintable character is never split.
  private static func fitting(_ text: String, isEnd: Bool, isCut: Bool, columns: Int) -> String {
    var rest = text.unicodeScalars[...]
    var mark = isCut ? "…" : ""
    while !rest.isEmpty {
      let visible = VisibleText.visible(String(rest))
      let shown = isEnd ? mark + visible : visible + mark
      if DisplayWidth.columns(of: shown) <= columns { return shown }
      if isEnd { rest.removeFirst() } else { rest.removeLast() }
      mark = "…"
    }
    return ""
  }

  private var place: String {
    var text = hit.part ?? (hit.origin == nil ? "no row" : "unknown table")
    if hit.part != nil || hit.origin != nil { text += " " + (hit.key.map { String($0) } ?? "?") }
    if let attribute = hit.attribute { text += ", " + attribute }
    var notes: [String] = []
    if let origin = hit.origin, origin.state != nil || display.verbose > 0 {
      notes.append("\(origin.state?.rawValue ?? "live"), page \(origin.page)")
      if display.verbose > 0 {
        notes.append("\(origin.member.rawValue) at \(origin.offset)")
        if origin.state != nil { notes.append("confidence \(origin.confidence)") }
      }
    }
    if let inside = hit.inside { notes.append(inside) }
    return notes.isEmpty ? text : text + " (" + notes.joined(separator: ", ") + ")"
  }
}
