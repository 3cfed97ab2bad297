/// Committed rows that SQLite would leave out without a word: it takes the log beside a main file for what it
/// is, reads it as far as it holds, and calls the rest nothing.
public struct SilentLoss: Sendable, Codable, Equatable {
  /// What happened to the log.
  public enum Kind: String, Sendable, Codable, CaseIterable {
    /// The log is there and its header does not hold, so SQLite reads none of it.
    case headerDamaged
    /// The header holds, and the log ends before, or does not hold up to, where it ended once.
    case cutShort
    /// A frame in the midst does not hold, and committed frames stand behind it.
    case frameDamaged
    /// The log is not there, or holds nothing.
    case gone
    /// The log and the main file do not belong together: one of them was exchanged.
    case foreign
  }

  /// What betrays the loss.
  public enum Witness: String, Sendable, Codable, CaseIterable {
    /// The log itself: its header, and checksums that go on behind the damage.
    case log
    /// The index of the log, `-shm`, which was left over.
    case index
    /// The record of the last healthy open.
    case record
  }

  /// What happened to the log.
  public var kind: Kind
  /// What betrays it.
  public var witness: Witness
  /// How many committed frames SQLite does not see, at least; nil when unknown.
  public var frames: Int?
  /// Of how many pages the newest content is still there, where SQLite does not look; nil when nobody
  /// looked, 0 when it is nowhere.
  public var keptPages: Int?

  /// Creates a loss from its parts.
  public init(kind: Kind, witness: Witness, frames: Int? = nil, keptPages: Int? = nil) {
    self.kind = kind
    self.witness = witness
    self.frames = frames
    self.keptPages = keptPages
  }

  /// What is lost, in words for support; it goes on after "the store: ".
  var sentence: String {
    let count = frames.map { $0 == 1 ? "1 committed frame" : "\($0) committed frames" }
    let what: String =
      switch kind {
      case .headerDamaged:
        "the header of the write-ahead log is damaged, so SQLite reads none of it"
      case .cutShort: "the write-ahead log ends before it did once"
      case .frameDamaged: "a frame of the write-ahead log is damaged, and SQLite stops there"
      case .gone: "the write-ahead log is gone"
      case .foreign: "the write-ahead log and the main file do not belong together"
      }
    let source: String =
      switch witness {
      case .log: "the log shows it"
      case .index: "its left-over index shows it"
      case .record: "the record of the last healthy open shows it"
      }
    let kept = keptPages.flatMap {
      $0 > 0 ? "the newest content of \($0) pages is still in it" : nil
    }
    return ([what, count.map { "\($0) at least are not read" }, kept, source] as [String?])
      .compactMap(\.self).joined(separator: "; ")
  }
}

extension StoreEvidence {
  /// What can be said about rows that may have gone without a word; nil for a store without a log.
  ///
  /// A report shows it: where nothing betrays a loss, that proves none.
  package var silentLossSentence: String? {
    if let loss = wal?.loss { return loss.sentence }
    if let doubt = wal?.doubt { return "perhaps \(doubt.sentence), but not for certain" }
    guard wal != nil || header?.readVersion == 2 else { return nil }
    let heard = wal?.witnesses ?? []
    if heard.contains(.index) {
      return
        "the write-ahead log holds all that its index knows of; whether the index knew all cannot be told after a power cut"
    }
    if heard.contains(.record) {
      return
        "what the write-ahead log held at the last healthy open is accounted for; that rows written since then were lost cannot be excluded"
    }
    return
      "nothing tells what the write-ahead log held before, so a silent loss of rows cannot be excluded"
  }
}
