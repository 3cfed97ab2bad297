package import CoreDataStore
import RowText
import SafeText
import SQLiteFile
import SQLiteForensics

/// The formats in which a timeline is written for other programs.
package enum TimelineForm: String, Sendable, CaseIterable {
  case ndjson
  /// JSON lines for Timesketch, with the members `message`, `datetime` and `timestamp_desc`. Events without a date are
  /// left out.
  case timesketch
}

extension StoreTimeline.Event {
  /// When the event happened; nil when that is not known.
  package var date: ReferenceDate? {
    switch self {
    case .change(let change): change.transaction.date
    case .transaction(let transaction): transaction.date
    case .date(let date): date.date
    case .commit(let commit): commit.date
    case .frames: nil
    }
  }

  /// What happened, in a sentence without a full stop.
  package var sentence: String {
    switch self {
    case .change(let change):
      "\(change.verb) \(change.entityText) \(change.primaryKey.map(String.init) ?? "?")"
        + (change.properties.map { " (" + $0.joined(separator: ", ") + ")" } ?? "")
        + change.transaction.origin
    case .transaction(let transaction):
      "transaction \(transaction.key.map(String.init) ?? "?") without recorded changes"
        + transaction.origin
    case .date(let date): "\(date.property) of \(date.entity) \(date.primaryKey)"
    case .commit(let commit): commit.sentence
    case .frames(let frames): frames.sentence
    }
  }
}

extension StoreTimeline.HistoryChange {
  var verb: String {
    switch change {
    case "insert": "inserted"
    case "update": "updated"
    case "delete": "deleted"
    default: "changed (\(change))"
    }
  }

  var entityText: String { entity ?? "entity \(entityNumber.map(String.init) ?? "?")" }
}

extension StoreTimeline.HistoryTransaction {
  var origin: String {
    let parts = [
      ("author", author), ("context", context), ("process", process), ("bundle", bundle),
    ]
    .compactMap { name, text in text.map { "\(name) \($0)" } }
    return parts.isEmpty ? "" : ", " + parts.joined(separator: ", ")
  }
}

extension StoreTimeline.LogCommit {
  var sentence: String {
    var parts = ["commit \(number) of the log, \(counted(pageCount, "page"))"]
    if let tables {
      parts += tables.map { change in
        var text = change.table
        if change.tableChange != .none { text += " \(change.tableChange.rawValue)" }
        if change.added > 0 { text += " +\(change.added)" }
        if change.changed > 0 { text += " ~\(change.changed)" }
        if change.removed > 0 { text += " -\(change.removed)" }
        return text
      }
      parts += tablesNotCompared.map { "\($0) written" }
      if tables.isEmpty, tablesNotCompared.isEmpty {
        // A commit that wrote only overflow pages may have changed the bytes of a long value.
        parts.append(otherPageCount ?? 0 > 0 ? "no change of a row is visible" : "no rows changed")
      }
    } else {
      parts.append("the state after this commit cannot be read")
    }
    return parts.joined(separator: ", ")
  }
}

extension LogStates.Remainder {
  var sentence: String {
    switch kind {
    case .uncommitted: "\(counted(frameCount, "frame")) of a transaction that was never finished"
    case .stale:
      "\(counted(frameCount, "frame")) from before the last restart of the log, with \(counted(commitCount, "commit"))"
    case .unverified:
      "\(counted(frameCount, "frame")) in or after a transaction with a bad checksum, with \(counted(commitCount, "commit"))"
    }
  }
}

extension StoreTimeline {
  /// The number of events that were written, and the number of events that were left out because they have no date.
  package struct Written: Sendable {
    package var eventCount = 0
    package var undatedCount = 0
  }

  /// Writes the events that `selection` wants, in the order of ``forEachEvent(_:_:)``. Does not close `descriptor`.
  /// Throws `SQLiteFileError` when the device fails or the output cannot be written.
  ///
  /// `limit`: the maximum number of events to write; nil for all.
  package func write(
    as form: TimelineForm, _ selection: Selection = Selection(), limit: Int? = nil,
    to descriptor: Int32
  ) throws -> Written {
    var output = OutputBuffer(descriptor: descriptor)
    // If the device fails, the events that were read before are written.
    defer { output.flush() }
    var written = Written()
    if limit != 0 {
      try forEachEvent(selection) { event in
        if form == .timesketch {
          guard let text = event.date?.iso8601 else {
            written.undatedCount += 1
            return true
          }
          output.append("{\"message\":")
          output.append(jsonString: event.sentence)
          // Timesketch requires an offset from UTC, and does not accept `Z` in all places.
          output.append(",\"datetime\":\"" + text.dropLast() + "+00:00\",\"timestamp_desc\":")
          output.append(jsonString: event.timestampDescription)
          output.append(",\"data_type\":")
          output.append(jsonString: "lifeboat:" + event.kind)
          output.append(",\"source\":")
          output.append(jsonString: self.name)
          output.append("}\n")
        } else {
          output.append(json: event)
        }
        written.eventCount += 1
        return !output.isBroken && limit.map { written.eventCount < $0 } ?? true
      }
    }
    try output.finish()
    return written
  }
}

extension StoreTimeline.Event {
  package var kind: String {
    switch self {
    case .change: "change"
    case .transaction: "transaction"
    case .date: "date"
    case .commit: "commit"
    case .frames: "frames"
    }
  }

  var timestampDescription: String {
    switch self {
    case .change, .transaction: "Core Data history transaction"
    case .date(let date): "\(date.entity).\(date.property)"
    case .commit: "Core Data history transaction in a log commit"
    case .frames: "Not a time"
    }
  }
}

extension OutputBuffer {
  fileprivate mutating func append(json event: StoreTimeline.Event) {
    append("{\"event\":\"" + event.kind + "\"")
    member("time", event.date?.iso8601)
    switch event {
    case .change(let change):
      member("change", change.change)
      member("entity", change.entity)
      if change.entity == nil { member("entityNumber", change.entityNumber) }
      member("pk", change.primaryKey)
      if let properties = change.properties { member("properties", properties) }
      if !change.tombstones.isEmpty {
        append(",\"tombstones\":")
        append(array: change.tombstones) { $0.append(json: ComparedValue.stored($1)) }
      }
      members(of: change.transaction)
    case .transaction(let transaction): members(of: transaction)
    case .date(let date):
      member("entity", date.entity)
      member("pk", date.primaryKey)
      member("property", date.property)
    case .commit(let commit):
      member("commit", Int64(commit.number))
      member("frameCount", Int64(commit.frameCount))
      member("pageCount", Int64(commit.pageCount))
      member("databasePageCount", Int64(commit.databasePageCount))
      member("otherPageCount", commit.otherPageCount.map { Int64($0) })
      if let tables = commit.tables {
        append(",\"tables\":")
        append(array: tables) { $0.append(json: $1) }
      }
      if !commit.tablesNotCompared.isEmpty {
        member("tablesNotCompared", commit.tablesNotCompared)
      }
    case .frames(let frames):
      member("kind", frames.kind.rawValue)
      member("frameCount", Int64(frames.frameCount))
      member("commitCount", Int64(frames.commitCount))
      member("verifiedCount", Int64(frames.verifiedCount))
    }
    append("}\n")
  }

  private mutating func members(of transaction: StoreTimeline.HistoryTransaction) {
    member("transaction", transaction.key)
    member("author", transaction.author)
    member("context", transaction.context)
    member("process", transaction.process)
    member("bundle", transaction.bundle)
  }

  private mutating func append(json change: CommittedChange) {
    append("{\"table\":")
    append(jsonString: change.table)
    if change.tableChange != .none { member("tableChange", change.tableChange.rawValue) }
    for (name, count, keys) in [
      ("added", change.added, change.addedKeys), ("changed", change.changed, change.changedKeys),
      ("removed", change.removed, change.removedKeys),
    ] {
      member(name, Int64(count))
      guard !keys.isEmpty else { continue }
      append(",\"" + name + "Keys\":")
      append(array: keys) { $0.append(integer: $1) }
    }
    append("}")
  }

  mutating func member(_ name: String, _ text: String?) {
    guard let text else { return }
    append(",\"" + name + "\":")
    append(jsonString: text)
  }

  private mutating func member(_ name: String, _ texts: [String]) {
    append(",\"" + name + "\":")
    append(array: texts) { $0.append(jsonString: $1) }
  }

  mutating func member(_ name: String, _ number: Int64?) {
    guard let number else { return }
    append(",\"" + name + "\":")
    append(integer: number)
  }

  /// Appends a value as SQLite stores it. A long value is written as its size and type.
  mutating func append(json value: ComparedValue) {
    switch value {
    case .stored(let stored): append(json: PropertyValue(stored, isDate: false), blobs: .hex)
    case .long(let long):
      append("{\"sizeBytes\":")
      append(integer: Int64(long.sizeBytes))
      append(long.isText ? ",\"type\":\"text\"}" : ",\"type\":\"blob\"}")
    }
  }
}
