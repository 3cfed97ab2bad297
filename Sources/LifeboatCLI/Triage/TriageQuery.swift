import ArgumentParser
import CLibrary
import Foundation
import SQLiteWriter
import SafeText
import StoreExtraction
import StoreTriage
import Terminal

struct TriageQuery: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Answer a question about the inputs in a catalogue.",
    discussion: """
      Examples: lifeboat triage query frequent cases.sqlite
                lifeboat triage query new cases.sqlite --since 2026-11-20
                lifeboat triage query fixes cases.sqlite --build '2.1 (412)' --json

      \(questions)

      Exit status: 0; 65 when the file is not a catalogue or is damaged; 66 when it is missing.
      """)

  private static let questions = CatalogQuery.allCases.map {
    "\($0.rawValue): \($0.question)."
  }.joined(separator: "\n")

  @Argument(
    help:
      "The question: new, worse, fixes, unexplained, frequent, trend, models, places, unread or duplicates."
  )
  var query: CatalogQuery

  @Argument(help: "The catalogue.", completion: .file())
  var catalog: String

  @Option(name: .long, help: "Only cases seen on this day or later, such as 2026-11-20.")
  var since: String?

  @Option(
    name: .long,
    help: "Only inputs of this build, written as triage writes it, such as '2.1 (412)'.")
  var build: String?

  @Option(name: .long, help: "The maximum number of rows.")
  var limit = 50

  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    guard limit >= 1 else { throw ValidationError("--limit takes a number of rows, 1 or more.") }
    // `DateText` also accepts times, but only a day has ten bytes.
    if let since, since.utf8.count != 10 || DateText.seconds(in: since) == nil {
      throw ValidationError("--since takes a day, such as 2026-11-20.")
    }
  }

  struct Report: Encodable {
    let schema = "lifeboat.triageQuery"
    let version = 1
    let query: String
    let rows: [[String: JSONValue]]
  }

  func run() throws {
    var bounds = CatalogQuery.Bounds()
    bounds.since = since
    bounds.build = build
    bounds.limit = limit
    let answer = try Catalog(catalog, mayMake: false).answer(query, bounds)
    let rows = answer.rows
    guard !display.json else {
      return try display.write(
        json: Report(
          query: query.rawValue,
          rows: rows.map {
            Dictionary(firstOf: zip(answer.columns, $0.map(Self.json)))
          }))
    }
    guard !rows.isEmpty else {
      return display.note("the catalogue has no rows for the question: \(query.question)")
    }
    let numbers = answer.columns.indices.filter { column in
      rows.contains {
        switch $0[column] {
        case .integer, .real: true
        case .null, .text, .blob: false
        }
      }
    }
    var table = TextTable(
      answer.columns.enumerated().map { index, name in
        .init(
          Self.title(name), numbers.contains(index) ? .trailing : .leading,
          isFlexible: display.verbose == 0 && !numbers.contains(index)
            && !["family", "day", "fix"].contains(name))
      })
    for row in rows {
      table.add(
        zip(answer.columns, row).map { name, value in
          let isPath = ["path", "example", "first_path", "last_path"].contains(name)
          let text = Self.text(value)
          // If the width is unlimited, for example in a pipe, paths are not shortened.
          return isPath && display.verbose == 0 && width != nil
            ? PathText.lastComponent(of: text) : text
        })
    }
    try display.write(table.text(width: width, style: display.style))
    if rows.count == limit {
      display.note(
        "the limit of \(counted(limit, "row")) is reached; a higher --limit may show more")
    }
  }

  private static func json(_ value: SQLiteValue) -> JSONValue {
    switch value {
    case .null, .blob: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let bytes): .string(String(decoding: bytes, as: UTF8.self))
    }
  }

  private static func text(_ value: SQLiteValue) -> String {
    switch value {
    case .null, .blob: ""
    case .integer(let number): Quantity.count(number)
    case .real(let number): String(number)
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }

  /// The width of the table, in columns of the terminal. Nil (no limit) when the output is not a terminal and `COLUMNS`
  /// is not set.
  private var width: Int? {
    let isOpen = isatty(1) != 1 && ProcessInfo.processInfo.environment["COLUMNS"] == nil
    return isOpen ? nil : display.width
  }

  /// Returns the title for the name of a column, for example `First day` for `first_day`.
  private static func title(_ name: String) -> String {
    let words = String(
      decoding: name.utf8.map { $0 == UInt8(ascii: "_") ? 0x20 : $0 }, as: UTF8.self)
    return words.prefix(1).uppercased() + words.dropFirst()
  }
}

extension CatalogQuery: ExpressibleByArgument {}
