import CoreDataStore
import Foundation
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

/// A table about several stores, with one line for each file that is or was a store.
struct StoreTable {
  /// The cells of each line.
  private var lines: [[String]] = []
  private let display: DisplayOptions

  init(_ display: DisplayOptions) { self.display = display }

  private mutating func add(
    _ path: String, what: String = "", health: String, rows: String = "", newest: String = ""
  ) {
    lines.append([PathText.dropping(prefix: "./", from: path) ?? path, what, health, rows, newest])
  }

  /// Adds a store that was inspected. `path` is the path of the store's main file; nil when this file no longer exists.
  /// `name` is the name that the table shows for the store; if `name` is nil, the table shows the path in the
  /// inspection.
  mutating func add(
    _ inspection: StoreInspection, at path: String?, named name: String? = nil,
    wal: SQLiteDatabase.LogView
  ) {
    let health =
      inspection.damageCount > 0
      ? "damaged: \(Quantity.count(inspection.damageCount, "finding"))"
      : inspection.writeAheadLog?.problem.map { "log not used: \($0)" }
        ?? (inspection.unreadFiles == nil ? "no damage found" : "files not read")
    add(
      name ?? inspection.path, what: Self.what(inspection), health: health,
      rows: Quantity.count(inspection.liveRowCount), newest: newest(path, wal) ?? "")
  }

  mutating func add(_ other: StoreFinder.PassedOver) {
    add(other.path, health: other.message)
  }

  mutating func add(_ failure: Failure, at path: String) {
    add(path, health: "not read: \(failure.message)")
  }

  private static func what(_ inspection: StoreInspection) -> String {
    guard inspection.kind != .sqlite else {
      return "SQLite, \(Quantity.count(inspection.tables.count, "table"))"
    }
    var text = inspection.model?.looksLikeSwiftData == true ? "SwiftData" : "Core Data"
    let versions = inspection.metadata?.versionIdentifiers.filter { !$0.isEmpty } ?? []
    if !versions.isEmpty { text += ", model \(versions.joined(separator: ", "))" }
    if let system = inspection.metadata?.system { text += ", \(system)" }
    return text
  }

  /// The day of the latest date in the rows, in the form `2026-11-20`. Dates that are more than a day in the future are
  /// ignored. Nil if the store contains only ignored dates or no dates, or if the store cannot be read.
  private func newest(_ path: String?, _ wal: SQLiteDatabase.LogView) -> String? {
    guard let path, let store = try? CoreDataStore(path: path, logView: wal),
      let date = try? store.newestDate(
        before: Date().timeIntervalSinceReferenceDate + 86_400), let text = date.iso8601
    else { return nil }
    return String(decoding: text.utf8.prefix(10), as: UTF8.self)
  }

  var text: String {
    var table = TextTable([
      .init("Store", isWhole: true), .init("What it is", isFlexible: true),
      .init("Health", isFlexible: true), .init("Rows", .trailing), .init("Newest date"),
    ])
    for line in lines { table.add(line) }
    return table.text(width: display.width, style: display.style)
      + "\(Quantity.count(lines.count, "file")); -v shows each one in full\n"
  }
}
