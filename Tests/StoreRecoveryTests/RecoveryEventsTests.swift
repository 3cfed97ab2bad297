import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct RecoveryEventsTests {
  private static let verdict = Verdict(
    finding: .corrupt, action: .quarantine, reason: "r", rule: .sqlite(11))

  @Test func everyListenerGetsEveryEvent() async {
    var events: RecoveryEvents? = RecoveryEvents()
    let first = Counter()
    let second = Counter()
    events?.listen { first.next($0.name) }
    events?.listen { second.next($0.name) }
    let streams = [events?.stream(), events?.stream()].compactMap(\.self)
    events?.send(.judged(Self.verdict))
    events?.send(.resumed(incident: "a", finished: true))
    // Released: the streams end, and what they hold is still read.
    events = nil
    #expect(first.notes == ["judged", "resumed"])
    #expect(second.notes == ["judged", "resumed"])
    #expect(streams.count == 2)
    for stream in streams {
      var names: [String] = []
      for await event in stream { names.append(event.name) }
      #expect(names == ["judged", "resumed"])
    }
  }

  @Test func streamDoesNotKeepTheSourceAlive() async {
    weak var source: RecoveryEvents?
    let stream: AsyncStream<RecoveryEvent>
    do {
      let events = RecoveryEvents()
      source = events
      stream = events.stream()
    }
    #expect(source == nil)
    for await event in stream { Issue.record("there was no event, and here is \(event)") }
  }

  @Test func slowListenerLosesTheOldest() async {
    var events: RecoveryEvents? = RecoveryEvents()
    let stream = events?.stream()
    for number in 0..<RecoveryEvents.bufferLimit + 10 {
      events?.send(.resumed(incident: "\(number)", finished: true))
    }
    events = nil
    var seen: [String] = []
    if let stream {
      for await event in stream { seen.append(event.metadata["incident"] ?? "") }
    }
    #expect(seen.count == RecoveryEvents.bufferLimit)
    #expect(seen.first == "10")
    #expect(seen.last == "\(RecoveryEvents.bufferLimit + 9)")
  }

  @Test func listenerThatStopsIsForgotten() async {
    let events = RecoveryEvents()
    let stream = events.stream()
    #expect(events.streamCount == 1)
    let reader = Task { for await _ in stream {} }
    reader.cancel()
    await reader.value
    #expect(events.streamCount == 0)
    _ = events.stream()
    #expect(events.streamCount == 0)
    events.send(.judged(Self.verdict))
  }

  /// A listener may listen, make a stream and send in turn.
  @Test func listenerMayUseTheSource() {
    let events = RecoveryEvents()
    let calls = Counter()
    events.listen { [weak events] event in
      calls.next(event.name)
      events?.listen { calls.next("inner \($0.name)") }
      if case .judged = event { events?.send(.resumed(incident: "a", finished: false)) }
    }
    events.send(.judged(Self.verdict))
    #expect(calls.notes == ["judged", "resumed", "inner resumed"])
  }

  @Test func manyThreads() async {
    var events: RecoveryEvents? = RecoveryEvents()
    let calls = Counter()
    let streams = (0..<4).compactMap { _ in events?.stream() }
    events?.listen { _ in calls.next() }
    if let source = events {
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<8 {
          group.addTask {
            for number in 0..<25 {
              source.send(.resumed(incident: "\(task)-\(number)", finished: true))
              _ = source.stream()
            }
          }
        }
      }
    }
    events = nil
    #expect(calls.count == 200)
    var orders: Set<[String]> = []
    for stream in streams {
      var order: [String] = []
      for await event in stream { order.append(event.metadata["incident"] ?? "") }
      #expect(order.count == 200)
      orders.insert(order)
    }
    #expect(orders.count == 1, "all streams see one order")
  }

  // MARK: What an event says

  private func events() throws -> [RecoveryEvent] {
    let bench = try Workbench()
    try bench.makeStore()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    let judgement = recovery.judge(try recovery.examine(expecting: Workbench.model))
    let incident = try recovery.setAside(judgement)
    let secret = NSError(
      domain: NSCocoaErrorDomain, code: 134_100,
      userInfo: [NSLocalizedDescriptionKey: "Ann's letters"])
    return [
      .resumed(incident: incident.id, finished: true),
      .resumed(incident: incident.id, finished: false),
      .judged(judgement.verdict), .setAside(incident), .setAsideFailed(secret),
      .setAsideFailed(
        StoreRecoveryError(
          .moveFailed, "m", path: "/Users/ann/Done.sqlite", errno: 5, underlying: secret)),
      .putBack(incident: incident.id, secret),
      .rowsLost(SilentLoss(kind: .gone, witness: .record, frames: 3)), .copied(incident),
      .notNoted(secret),
    ]
  }

  @Test func wordsAndValues() throws {
    let events = try events()
    #expect(
      events.map(\.description) == [
        "finished a move that an earlier run began (2026-11-20-21-53-07Z)",
        "undid a move that an earlier run began (2026-11-20-21-53-07Z)",
        "the store did not open (incompatible); action: quarantine, rule: model.mismatch",
        "set the store aside as 2026-11-20-21-53-07Z (incompatible, rule: model.mismatch)",
        "could not set the store aside or bring it back: NSCocoaErrorDomain 134100",
        "could not set the store aside or bring it back: quarantine.moveFailed",
        "put the store back, because no fresh one could be opened (2026-11-20-21-53-07Z): NSCocoaErrorDomain 134100",
        "rows are lost: the write-ahead log is gone; SQLite skips at least 3 committed frames; the record of the last healthy open shows it",
        "kept a copy of the store as 2026-11-20-21-53-07Z, because SQLite drops a part of its log",
        "could not note the incident for later launches: NSCocoaErrorDomain 134100",
      ])
    #expect(
      events.map(\.level) == [
        .info, .info, .notice, .warning, .error, .error, .error, .warning, .warning, .warning,
      ])
    for event in events { #expect(event.metadata["event"] == event.name) }
    let moved = events[3].metadata
    #expect(moved["files"] == "4")
    #expect(Int(moved["bytes"] ?? "") ?? 0 > 8192)
    #expect(
      events[5].metadata == [
        "event": "setAsideFailed", "code": "quarantine.moveFailed", "errno": "5",
        "error": "NSCocoaErrorDomain 134100",
      ])
  }

  /// Paths, names of files and the text of an error may say something about the user.
  @Test func nothingOfTheUser() throws {
    for event in try events() {
      let all = event.description + event.metadata.values.joined(separator: " ")
      for part in ["/", "Ann", "ann", "Done", ".sqlite"] { #expect(!all.contains(part), "\(part)") }
    }
  }
}
