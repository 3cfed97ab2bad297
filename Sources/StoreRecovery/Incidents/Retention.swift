import Foundation
import SafeText
import StoreFiles

/// Limits on the number, size and age of incidents. Nothing is removed unless a limit is exceeded, and data that is
/// kept nowhere else is never removed: see ``Incidents/prune(_:storeName:dryRun:)``.
public struct Retention: Sendable, Codable, Equatable {
  /// The maximum number of incidents; nil for any number. A negative number counts as 0.
  public var maximumCount: Int?
  /// The maximum size of all incidents' files together, in bytes; a file with several hard links counts once. nil for
  /// any size. A negative number counts as 0.
  public var maximumBytes: Int64?
  /// The maximum age of an incident, in seconds; nil for any age. A negative number counts as 0.
  public var maximumAgeSeconds: Int64?

  /// Creates limits; nil means no limit.
  public init(
    maximumCount: Int? = nil, maximumBytes: Int64? = nil, maximumAgeSeconds: Int64? = nil
  ) {
    self.maximumCount = maximumCount
    self.maximumBytes = maximumBytes
    self.maximumAgeSeconds = maximumAgeSeconds
  }

  /// Whether no limit is set, so that everything stays.
  public var keepsEverything: Bool {
    maximumCount == nil && maximumBytes == nil && maximumAgeSeconds == nil
  }
}

/// The result of pruning by a ``Retention``: the incidents that were removed, the incidents that stay, and the reasons.
/// In a dry run, the incidents that would be removed.
public struct PruneReport: Sendable, Codable, Equatable {
  /// An incident that was removed. In a dry run, an incident that would be removed.
  public struct Removed: Sendable, Codable, Equatable {
    /// Why the removal loses no data.
    public enum Why: String, Sendable, Codable {
      /// The store is back at its original path, so only the record of the incident was left.
      case restored
      /// Another incident keeps the same content. The files of both incidents were read to verify this.
      case duplicate
      /// An earlier run was stopped while it removed this incident.
      case interrupted
    }
    /// The id of the incident.
    public let id: String
    /// Why the removal loses no data.
    public let why: Why
    /// The id of the other incident that keeps the same content; nil unless ``why`` is `duplicate`.
    public let sameAs: String?
    /// The number of bytes that the removal of the incident frees.
    public let freedBytes: Int64
  }

  /// An incident that stays.
  public struct Kept: Sendable, Codable, Equatable {
    /// Why an incident stays; more reasons may be added.
    public struct Why: RawRepresentable, Sendable, Hashable, Codable {
      /// The identifier of the reason, for example `onlyCopy`.
      public let rawValue: String
      /// Creates a reason from its raw value.
      public init(rawValue: String) { self.rawValue = rawValue }
      /// No limit of the retention requires that the incident be removed.
      public static let withinLimits = Why(rawValue: "withinLimits")
      /// A limit requires the removal of the incident. The incident stays because its data is kept nowhere else.
      public static let onlyCopy = Why(rawValue: "onlyCopy")
      /// A move into or out of the incident's folder is not finished.
      public static let unfinished = Why(rawValue: "unfinished")
      /// The incident's record cannot be read, or belongs to another incident.
      public static let recordUnread = Why(rawValue: "recordUnread")
      /// The incident's files do not match their seal.
      public static let sealBroken = Why(rawValue: "sealBroken")
      /// The incident's files cannot all be read.
      public static let filesUnread = Why(rawValue: "filesUnread")
      /// The incident's folder holds files that do not belong to it.
      public static let strangeFiles = Why(rawValue: "strangeFiles")
      /// The incident's folder is a symbolic link, or contains a symbolic link, device, pipe or socket.
      public static let link = Why(rawValue: "link")
      /// Another process has the incident's store open.
      public static let inUse = Why(rawValue: "inUse")
      /// An earlier run was stopped before it removed a file of the incident; the next run checks the incident again.
      public static let interrupted = Why(rawValue: "interrupted")
      /// The incident could not be removed.
      public static let failed = Why(rawValue: "failed")
    }
    /// The incident's id, or the folder's name when the folder is not an incident.
    public let id: String
    /// Why the incident stays.
    public let why: Why
    /// Why the incident stays, in words, for support.
    public let text: String
  }

  /// Whether the pruning was a dry run, which changes nothing. In a dry run, ``removed`` lists the incidents that would
  /// be removed.
  public let isDryRun: Bool
  /// The incidents that were removed, in the order of removal. In a dry run, the incidents that would be removed.
  public internal(set) var removed: [Removed] = []
  /// The incidents that stay, oldest first.
  public internal(set) var kept: [Kept] = []
  /// The total size of the incidents that stay, in bytes; a file with several hard links counts once.
  public internal(set) var keptBytes: Int64 = 0
}

/// Decides which incidents to remove so that the limits are met. No file is read here: the caller says which incidents
/// may be removed, and how many bytes each removal frees.
struct RetentionPlan {
  struct Item {
    let id: String
    /// When the incident was recorded; nil when the date cannot be right.
    let created: Date?
    let files: [LinkedBytes.File]
    var fate: Fate
  }

  enum Fate: Equatable {
    /// Only the incident's record is left.
    case recordOnly
    /// The incident contains a complete store set. `fingerprint`: identifies the content of the set, as its seal
    /// records it.
    case whole(fingerprint: String)
    case stays(PruneReport.Kept.Why, String)
  }

  let retention: Retention
  let now: Date

  /// 2025-01-01. No incident was recorded before that date, so a clock with an earlier date is wrong.
  static let earliest = Date(timeIntervalSince1970: 1_735_689_600)

  /// The date of a record; nil when it cannot be right, because it is in the future or before ``earliest``.
  func credible(_ date: Date) -> Date? {
    now >= Self.earliest && date >= Self.earliest && date <= now ? date : nil
  }

  func isExpired(_ item: Item) -> Bool {
    guard let limit = retention.maximumAgeSeconds, let created = item.created else { return false }
    return now.timeIntervalSince(created) > Double(max(0, limit))
  }

  /// Whether the incidents exceed a limit: their number, their total size or the age of one of them. If not, nothing is
  /// removed, and no file need be read.
  func isExceeded(_ items: [Item]) -> Bool {
    if let limit = retention.maximumCount, items.count > max(0, limit) { return true }
    if let limit = retention.maximumBytes {
      if LinkedBytes(items.flatMap(\.files)).total > max(0, limit) { return true }
    }
    return items.contains { isExpired($0) }
  }

  /// Finds incidents with equal content. The newest of them stays, and the others are duplicates. Returns, for the id
  /// of each duplicate, the id of the incident that stays.
  func keepers(_ items: [Item]) -> [FileName: String] {
    var newest: [FileName: String] = [:]
    for item in items {
      if case .whole(let fingerprint) = item.fate { newest[FileName(fingerprint)] = item.id }
    }
    var keepers: [FileName: String] = [:]
    for item in items {
      if case .whole(let fingerprint) = item.fate, let keeper = newest[FileName(fingerprint)],
        !PathText.isSame(keeper, item.id)
      {
        keepers[FileName(item.id)] = keeper
      }
    }
    return keepers
  }

  /// Decides which incidents are removed and which stay. `items` are all incidents, oldest first.
  func decide(_ items: [Item]) -> (removed: [PruneReport.Removed], kept: [PruneReport.Kept]) {
    let keepers = keepers(items)
    var bytes = LinkedBytes(items.flatMap(\.files))
    var removed: [PruneReport.Removed] = []
    var gone: Set<FileName> = []
    func remove(_ item: Item) {
      gone.insert(FileName(item.id))
      removed.append(
        .init(
          id: item.id, why: item.fate == .recordOnly ? .restored : .duplicate,
          sameAs: keepers[FileName(item.id)],
          freedBytes: bytes.remove(item.files)))
    }
    // Records without data first, then second copies; within each group the oldest first.
    let candidates =
      items.filter { $0.fate == .recordOnly } + items.filter { keepers[FileName($0.id)] != nil }
    for item in candidates where isExpired(item) { remove(item) }
    if let limit = retention.maximumCount {
      for item in candidates where items.count - gone.count > max(0, limit) {
        if !gone.contains(FileName(item.id)) { remove(item) }
      }
    }
    if let limit = retention.maximumBytes {
      for item in candidates where bytes.total > max(0, limit) && item.fate != .recordOnly {
        if !gone.contains(FileName(item.id)) { remove(item) }
      }
    }
    let isOver =
      retention.maximumCount.map { items.count - gone.count > max(0, $0) } ?? false
      || retention.maximumBytes.map { bytes.total > max(0, $0) } ?? false
    let kept = items.filter { !gone.contains(FileName($0.id)) }.map { item -> PruneReport.Kept in
      if case .stays(let why, let text) = item.fate {
        return .init(id: item.id, why: why, text: text)
      }
      guard case .whole = item.fate, isOver || isExpired(item) else {
        return .init(id: item.id, why: .withinLimits, text: "no limit requires its removal")
      }
      return .init(
        id: item.id, why: .onlyCopy,
        text: "a limit requires its removal, but its data is kept nowhere else")
    }
    return (removed, kept)
  }
}

/// The total size of a list of files. A file with several hard links counts once.
struct LinkedBytes {
  struct File: Hashable {
    let device: Int64
    let inode: UInt64
    let sizeBytes: Int64
  }

  private var names: [File: Int] = [:]
  private(set) var total: Int64 = 0

  init(_ files: [File]) {
    for file in files {
      let count = names[file, default: 0]
      names[file] = count + 1
      if count == 0 { total = total.addingClamped(file.sizeBytes) }
    }
  }

  /// Subtracts one hard link from the count of each file. Returns the total size, in bytes, of the files whose count
  /// has become 0.
  mutating func remove(_ files: [File]) -> Int64 {
    var freed: Int64 = 0
    for file in files {
      guard let count = names[file] else { continue }
      names[file] = count > 1 ? count - 1 : nil
      if count == 1 { freed = freed.addingClamped(file.sizeBytes) }
    }
    total = max(0, total - freed)
    return freed
  }
}
