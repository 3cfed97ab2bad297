import SafeText

/// A loss of committed rows that SQLite does not report. For example, SQLite reads a damaged log only up to the first
/// invalid frame, and ignores the rest.
public struct SilentLoss: Sendable, Codable, Equatable {
  /// What happened to the log.
  public enum Kind: String, Sendable, Codable, CaseIterable {
    /// The log exists and its header is invalid, so SQLite reads none of it.
    case headerDamaged
    /// The log's header is valid, but frames at the end of the log are missing or invalid.
    case cutShort
    /// A frame in the middle of the log is invalid, and committed frames follow it.
    case frameDamaged
    /// The log is missing, or shorter than its header.
    case gone
    /// The log and the main file do not belong together: one of them was replaced.
    case foreign
  }

  /// A source of evidence that shows the loss of rows.
  public enum Witness: String, Sendable, Codable, CaseIterable {
    /// The write-ahead log itself. Its header is damaged, or the checksums of its frames continue after a damaged
    /// frame.
    case log
    /// The left-over wal-index, `-shm`.
    case index
    /// The record that Lifeboat wrote after the last healthy open of the store.
    case record
  }

  /// What happened to the log.
  public var kind: Kind
  /// The source of evidence that shows the loss of rows.
  public var witness: Witness
  /// The minimum number of committed frames that SQLite does not read; nil if the number is unknown.
  public var frames: Int?
  /// The number of pages whose newest content is still in the log, where SQLite does not read it; nil when not counted.
  public var keptPages: Int?

  /// Describes the loss, for logs and support. The text can follow "the store: ".
  var sentence: String {
    let count = frames.map { counted($0, "committed frame") }
    let what: String =
      switch kind {
      case .headerDamaged:
        "the header of the write-ahead log is damaged, so SQLite reads none of it"
      case .cutShort: "the write-ahead log ends earlier than it did before"
      case .frameDamaged: "a frame of the write-ahead log is damaged, and SQLite stops there"
      case .gone: "the write-ahead log is gone"
      case .foreign: "the write-ahead log and the main file do not belong together"
      }
    let source: String =
      switch witness {
      case .log: "the log shows it"
      case .index: "the left-over wal-index shows it"
      case .record: "the record of the last healthy open shows it"
      }
    let kept = keptPages.flatMap {
      $0 > 0 ? "the newest content of \(counted($0, "page")) is still in the log" : nil
    }
    return ([what, count.map { "SQLite skips at least \($0)" }, kept, source] as [String?])
      .compactMap(\.self).joined(separator: "; ")
  }
}

extension StoreEvidence {
  /// A sentence for reports about rows that SQLite may have lost without an error; nil for a store without a
  /// write-ahead log. Even if the sentence reports no loss, rows may be lost.
  package var silentLossSentence: String? {
    if let loss = wal?.loss { return loss.sentence }
    if let doubt = wal?.doubt { return "possible, but not certain: \(doubt.sentence)" }
    guard wal != nil || header?.readVersion == 2 else { return nil }
    let witnesses = wal?.witnesses ?? []
    if witnesses.contains(.index) {
      return
        "the write-ahead log holds all frames that its wal-index lists; after a power cut, the wal-index may lack some frames"
    }
    if witnesses.contains(.record) {
      return
        "what the write-ahead log held at the last healthy open is accounted for; a loss of rows written since then cannot be excluded"
    }
    return
      "nothing shows what the write-ahead log held before, so a silent loss of rows cannot be excluded"
  }
}
