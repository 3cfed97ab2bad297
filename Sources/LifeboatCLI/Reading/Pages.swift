import ArgumentParser
import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import StoreExtraction
import StoreReport
import Terminal

struct Pages: StoreReader {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, json, ndjson, html, svg

    /// Whether the output is for a browser: an HTML page or an SVG picture.
    var isPicture: Bool { self == .html || self == .svg }
  }

  static let configuration = CommandConfiguration(
    abstract: "Show what each page of a store is for, or everything about one page.",
    usage: "lifeboat pages [<options>] <path>",
    discussion: """
      Examples: lifeboat pages Notes.sqlite
                lifeboat pages --page 214 Notes.sqlite
                lifeboat pages --format ndjson Notes.sqlite
                lifeboat pages --format html -o Pages.html Notes.sqlite

      --format html writes a document for a browser. Its pictures show the pages by use and by b-tree, and mark what \
      lifeboat check finds. --format svg writes only the pictures.

      If the header is lost, the page size is found from the pages themselves.

      Exit status: 0, also when pages are damaged (this command only describes); 64 when the store has no such page; \
      65 when the file is not a readable store; 73 when the output exists; 75 when the store changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(name: .long, help: "Show everything about this page: header, cells, freeblocks, bytes.")
  var page: UInt32?

  @Option(name: .long, help: "text, json, ndjson (a line for each page), html or svg.")
  var format: Format?

  @OptionGroup var made: PageOutput

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup var progress: ProgressOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { made.paths }

  func validate() throws {
    let picture = format.flatMap { $0.isPicture ? $0.rawValue : nil }
    try made.validate(picture, among: "html or svg", display)
    if let picture, page != nil {
      throw ValidationError(
        "--page shows one page in text or JSON, and --format \(picture) shows all pages: leave out one of the two."
      )
    }
  }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    if let output = made.output { try input.check(output) }
    let watch = EvidenceWatch(path)
    let database = try SQLiteDatabase.surveyed(path: path, logView: store.wal)
    let format = format ?? (display.json ? .json : .text)
    let meter = progress.meter("Reading", unit: .pages, display)
    let total = Int(database.pageCount)
    let report: (Int) -> Void = { meter.update(min($0, total), of: total) }
    if let format = self.format, format.isPicture {
      try writePicture(format, of: database, input, watch, meter, report)
    } else if let page {
      try writeDetail(of: page, database, format, meter, report)
    } else if format == .ndjson {
      try writeLines(database, meter, report)
    } else {
      var map = PageSummary(database)
      map.owners = try database.listPages(progress: report) { map.add($0) }
      meter.finish()
      if format == .json {
        try display.write(json: map.report(input.shown(path)))
      } else {
        try display.write(map.text(display))
      }
    }
    try watch.requireUnchanged()
  }

  /// Writes the page map as an HTML document, or only the pictures of this document as SVG. Pages of the store on which
  /// a check has found something are marked.
  private func writePicture(
    _ format: Format, of database: SQLiteDatabase, _ input: StoreInput, _ watch: EvidenceWatch,
    _ meter: ProgressMeter, _ report: @escaping (Int) -> Void
  ) throws {
    var pages = StripPage(input.names, database)
    let owners = try database.listPages(progress: report) { pages.add($0) }
    meter.finish()
    let checking = progress.meter("Checking", unit: .pages, display)
    let check = try StoreCheck(path: database.path, logView: store.wal) {
      checking.update($0, of: $1)
    }
    checking.finish()
    pages.finish(owners, check)
    // Nothing is written if the store has changed while it was read.
    try watch.requireUnchanged()
    try made.write(format == .svg ? pages.svg : try pages.html(), display)
  }

  private func writeLines(
    _ database: SQLiteDatabase, _ meter: ProgressMeter, _ report: @escaping (Int) -> Void
  ) throws {
    let output = StandardStream(descriptor: 1)
    var failure: (any Error)?
    var names: [ExactText: String] = [:]
    _ = try database.listPages(progress: report) { entry in
      guard failure == nil else { return }
      do {
        let owner = try entry.owner.map { owner in
          if let known = names[ExactText(owner)] { return known }
          let quoted = try String(JSONText.line(owner).dropLast())
          names[ExactText(owner)] = quoted
          return quoted
        }
        try output.write(json: PageText.line(entry, quotedOwner: owner))
      } catch {
        failure = error
      }
    }
    meter.finish()
    if let failure { throw failure }
    try output.flush()
  }

  private func writeDetail(
    of page: UInt32, _ database: SQLiteDatabase, _ format: Format, _ meter: ProgressMeter,
    _ report: @escaping (Int) -> Void
  ) throws {
    let detail = try database.detail(ofPage: page, progress: report)
    meter.finish()
    guard let detail else {
      throw Failure(
        64, "usage.noSuchPage",
        "there is no page \(Quantity.count(page)); the last page of the store is \(Quantity.count(database.pageCount))",
        hint: "list the pages with: lifeboat pages \(secrets.argument(database.path))")
    }
    switch format {
    case .text:
      let text = PageDetailText(detail: detail, database: database, display: display)
      try display.write(text.text)
    case .json: try display.write(json: PageDetailReport(detail))
    case .ndjson, .html, .svg: try display.write(lines: [PageDetailReport(detail)])
    }
  }
}

/// Writes a page of the store as a line of JSON, and bytes as a hex dump.
enum PageText {
  /// A page as a JSON object with sorted keys, followed by a line feed. `quotedOwner` is the name of the table or index
  /// that owns the page, as a JSON string. It is nil for a page without an owner.
  static func line(_ entry: PageEntry, quotedOwner: String?) -> String {
    var text = "{"
    if let cells = entry.cellCount { text += "\"cells\":\(cells)," }
    if let free = entry.freeBytes { text += "\"freeBytes\":\(free)," }
    text += "\"kind\":\"\(entry.kind.name)\",\"member\":\"\(entry.member.rawValue)\","
    text += "\"offset\":\(entry.offset),"
    if let quotedOwner { text += "\"owner\":\(quotedOwner)," }
    text += "\"page\":\(entry.page)"
    if let parent = entry.parent { text += ",\"parent\":\(parent)" }
    return text + "}\n"
  }

  /// Formats bytes as a hex dump. `first` is the offset of the first byte. Each line has an offset, 16 bytes in
  /// hexadecimal, and the same bytes as ASCII. A byte that is not printable is shown as a dot, so that evidence cannot
  /// control a terminal.
  static func dump(_ bytes: [UInt8], from first: Int64) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count / 16 * 80)
    func hex(_ value: UInt64, _ count: Int) {
      for shift in stride(from: (count - 1) * 4, through: 0, by: -4) {
        text.append(digits[Int(value >> UInt64(shift) & 15)])
      }
    }
    for start in stride(from: 0, to: bytes.count, by: 16) {
      let row = bytes[start..<min(start + 16, bytes.count)]
      hex(UInt64(bitPattern: first + Int64(start)), 10)
      text.append(0x20)
      for column in 0..<16 {
        text.append(0x20)
        if column == 8 { text.append(0x20) }
        if column < row.count {
          hex(UInt64(row[start + column]), 2)
        } else {
          text += [0x20, 0x20]
        }
      }
      text += [0x20, 0x20, 0x7c]
      for byte in row { text.append(byte >= 0x20 && byte < 0x7f ? byte : 0x2e) }
      text += [0x7c, 0x0a]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
