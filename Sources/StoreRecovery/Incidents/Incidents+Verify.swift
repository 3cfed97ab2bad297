import StoreFiles
import SafeFiles
import Foundation
import SafeText

/// The result of comparing the files of one incident with their seal, which was taken when they were set aside.
public struct IncidentCheck: Sendable, Codable, Equatable, Identifiable {
  /// The result of checking the files of one incident. More values may be added.
  public struct Finding: RawRepresentable, Sendable, Hashable, Codable {
    /// The finding as a string, for example `intact`.
    public let rawValue: String
    /// Creates a finding from its raw value.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Every file matches its seal.
    public static let intact = Finding(rawValue: "intact")
    /// The store was restored or put back, so the incident's folder no longer keeps it.
    public static let moved = Finding(rawValue: "moved")
    /// At least one file is changed, missing or added.
    public static let different = Finding(rawValue: "different")
    /// A file could not be read, so nothing is known about it.
    public static let unread = Finding(rawValue: "unread")
    /// A move into or out of the folder is not finished; the next open or restoration finishes or undoes it.
    public static let unfinished = Finding(rawValue: "unfinished")
    /// The files are not fully sealed yet, because one launch could not read them all; the next opens continue the
    /// seal.
    public static let unsealed = Finding(rawValue: "unsealed")
    /// The record cannot be read, or holds no seal, so there is nothing to compare with.
    public static let noRecord = Finding(rawValue: "noRecord")
  }

  /// One file, folder or link of the kept set.
  public struct File: Sendable, Codable, Equatable {
    /// How one file compares with the seal.
    public enum State: String, Sendable, Codable {
      /// The file's bytes match the seal.
      case ok
      /// The file's kind or bytes differ from the seal.
      case changed
      /// The seal lists the file, but the file does not exist now.
      case missing
      /// The file exists now, but the seal does not list it.
      case added
      /// The file could not be read.
      case unread
    }
    /// The path relative to the folder of the kept set.
    public let name: String
    /// The file's state.
    public let state: State
    /// A text that says how the file differs from the seal; nil if it does not differ. A file with the state `ok` has a
    /// text only if it was rewritten with the same bytes.
    public let text: String?
  }

  /// The id of the incident.
  public let id: String
  /// What the check found for the incident as a whole.
  public let finding: Finding
  /// Why the files could not be compared; nil when they were compared.
  public let problem: String?
  /// The files, ordered by name; empty when nothing could be compared.
  public let files: [File]

  /// Whether the incident is in order: its files match their seal, or its store is no longer in the quarantine, because
  /// it was restored or put back.
  public var isSound: Bool { finding == .intact || finding == .moved }
}

extension Incidents {
  /// Compares the files of every incident with its seal, oldest incident first. Every file is read; nothing is changed.
  ///
  /// - Returns: The result for each incident.
  /// - Throws: ``StoreRecoveryError`` when the incidents' folder exists but cannot be read.
  public func verify() throws -> [IncidentCheck] {
    try ids().map { check(entry($0)) }
  }

  /// Compares the files of one incident with its seal. Every file is read; nothing is changed.
  ///
  /// - Returns: The result.
  /// - Throws: ``StoreRecoveryError`` when no incident has that id, or its folder cannot be examined.
  public func verify(_ id: String) throws -> IncidentCheck {
    check(try show(id))
  }

  func check(_ entry: Entry) -> IncidentCheck {
    func ended(_ finding: IncidentCheck.Finding, _ problem: String?) -> IncidentCheck {
      IncidentCheck(id: entry.id, finding: finding, problem: problem, files: [])
    }
    if entry.problemErrno != nil {
      return ended(.unread, entry.problem)
    }
    if entry.isUnfinished { return ended(.unfinished, "a move of the store is not finished") }
    guard let incident = entry.incident else {
      return ended(.noRecord, entry.problem ?? "the record cannot be read")
    }
    let store = Incidents.keptFolder(in: entry.folder)
    let status: FileStatus?
    do { status = try fileSystem.status(store) } catch {
      return ended(.unread, "the folder of the kept files cannot be examined")
    }
    if status == nil, entry.outcome != nil { return ended(.moved, nil) }
    if let status, status.kind != .folder {
      return ended(.unread, "the folder of the kept files is \(status.kind.words)")
    }
    guard !entry.isSealPending else {
      return ended(
        .unsealed, "the checksums are not complete yet; the next opens of the store add the rest")
    }
    guard let seal = incident.seal else {
      return ended(.noRecord, "the record holds no checksums of the files")
    }
    let set = StoreSet(at: store + "/" + incident.storeName)
    let files = compare(seal, set) + unknownFiles(in: store, beside: set)
    let finding: IncidentCheck.Finding =
      files.contains { $0.state != .ok && $0.state != .unread }
      ? .different : !set.isComplete || files.contains { $0.state == .unread } ? .unread : .intact
    return IncidentCheck(
      id: entry.id, finding: finding,
      problem: set.problem.map { "the kept files could not all be listed: \($0)" },
      files: files.sorted { FileName($0.name) < FileName($1.name) })
  }

  private func compare(_ seal: StoreSeal, _ set: StoreSet) -> [IncidentCheck.File] {
    var sealed = Dictionary(firstOf: seal.files.map { (FileName($0.name), $0) })
    var files = set.members.map { member -> IncidentCheck.File in
      guard let before = sealed.removeValue(forKey: FileName(member.name)) else {
        return .init(
          name: member.name, state: .added, text: "\(member.name) is not among the recorded files")
      }
      do throws(StoreSealError) {
        let difference = StoreSeal.difference(
          before, try StoreSeal.seal(member, isCancelled: isCancelled))
        return .init(
          name: member.name, state: difference?.affectsContent == true ? .changed : .ok,
          text: difference?.text)
      } catch {
        return .init(
          name: member.name, state: .unread, text: "\(member.name): \(error.message)")
      }
    }
    for name in sealed.keys.map(\.text) {
      files.append(.init(name: name, state: .missing, text: "\(name) is missing"))
    }
    return files
  }

  private func unknownFiles(in store: String, beside set: StoreSet) -> [IncidentCheck.File] {
    let members = Set(set.members.map { FileName($0.name) })
    let names = (try? fileSystem.entries(store).names) ?? []
    return names.filter { !members.contains(FileName($0)) }.map {
      .init(name: $0, state: .added, text: "\($0) is not one of the store's files")
    }
  }
}
